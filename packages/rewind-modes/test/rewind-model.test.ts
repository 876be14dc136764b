/** Random small histories: for every mode, the preview counts exactly what applying it takes away. */
import { isMeta } from "@reyn/timetravel";
import { type Scope, type WalRecord, within } from "@reyn/wal";
import { expect, test } from "vitest";
import { type Counts, facetOf, meanings, type RewindMode, rewindModes } from "../src/index.ts";
import { Chat, call, collect, config, facets, main, plan, prompt, reply, result, side } from "./chat.ts";

const histories = Number(process.env.REYN_RUNS ?? 200);
const timeout = 30_000 + histories * 100;

test("the preview equals what apply does, for every mode and history", { timeout }, async () => {
	const done = Object.fromEntries([...rewindModes, "refused", "none"].map((what) => [what, 0])) as Record<
		string,
		number
	>;
	const counted = (what: string): void => {
		done[what] = (done[what] ?? 0) + 1;
	};
	for (let seed = 1; seed <= histories; seed++) {
		const random = dice(seed);
		const chat = await Chat.open({ cycles: false });
		for (let step = 0; step < 4; step++) {
			writeSome(chat, random);
			if (random(4) === 0) await chat.checkpoint();
			const [mode, scope] = [oneOf(rewindModes, random), oneOf(scopes, random)];
			counted(await rewindAndCompare(chat, random(chat.wal.tip + 1), mode, scope, `seed ${seed}`));
		}
		await chat.wal.close();
	}
	// Every mode was there, and so were targets that are refused.
	for (const [what, times] of Object.entries(done)) expect(times, what).toBeGreaterThan(histories / 50);
});

async function rewindAndCompare(
	chat: Chat,
	target: number,
	mode: RewindMode,
	scope: Scope,
	seed: string,
): Promise<string> {
	const before = await counting(chat);
	const log = await chat.records();
	const preview = await chat.preview(target, mode, scope).catch((error: { code?: unknown }) => error);
	if (!("affected" in preview)) {
		expect(preview.code, seed).toBe("TIMETRAVEL_NOT_ACTIVE");
		return "refused";
	}
	const beyond = before.filter((record) => record.seq > target && within(record.scope, scope));
	const goes = (record: WalRecord) =>
		beyond.includes(record) && meanings[mode].drops.includes(facetOf(record.kind, facets));
	expect(preview.affected, seed).toEqual(countsOf(beyond));
	expect(preview.dropped, seed).toEqual(countsOf(before.filter(goes)));

	const { kind } = await chat.apply(preview);
	const after = await counting(chat);
	const [kept, added] = [after.filter((record) => record.seq <= preview.tip), after.slice(-1)];
	expect(kept, seed).toEqual(before.filter((record) => !goes(record)));
	expect((await chat.records()).slice(0, log.length), seed).toEqual(log);
	if (kind === "note") expect(added.map((record) => record.kind)).toEqual(["rewind_note"]);
	else expect(after, seed).toHaveLength(kept.length);
	// The state is the fold of just those.
	const texts = after.map(({ kind, data }) => (kind === "rewind_note" ? "(note)" : (data as { text: string }).text));
	expect(await chat.told(), seed).toBe(texts.join(" "));
	return kind === "none" && mode !== "cancel" ? "none" : mode;
}

/** The records that count now, but for those of the log and the timeline. */
async function counting(chat: Chat): Promise<WalRecord[]> {
	return (await collect(chat.timeline.history())).filter(({ kind }) => !isMeta(kind));
}

function countsOf(records: readonly WalRecord[]): Counts {
	const count = (facet: string) => records.filter(({ kind }) => facetOf(kind, facets) === facet).length;
	return {
		conversation: count("conversation"),
		code: count("code"),
		other: count("other"),
		all: records.length,
	};
}

const scopes: readonly Scope[] = [{}, {}, { agent: "alice" }, main, side, plan];
const drafts = [prompt, reply, call, result, config];
let written = 0;

function writeSome(chat: Chat, random: (below: number) => number): void {
	for (let left = 1 + random(5); left > 0; left--)
		chat.write(oneOf([main, main, plan, side], random), oneOf(drafts, random)(`t${written++}`));
}

function oneOf<T>(values: readonly T[], random: (below: number) => number): T {
	return values[random(values.length)] as T;
}

/** The same throws for the same seed (mulberry32). */
function dice(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
	};
}
