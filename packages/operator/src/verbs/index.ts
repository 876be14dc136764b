/** All verbs, in the order in which a person is shown them. */
import type { Verb } from "../verb.ts";
import { adopt } from "./adopt.ts";
import { ask } from "./ask.ts";
import { branches } from "./branches.ts";
import { checkout } from "./checkout.ts";
import { compact } from "./compact.ts";
import { diff } from "./diff.ts";
import { events } from "./events.ts";
import { files } from "./files.ts";
import { gc } from "./gc.ts";
import { interrupt } from "./interrupt.ts";
import { label, labels, unlabel } from "./label.ts";
import { log } from "./log.ts";
import { permissions, revoke } from "./permission.ts";
import { planAmend, planDiscard, planList, planPause, planResume, planRetry, planShow } from "./plan.ts";
import { answer, questions } from "./question.ts";
import { records } from "./records.ts";
import { reset } from "./reset.ts";
import { resume } from "./resume.ts";
import { rewind } from "./rewind.ts";
import { scriptExplain, scriptList, scriptResume, scriptRun, scriptShow, scriptVerify } from "./script.ts";
import { search, sessions, transcript } from "./sessions.ts";
import { show } from "./show.ts";
import { skillDiscard, skillList, skillRun, skillShow } from "./skill.ts";
import { skillResume } from "./skill-resume.ts";
import { spend } from "./spend.ts";
import { status } from "./status.ts";
import { taskAdd, taskAssign, taskList, taskSet, taskShow } from "./task.ts";
import { redo, undo } from "./undo.ts";
import { walStats, walVerify } from "./wal.ts";
import { walInspect, walTail } from "./wal-records.ts";
import { walRepair } from "./wal-repair.ts";

export const verbs: readonly Verb[] = [
	...[ask, interrupt, compact, questions, answer, permissions, revoke, resume, reset],
	...[status, spend, sessions, transcript, search],
	...[
		log,
		records,
		events,
		show,
		diff,
		files,
		rewind,
		checkout,
		adopt,
		undo,
		redo,
		label,
		unlabel,
		labels,
		branches,
		gc,
	],
	...[planList, planShow, planPause, planResume, planRetry, planAmend, planDiscard],
	...[skillList, skillShow, skillRun, skillDiscard, skillResume],
	...[taskList, taskShow, taskAdd, taskAssign, taskSet],
	...[scriptRun, scriptResume, scriptExplain, scriptList, scriptShow, scriptVerify],
	...[walVerify, walInspect, walTail, walStats, walRepair],
];
