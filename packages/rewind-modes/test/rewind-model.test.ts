/**
 * Random small histories: for every mode, the preview counts exactly what applying it takes away. `REYN_RUNS` sets how many are told,
 * `REYN_SEED` the first one's seed.
 */
import { isMeta } from "@reyn/timetravel/internal";
import { type Scope, type WalRecord, within } from "@reyn/wal";
import { expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { facetOf } from "../src/facets.ts";
import { type Counts, type RewindMode, rewindModes } from "../src/index.ts";
import { meanings } from "../src/modes.ts";
import { Chat, call, config, facets, main, plan, prompt, reply, result, seen, side } from "./chat.ts";

const histories = Number(process.env.REYN_RUNS ?? sample(50, 200));

test("the preview equals what apply does, for every mode and history", async () => {
	const done = Object.fromEntries([...rewindModes, "refused", "none"].map((what) => [what, 0])) as Record<
		string,
		number
	>;
	const counted = (what: string): void => {
		done[what] = (done[what] ?? 0) + 1;
	};
	for (let seed = SEED; seed < SEED + histories; seed++) {
		const random = seeded(seed);
		const chat = await Chat.open({ cycles: false });
		for (let step = 0; step < 4; step++) {
			writeSome(chat, random);
			if (random.below(4) === 0) await chat.checkpoint();
			if (random.below(2) === 0) await cut(chat, random);
			const [mode, scope] = [random.pick(rewindModes), random.pick(scopes)];
			counted(await rewindAndCompare(chat, await targetIn(chat, random), mode, scope, `seed: ${seed}`));
		}
		await chat.wal.close();
	}
	// Every mode was there, and so were targets that are refused.
	for (const [what, times] of Object.entries({ ...done, unknown })) expect(times, what).toBeGreaterThan(histories / 50);
});

/** Any seq; after a cut mostly one that can be gone back to. */
async function targetIn(chat: Chat, random: Random): Promise<number> {
	const { tip } = chat.wal;
	if (random.below(4) === 0) return random.below(tip + 1);
	const labels = (await chat.timeline.labels()).map(({ seq }) => seq);
	const { retainedFrom } = chat.timeline;
	return random.below(2) === 0 && labels.length > 0
		? random.pick(labels)
		: retainedFrom - 1 + random.below(tip - retainedFrom + 2);
}

test("whatever comes between preview and apply, what was previewed is done with the progress since, or nothing is", async () => {
	const done = { applied: 0, after: 0, stale: 0, refused: 0 };
	for (let seed = SEED; seed < SEED + histories; seed++) {
		const random = seeded(seed);
		const chat = await Chat.open({ cycles: false, begins });
		for (let step = 0; step < 4; step++) {
			writeSome(chat, random);
			const [mode, scope] = [random.pick(rewindModes), random.pick(scopes)];
			const between = async (): Promise<boolean> => {
				const { tip } = chat.wal;
				for (let left = random.below(4); left > 0; left--) await come(chat, random);
				const came = (await chat.records(tip)).filter(
					({ kind, scope: at }) =>
						["reset", "label"].includes(kind) || (begins.includes(kind) && (within(at, scope) || within(scope, at))),
				);
				return came.length === 0;
			};
			const { tip } = chat.wal;
			const ended = await rewindAndCompare(chat, random.below(tip + 1), mode, scope, `seed: ${seed}`, between);
			done[ended === "refused" || ended === "stale" ? ended : "applied"]++;
			if (chat.wal.tip > tip + 2 && ended !== "stale") done.after++;
		}
		await chat.wal.close();
	}
	for (const [what, times] of Object.entries(done)) expect(times, what).toBeGreaterThan(histories / 20);
});

const begins = ["prompt", "rewind_note"];

/** Work goes on, mostly; now and then somebody does something. */
async function come(chat: Chat, random: Random): Promise<void> {
	const what = random.below(12);
	if (what === 0) await chat.timeline.label(chat.wal.tip, `l${written++}`);
	else if (what === 1) await chat.timeline.checkout(random.below(chat.wal.tip), { scope: random.pick(scopes) });
	else if (what === 2) await chat.timeline.undo().catch(() => undefined);
	else if (what === 3) await chat.checkpoint();
	else if (what === 4) chat.write(random.pick([main, plan, side]), prompt(`t${written++}`));
	else chat.write(random.pick([main, plan, side]), random.pick([reply, call, result, config, seen])(`t${written++}`));
}

/** @param between what happens after the preview; gives whether it is still good */
async function rewindAndCompare(
	chat: Chat,
	target: number,
	mode: RewindMode,
	scope: Scope,
	seed: string,
	between = async (): Promise<boolean> => true,
): Promise<string> {
	const shown = await counting(chat);
	const preview = await chat.preview(target, mode, scope).catch((error: { code?: unknown }) => error);
	if (!("summary" in preview)) {
		const isCut = chat.timeline.retainedFrom > 1;
		const codes = ["TIMETRAVEL_NOT_ACTIVE", "TIMETRAVEL_COVERAGE", ...(isCut ? ["TIMETRAVEL_PRUNED"] : [])];
		expect(codes, seed).toContain(preview.code);
		return "refused";
	}
	const isBeyond = (record: WalRecord) =>
		record.seq > target && within(record.scope, scope) && !record.kind.startsWith("fact_");
	const goes = (record: WalRecord) => isBeyond(record) && meanings[mode].drops.includes(facetOf(record.kind, facets));
	// What was taken away is not counted, and nothing is said of it; what is said is so.
	const isUnknown = preview.affected === undefined;
	if (isUnknown) expect(target, seed).toBeLessThan(chat.timeline.retainedFrom - 1);
	expect(preview.affected, seed).toEqual(isUnknown ? undefined : countsOf(shown.filter(isBeyond)));
	const isKnown = !isUnknown || meanings[mode].drops.length === 0;
	expect(preview.dropped, seed).toEqual(isKnown ? countsOf(shown.filter(goes)) : undefined);
	for (const line of preview.summary) expect(line, seed).not.toContain("undefined");

	const isGood = await between();
	const before = await counting(chat);
	const log = await chat.records();
	const { tip } = chat.wal;
	if (!isGood) {
		await expect(chat.apply(preview), seed).rejects.toMatchObject({ code: "REWIND_STALE" });
		expect(await chat.records(), seed).toEqual(log);
		return "stale";
	}
	const { kind, affected, dropped } = await chat.apply(preview);
	expect(affected, seed).toEqual(isUnknown ? undefined : countsOf(before.filter(isBeyond)));
	const gone = countsOf(kind === "none" ? [] : before.filter(goes));
	expect(dropped, seed).toEqual(isKnown || kind === "none" ? gone : undefined);
	if (kind !== "none" && isUnknown) await expectUnknown(chat, kind, seed);
	const after = await counting(chat);
	const [kept, added] = [after.filter((record) => record.seq <= tip), after.slice(-1)];
	if (kind === "none") {
		expect(after, seed).toEqual(before);
		return mode === "cancel" ? mode : "none";
	}
	expect(kept, seed).toEqual(before.filter((record) => !goes(record)));
	expect((await chat.records()).slice(0, log.length), seed).toEqual(log);
	if (isUnknown) unknown++;
	if (kind === "note") expect(added.map((record) => record.kind)).toEqual(["rewind_note"]);
	else expect(after, seed).toHaveLength(kept.length);
	// The state is the fold of just those.
	const texts = after.map(({ kind, data }) => (kind === "rewind_note" ? "(note)" : (data as { text: string }).text));
	expect(await chat.told(), seed).toBe(texts.join(" "));
	return mode;
}

/** The record says nothing of how much it was, and the note no number. */
async function expectUnknown(chat: Chat, kind: "reset" | "note", seed: string): Promise<void> {
	const { data } = (await chat.records()).findLast((record) =>
		["reset", "rewind_note"].includes(record.kind),
	) as WalRecord;
	const { counts, text } = data as { counts: object; text?: string };
	expect(
		Object.keys(counts).filter((name) => name !== "dropped"),
		seed,
	).toEqual([]);
	if (kind === "note") expect(text, seed).toMatch(/how many is not known any more/);
}

/** All records that there ever were, by log: a collection takes none of these away. */
const everWritten = new WeakMap<Chat, WalRecord[]>();

/** The records that count now, but for those of the log and the timeline. */
async function counting(chat: Chat): Promise<WalRecord[]> {
	const all = everWritten.get(chat) ?? [];
	everWritten.set(chat, all);
	all.push(...(await chat.records(all.at(-1)?.seq)));
	return all.filter((record) => !isMeta(record.kind) && chat.timeline.lineage.isActive(record));
}

let unknown = 0;

/** Names a moment, and now and then takes all away that is before the newest checkpoints. */
async function cut(chat: Chat, random: Random): Promise<void> {
	await counting(chat);
	const { tip } = chat.wal;
	if (tip > 0) await chat.timeline.label(random.below(tip) + 1, `cut${written++}`).catch(() => undefined);
	if (random.below(2) === 0) return;
	await chat.checkpoint();
	await counting(chat);
	await chat.timeline.gc({ keepDays: 0, keepCheckpoints: 1, now: Number.MAX_SAFE_INTEGER });
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
const drafts = [prompt, reply, call, result, config, seen];
let written = 0;

function writeSome(chat: Chat, random: Random): void {
	for (let left = 1 + random.below(5); left > 0; left--)
		chat.write(random.pick([main, main, plan, side]), random.pick(drafts)(`t${written++}`));
}
