/** The history that is gone back in: turns of an agent that writes files, as the runtime records them, and every so often a rewind. */
import { laneClosed, stepCompleted, stepStarted } from "@reyn/journal";
import { assistantMessage, mainSession, type Runtime, turnCompleted, userPrompt } from "@reyn/runtime";
import type { Draft, Seq } from "@reyn/wal";

/** Its prompt, a call of the model, two files that it writes, what it says, its end, and its checkpoint. */
const TURN_RECORDS = 10;
/** A rewind is a reset, and that it is settled. */
const RESET_RECORDS = 2;
/** So many turns are left by each rewind, and there is one in so many. */
const LEFT = 3;
const TURNS_A_RESET = 10;

/** The files of the history, which are not those of the disk. */
const PATHS = 1000;

export interface History {
	readonly records: number;
	readonly resets: number;
	readonly writes: number;
}

/** Writes so many records, one in a hundred of them a rewind, and the snapshots that are due, as a process does that has looked at files. */
export async function writeHistory({ wal, timeline, files }: Runtime, records: number): Promise<History> {
	await files.since(wal.tip);
	let log = timeline.handle();
	const turns = Math.ceil(records / (TURN_RECORDS + RESET_RECORDS / TURNS_A_RESET));
	let [view, writes, resets] = [await timeline.at(wal.tip, mainSession), 0, 0];
	const add = (draft: Draft): Seq => {
		const { record } = log.append(draft, mainSession);
		view = view.apply(record);
		return record.seq;
	};
	const ends: Seq[] = [];
	for (let i = 0; i < turns; i++) {
		await wal.ready();
		const turn = add(userPrompt({ text: `Mend what line ${i} says.`, by: "person" }));
		const lane = `turn/${turn}`;
		const step = (kind: string, name: string, at: number) => ({
			...{ lane, fp: (turn * 8 + at).toString(16).padStart(64, "0"), occ: 0, kind, name },
			purity: kind === "model" ? "llm" : "side_effect",
		});
		add(stepCompleted({ ...step("model", "none", 0), after: 0, result: { text: "", toolCalls: [] } } as never));
		for (let at = 1; at <= 2; at++, writes++) {
			const n = Math.floor(writes / PATHS);
			const prepared = {
				path: `old/f${writes % PATHS}.txt`,
				before: n === 0 ? null : versionOf(n),
				after: versionOf(n + 1),
			};
			const started = add(stepStarted({ ...step("tool", "write", at), after: 0, prepared } as never));
			add(stepCompleted({ ...step("tool", "write", at), after: 0, started, result: "written" } as never));
		}
		add(assistantMessage({ text: `Line ${i} is mended.`, turn, round: 0 }));
		add(turnCompleted({ turn }));
		add(laneClosed({ lane }));
		const stored = timeline.checkpoint("turn", `line ${i}`, mainSession, view);
		ends.push(await stored);
		if (i % TURNS_A_RESET !== TURNS_A_RESET - 1) continue;
		const { seq } = await timeline.checkout(ends.at(-1 - LEFT) as Seq, { actor: "user", scope: {} });
		view = await timeline.at(seq, mainSession);
		log = timeline.handle();
		resets++;
	}
	return { records: wal.tip, resets, writes };
}

const versionOf = (n: number): string => n.toString(16).padStart(16, "0");
