/** A process that writes the history that the page shows, turns as the runtime records them: `write.ts <name> <state> <records> <branches>`. */
import { laneClosed, stepCompleted } from "@reyn/journal";
import {
	allRecords,
	assistantMessage,
	conversation,
	layoutOf,
	mainSession,
	turnCompleted,
	userPrompt,
} from "@reyn/runtime";
import { memorySnapshots, View } from "@reyn/snapshot";
import { openTimeline } from "@reyn/timetravel";
import { type Draft, openWal, type Seq } from "@reyn/wal";
import type { Start } from "../rival.ts";
import { ANSWER, model, USAGE } from "./model.ts";

/** So many turns are left by each rewind. */
const LEFT = 3;
/** Its prompt, what it calls and says, its end, and its checkpoint. */
const TURN_RECORDS = 6;

async function writeTurns(directory: string, records: number, branches: number): Promise<object> {
	await using wal = await openWal(directory, { records: allRecords });
	const projections = [conversation];
	const timeline = await openTimeline({ wal, snapshots: memorySnapshots(), projections });
	const turns = Math.ceil(records / TURN_RECORDS);
	const every = Math.max(LEFT + 1, Math.floor(turns / (branches + 1)));
	let view = View.empty(mainSession, projections);
	const add = (draft: Draft): Seq => {
		const { record } = wal.append(draft, mainSession);
		view = view.apply(record);
		return record.seq;
	};
	const ends: Seq[] = [];
	for (let i = 0; i < turns; i++) {
		await wal.ready();
		const title = `What does the log say of its line ${i}?`;
		const turn = add(userPrompt({ text: title, by: "person" }));
		const lane = `turn/${turn}`;
		const call = {
			lane,
			fp: turn.toString(16).padStart(64, "0"),
			occ: 0,
			kind: "model",
			name: model.id,
			purity: "llm",
		};
		const result = { text: ANSWER, toolCalls: [], usage: USAGE };
		add(stepCompleted({ ...call, round: `${turn}:0:0`, after: 0, result, usage: USAGE } as never));
		add(assistantMessage({ text: ANSWER, turn, round: 0 }));
		add(turnCompleted({ turn }));
		add(laneClosed({ lane }));
		ends.push(await timeline.checkpoint("turn", title, mainSession, view));
		if (i % every !== every - 1 || timeline.branches().length > branches) continue;
		const { seq } = await timeline.checkout(ends.at(-1 - LEFT) as Seq, { actor: "user", scope: {} });
		view = await timeline.at(seq, mainSession);
	}
	return { records: wal.tip, branches: timeline.branches().length };
}

const [, , , state = "", records, branches] = process.argv;
process.on("disconnect", () => process.exit());
process.on("message", async () => {
	process.send?.({ found: await writeTurns(layoutOf(state).wal, Number(records), Number(branches)) });
});
process.send?.({ ready: true } satisfies Start);
