/** What a working runtime says, as lines for people or as JSON lines for scripts. */
import {
	outcomeText,
	ownTexts,
	parentText,
	questionLines,
	scopeText,
	scriptEventLines,
	tokensText,
	tookText,
} from "@reyn/operator";
import { asJson, asLine, oneLine } from "@reyn/operator/text";
import {
	type BackgroundMessage,
	type MeterReading,
	mainSession,
	type Restored,
	type RuntimeEvent,
} from "@reyn/runtime";
import { costBehind } from "./cost.ts";
import { err } from "./print.ts";
import type { Stopped } from "./stop.ts";
import { reyn, type Suggest } from "./suggest.ts";

/** The first line of `stream-json`: who works, from where, in which session, and with which model where nothing was begun with another. */
interface Init {
	readonly type: "init";
	readonly tip: number;
	readonly pid: number;
	readonly session: string;
	/** Absent: another process works, with its own. */
	readonly model?: string;
}

/** @param session `default/main` by default */
export const initLine = ({
	session = scopeText(mainSession),
	...more
}: Omit<Init, "type" | "session"> & { readonly session?: string | undefined }): Init => ({
	...{ type: "init", session },
	...more,
});

/** A line of `stream-json`. The last one of a stream is always `result`. */
export type StreamLine =
	| Init
	| { readonly type: "restored"; readonly restored: Restored }
	| { readonly type: "message"; readonly message: BackgroundMessage }
	| RuntimeEvent
	| {
			readonly type: "result";
			readonly tip: number;
			readonly meter: MeterReading;
			readonly exitCode: number;
			readonly error?: { readonly code: string; readonly message: string };
	  };

/** What has to be said however little is: a command that waits for its log would seem to hang, a trail would have a gap, and a file another name. */
const needed: readonly string[] = [
	"disk_full",
	"disk_free",
	"log_away",
	"log_back",
	"trail_failed",
	"files_restored",
	"config_kept",
	"config_unrecorded",
	"config_unfinished",
] satisfies RuntimeEvent["type"][];

export function printSpace(event: RuntimeEvent): void {
	if (needed.includes(event.type)) err.lines(eventLines(event));
}

/** How to go on after a stop, for people. */
export const stoppedLine = ({ wasFull }: Stopped, goOn: string): string =>
	`stopped; what is unfinished is kept${wasFull ? ", and what found no space is done again" : ""}. Go on with: ${goOn}`;

/** Has a plan or a skill run stopped that goes on when a person resumes it by name? */
export const isPaused = (event: RuntimeEvent): event is Extract<RuntimeEvent, { type: "plan_end" | "skill_end" }> =>
	(event.type === "plan_end" || event.type === "skill_end") && event.outcome === "paused";

/** Has work ended that `resume` goes on with? */
export const isUnfinished = (event: RuntimeEvent): event is Extract<RuntimeEvent, { outcome: unknown }> =>
	(event.type === "turn_end" || event.type === "plan_end" || event.type === "skill_end") && event.outcome === "stopped";

/** Lines for people; none where an event is not worth one. */
export function eventLines(event: RuntimeEvent, say: Suggest = reyn): readonly string[] {
	if (event.type === "script") return scriptEventLines(event.event);
	if (event.type === "question") return questionLines(event, say);
	if (event.type === "compacted") return [compactedLine(event, say)];
	if (event.type === "plan_started") {
		const { steps, finished } = event;
		const resumed = finished > 0 ? ` (resumed: ${finished} of ${steps.length} steps are done and cost nothing)` : "";
		return stepsLines(event, resumed);
	}
	if (event.type === "plan_amended") return stepsLines(event, " from here on");
	if (!isPaused(event)) return [eventLine(event) ?? []].flat();
	const { reason = "" } = event;
	if (event.type === "skill_end")
		return [`skill ${event.run} is paused: ${oneLine(reason, 300)}; go on with: ${say`skill resume ${event.run}`}`];
	const { plan } = event;
	return [`plan ${plan} is paused: ${oneLine(reason, 100)}; go on with: ${say`plan resume ${plan}`}`];
}

type StepsEvent = Extract<RuntimeEvent, { type: "plan_started" | "plan_amended" }>;

const stepsLines = ({ plan, steps }: StepsEvent, more: string): readonly string[] => [
	`plan ${plan} ▸ ${steps.length} steps${more}`,
	...steps.map((step) => ["", "", step.id, ...ownTexts(step), oneLine(step.description, 70)].join("  ")),
];

type OneLineEvent = Exclude<
	RuntimeEvent,
	{ type: "script" | "plan_started" | "plan_amended" | "question" | "compacted" }
>;

function eventLine(event: OneLineEvent): string | undefined {
	switch (event.type) {
		case "tool":
			// A plan is announced step by step as soon as it starts.
			return event.name === "plan" ? undefined : `· ${event.name} ${oneLine(asJson(event.args), 90)}`;
		case "tool_failed":
			return `✗ ${oneLine(event.text.replace(/^ERROR: /, ""), 110)}`;
		case "plan_step": {
			const { change } = event;
			const at = `plan ${event.plan} ▸ ${event.done}/${event.size} ${event.step} ${oneLine(event.description, 60)}`;
			switch (change.status) {
				case "running":
					return `${at} …`;
				case "resumed":
					return `${at} … (goes on where it was cut)`;
				case "retrying":
					return `${at} (retry ${change.retry}/${change.limit}: ${oneLine(change.reason, 60)})`;
				case "completed":
					return `${at} ✓ ${spentText(change)}`;
				case "again":
					return `${at} runs again: ${oneLine(change.reason, 100)}`;
				case "failed":
					return `${at} ✗ ${oneLine(change.reason, 100)} (${spentText(change)})`;
			}
			break;
		}
		case "plan_end":
			if (event.outcome === "completed" || event.outcome === "failed")
				return event.failed.length > 0
					? `plan ${event.plan} ${event.outcome === "failed" ? "failed" : "finished"}; failed steps: ${event.failed.join(", ")}`
					: undefined;
			return `plan ${event.plan} ${event.outcome}: ${oneLine(event.reason ?? "", 100)}`;
		case "skill_resumed":
			return resumedLine(event);
		case "skill_end": {
			if (event.outcome === "completed") return undefined;
			const at = event.parent ? `${event.parent.kind} ${event.parent.id} ▸ ${event.parent.step}: ` : "";
			return `${at}skill ${event.run} ${event.outcome}: ${oneLine(event.reason ?? "", 300)}`;
		}
		case "turn_end":
			if (event.outcome === "completed") return undefined;
			return event.outcome === "interrupted"
				? `the turn was interrupted: ${oneLine(event.reason ?? "", 100)}`
				: `no answer yet: ${oneLine(event.reason ?? "", 160)}. What is done is kept, and is neither paid nor made again`;
		case "answered":
			return `#${event.question} is answered by ${oneLine(event.by, 40)}: ${oneLine(event.text, 100)}`;
		case "model_retry": {
			const seconds = Math.ceil(event.pauseMs / 1000);
			return `the model gave no answer (try ${event.attempt} of ${event.limit}: ${oneLine(event.reason, 60)}); it is asked again in ${seconds} s`;
		}
		case "model_unread": {
			const ollama = event.model.startsWith("ollama/") ? "OLLAMA_CONTEXT_LENGTH or " : "";
			return `${asLine(event.model)} read ${event.read} of at least ${event.least} tokens, and does not say so: set ${ollama}model_settings.max_input_tokens`;
		}
		case "disk_full":
			return `${event.text}. Or stop with Ctrl-C: nothing that is recorded is lost`;
		case "disk_free":
			return "there is space again: what waited is written";
		case "log_away":
			return `the log cannot be reached (${oneLine(event.text, 200)}); what is recorded waits. Or stop with Ctrl-C: nothing that is recorded is lost`;
		case "log_back":
			return "the log is there again: what waited is written";
		case "waits_for_space":
			return `${event.work} waits for space to keep ${keeping[event.keeping]}: ${event.reason}`;
		case "in_doubt":
			// A question that was answered meanwhile was in nobody's doubt.
			if (event.name === "ask_user") return undefined;
			return `${event.name} (${event.lane}) was under way when the process ended${event.decision === "reconciled" ? "" : ", and nobody knows whether it happened"}: ${inDoubt[event.decision]}${event.reason === undefined ? "" : ` (${oneLine(event.reason, 100)})`}`;
		case "undelivered":
			return `the text of ${event.from} could not be shown, and is shown again with resume or at the next start: ${oneLine(event.reason, 100)}`;
		case "budget_unpriced":
			return `calls of ${oneLine(event.model, 60)} are not counted in the dollars of the budget: no price of it is known. Say it under prices in your configuration (${reyn`config path`})`;
		case "stopped":
			return `${event.work} has stopped, and goes on with resume or at the next start: ${event.reason}`;
		case "snapshot_failed":
			return event.reason;
		case "trail_failed":
			return `the audit trail (reyn events) is behind, and goes on when it can: ${oneLine(event.reason, 200)}. Nothing else waits for it`;
		case "untold":
			return event.kind === undefined
				? `the log cannot be followed, so what is recorded from now on is not told: ${event.reason}`
				: `what #${event.seq} (${event.kind}) says cannot be told: ${event.reason}`;
		case "prompt_redacted":
			return "what looks like a secret was taken out of the prompt: it is not written down, and the model is not told";
		case "model_changed":
			return `${event.kind} ${event.id} was begun with ${asLine(event.from)} and goes on with ${asLine(event.to)}; ${recordedBy(event.kind)}`;
		case "files_restored":
			return event.kept.length === 0
				? `a move that was cut is finished: files hold what they held at #${event.to}`
				: `a move that was cut is finished, but ${event.kept.length === 1 ? "1 file was" : `${event.kept.length} files were`} not taken back to #${event.to}: ${oneLine(event.kept.map(({ path, why }) => `${path} (${why})`).join(", "), 300)}`;
		case "task_changed":
			// The conversation is told it.
			return undefined;
		case "task_begun":
			return `task ${oneLine(event.task, 40)} is ready: ${event.work} is started for it`;
		case "task_waits":
			return `task ${oneLine(event.task, 40)} is ready, and waits: ${oneLine(event.reason, 300)}`;
		case "tasks_unread":
			return `tasks cannot be read; other work goes on, and it is tried again: ${oneLine(event.reason, 160)}`;
		case "config_kept":
			return `the configuration file ${asLine(event.path)} held what no line of history has: that is in ${asLine(event.keptIn)} now`;
		case "config_unrecorded":
			return `what the configuration files hold is not recorded, and does not come back with this line of history: ${oneLine(event.reason, 300)}`;
		case "config_unfinished":
			return `a change of the configuration is recorded, and its file is not written yet; the next command that writes tries again: ${oneLine(event.reason, 300)}`;
		case "prompt_known":
			return `this was asked in #${event.turn} and is open: it goes on, and nothing is paid twice`;
		case "text":
		case "checkpoint":
		case "plan_step_context":
		// Whoever has asked for it knows.
		case "compacting":
		// What was looked up before counts on, as a recalled answer does.
		case "world_kept":
			return undefined;
	}
	return undefined;
}

function compactedLine({ by, tokens }: Extract<RuntimeEvent, { type: "compacted" }>, say: Suggest): string {
	const size = tokens ? `: about ${tokens.before} tokens are ${tokens.after} now` : "";
	const why = by ? "what was said" : "what was said before would fill what the model reads at once: it";
	const back = by ? `, and ${say`undo`} takes this back` : "";
	return `${why} is told in short from here on${size}. Nothing of it is gone${back}`;
}

/** What a step took: `after 12 s, 1,840 tokens`. Of one that got no answer they are unknown. */
export const spentText = ({ took, cost }: Spent): string =>
	[
		...(took === undefined ? [] : [tookText(took)]),
		cost && cost.calls > 0 ? tokensText(cost.inputTokens + cost.outputTokens) : "tokens unknown",
	].join(", ");

interface Spent {
	readonly took?: number | undefined;
	readonly cost?: { readonly calls: number; readonly inputTokens: number; readonly outputTokens: number } | undefined;
}

/** What waits for space. */
const keeping = {
	result: "its result",
	said: "what was said",
	steps: "its steps",
	end: "how it ended",
	shown: "that it was shown",
} as const;

/** What becomes of a call of which nobody knows whether it happened. */
function resumedLine({ skill, phase, replayed, again, moved, inDoubt: doubts }: Resumed): string {
	const steps = (count: number): string => `${count} ${count === 1 ? "step" : "steps"}`;
	const parts = [
		`${steps(replayed)} replayed`,
		`${again.length} asked again${moved.length > 0 ? ` (${names(moved)} moved)` : again.length > 0 ? " (nothing moved)" : ""}`,
		...doubts.map(({ name, decision }) => `${asLine(name)} in doubt: ${inDoubt[decision]}`),
	];
	return `resumed ${asLine(skill)} in phase ${asLine(phase)}: ${parts.join(", ")}`;
}

type Resumed = Extract<RuntimeEvent, { type: "skill_resumed" }>;

const names = (all: readonly string[]): string => [...new Set(all)].map((each) => asLine(each)).join(", ");

const inDoubt = {
	retry: "it is made again",
	skip: "it is skipped, so data may be missing",
	discard: "the run is discarded",
	reconciled: "it had happened",
	waits: "its far side cannot be asked, so the work waits; resume it to ask again",
} as const;

export const tornLine = ({ bytes, keptIn = "place" }: NonNullable<Restored["torn"]>): string =>
	`the log ended in ${bytes} torn bytes that were never acknowledged; they are kept in ${keptIn}`;

/** What is recorded of a piece of work that another model goes on with. */
function recordedBy(kind: string): string {
	if (kind === "skill") return "what its open phase has asked a model is asked anew";
	if (kind === "script") return "it does not take answers of the one for those of the other";
	return "what is recorded is not paid again";
}

/** What was found at the start, for people. `command` is how they say `plan resume` where they are. */
export function restoredLines(
	{ torn, turns, plans, runs, scripts, undelivered }: Restored,
	command: Suggest = reyn,
): string[] {
	return [
		...(torn ? [tornLine(torn)] : []),
		...turns.map(({ text, isCompaction }) =>
			isCompaction
				? "restored: what was said is to be told in short"
				: `restored: an unanswered question: ${oneLine(text, 70)}`,
		),
		...plans.map(({ plan, status, why, finished, size, calls, tokens, goal }) => {
			const then =
				status === "paused"
					? `${outcomeText({ status, why })}; go on with ${command`plan resume ${plan}`}`
					: `${size - finished} to run`;
			return `restored: plan ${plan}, ${finished} of ${size} steps done (${count(calls, "call")}, ${tokens} tokens, not paid again), ${then}: ${oneLine(goal, 60)}`;
		}),
		...runs.map(({ run, skill, phase, status, why, parent }) => {
			const of = parent ? `, ${parentText(parent)}` : "";
			const where = `${phase === undefined ? "" : ` in phase ${phase}`}${of}`;
			const how = why === undefined ? status : outcomeText({ status, why });
			return `restored: skill ${skill} ${run}, ${how}${where}${status === "paused" ? `; go on with ${command`skill resume ${run}`}` : ""}`;
		}),
		...scripts.map(({ run, name }) => `open: script ${name} ${run}; go on with ${command`script resume ${run}`}`),
		...(undelivered.length > 0 ? [`restored: ${undelivered.length} message(s) that you have not seen`] : []),
	];
}

export function meterLine({ replayed, paid, percentFree }: MeterReading): string {
	const now = `paid now: ${count(paid.calls, "model call")}, ${paid.tokens} tokens${costBehind(paid.cost, ", ")}`;
	if (replayed.calls === 0) return now;
	return `replayed free: ${count(replayed.calls, "model call")}, ${replayed.tokens} tokens (${percentFree} %)   ${now}`;
}

export const messageText = ({ from, text }: BackgroundMessage): string => `[${asLine(from)}] ${text}`;

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;
