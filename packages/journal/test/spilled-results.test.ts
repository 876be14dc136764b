/** Which blobs records and states refer to as results. */
import { View } from "@reyn/snapshot";
import { memoryBlobs, memoryEngine, openWal, type Scope } from "@reyn/wal";
import { expect, test } from "vitest";
import { journal, journalRecords, Lane, laneClosed, recall, spilledResults } from "../src/index.ts";

const scope: Scope = { agent: "default", session: "main" };

test("a record and a state name the results that lie beside the log, as the store does, until the lane is closed", async () => {
	const results = memoryBlobs();
	const wal = await openWal(memoryEngine(), { records: journalRecords });
	let view = View.empty(scope, [journal]);
	const named: string[][] = [];
	const log: Pick<typeof wal, "append"> = {
		append(draft, at) {
			const appended = wal.append(draft, at);
			view = view.apply(appended.record);
			named.push([...spilledResults.ofRecord(appended.record)]);
			return appended;
		},
	};
	const { signal } = new AbortController();
	const whenInDoubt = () => "retry" as const;
	const using = { log, logId: wal.id, signal, results, whenInDoubt };
	const lane = new Lane("turn/1", scope, { ...using, recall: (step) => recall(view.get(journal), step) });
	const call = (name: string, result: unknown) =>
		lane.perform({ kind: "tool", name, args: null, purity: "side_effect", call: async () => result });
	await call("small", "x");
	await call("large", "y".repeat(40_000));
	await call("other", "z");
	const [name = ""] = await results.list("");
	expect(named).toEqual([[], [], [], [name], [], []]);
	expect(spilledResults.isName(name)).toBe(true);
	expect(spilledResults.ofState(view.get(journal))).toEqual([name]);
	log.append(laneClosed({ lane: "turn/1" }), scope);
	expect(spilledResults.ofState(view.get(journal))).toEqual([]);
	await wal.close();
});

test("any other name is none of a result", () => {
	const sha256 = "ab".repeat(32);
	for (const name of [
		sha256,
		`cd/${sha256}`,
		`ab/${sha256}/x`,
		"ab/notes",
		`ab/${sha256.toUpperCase()}`,
		`x/ab/${sha256}`,
	])
		expect(spilledResults.isName(name), name).toBe(false);
});
