/** A journal of typed entries, and the five rewinds on it: the example of eight entries, what is refused, and what a rewind leaves alone. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memorySnapshots } from "@reyn/snapshot";
import { mortalEngine } from "@reyn/wal/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openEntries } from "../src/entries/entries.ts";
import {
	type Entries,
	type EntriesOptions,
	type EntriesPlan,
	type Entry,
	entryTypes,
	fileEntries,
	memoryEntries,
} from "../src/entries/index.ts";
import { type RewindMode, rewindModes } from "../src/index.ts";

const processId = "support-bot";
const said = [
	"user_prompt",
	"assistant_message",
	"tool_call",
	"tool_result",
	"assistant_message",
	"user_prompt",
	"tool_call",
	"assistant_message",
] as const;

let directory: string;
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), "reyn-entries-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

type Open = <S = readonly Entry[]>(options?: EntriesOptions<S>) => Promise<Entries<S>>;

describe.each<[string, Open]>([
	["in memory", (options) => memoryEntries(options)],
	["in a directory", (options) => fileEntries(directory, options)],
])("eight entries %s", (_, open) => {
	let entries: Entries;
	/** The ids, by the names of the example: `e1` to `e8`. */
	let e: Record<string, string>;
	beforeEach(async () => {
		entries = await open({ types: { note: "other", memo: "conversation" }, clock: { now: () => 1_700_000_000_000 } });
		e = await eight(entries);
	});
	afterEach(() => entries.close());

	test.each<[RewindMode, dropped: number]>([
		["both", 3],
		["conversation_only", 2],
		["code_only", 1],
		["summarize", 0],
		["cancel", 0],
	])("%s to before e6 affects 3 of them and takes %i back", async (mode, dropped) => {
		const before = await texts(entries);
		const plan = await entries.plan({ processId, beforeEntry: e.e6 ?? "", mode });
		expect(plan).toMatchObject({
			...{ total: 8, affected: { conversation: 2, code: 1, other: 0, all: 3 }, at: 1_700_000_000_000 },
			...{ dropped: { all: dropped }, restored: { all: 0 }, unclassified: [] },
		});
		expect(plan.summary.join("\n")).toContain(
			`${e.e6} on (user_prompt, 2023-11-14T22:13:20.000Z): 3 of 8 entries (2 of`,
		);

		const rewind = await entries.apply({ processId, plan, actor: "alice@acme.com" });
		const goes = (text: string) => {
			if (text < "e6") return false;
			if (mode === "both") return true;
			return text === "e7" ? mode === "code_only" : mode === "conversation_only";
		};
		expect((await texts(entries)).filter((text) => text !== mode)).toEqual(before.filter((text) => !goes(text)));
		if (mode === "cancel") return expect(rewind).toBeUndefined();
		expect(rewind).toMatchObject({
			...{ processId, type: "rewind" },
			data: { beforeEntry: e.e6, mode, actor: "alice@acme.com", affected: { all: 3, conversation: 2, code: 1 } },
		});
		expect((await all(entries)).at(-1)).toEqual(rewind);
		if (mode === "summarize")
			expect(rewind?.data.text).toContain(
				"were 3 entries (1 user_prompt, 1 tool_call, 1 assistant_message), from 2023-11-14T22:13:20.000Z to 2023-11-14T22:13:20.000Z.",
			);
	});

	test("an entry is rewound with the first one, and none is left", async () => {
		await rewind(entries, e.e1);
		expect(await texts(entries)).toEqual(["both"]);
	});

	test("a rewind to before a rewind takes that back, to any depth", async () => {
		const whole = await texts(entries);
		const away = await rewind(entries, e.e6);
		const less = await texts(entries);
		const undo = await entries.plan({ processId, beforeEntry: away.id, mode: "both" });
		expect(undo).toMatchObject({ total: 5, affected: { all: 0 }, dropped: { all: 0 }, restored: { all: 3 } });
		expect(undo.summary.join("\n")).toContain("3 that were left behind before come back");
		const undone = (await entries.apply({ processId, plan: undo, actor: "ada" })) as Entry;
		expect(said.map((_, i) => `e${i + 1}`)).toEqual((await texts(entries)).filter((text) => text !== "both"));
		expect((await texts(entries)).filter((text) => text !== "both")).toEqual(whole);
		await rewind(entries, undone.id);
		expect((await texts(entries)).filter((text) => text !== "both")).toEqual(less.filter((text) => text !== "both"));
	});

	test("a second rewind counts what the first has left, and what came after", async () => {
		await rewind(entries, e.e6);
		await entries.append({ processId, type: "user_prompt", data: { text: "again" } });
		const plan = await entries.plan({ processId, beforeEntry: e.e4 ?? "", mode: "both" });
		expect(plan).toMatchObject({ total: 6, affected: { conversation: 2, code: 1, all: 3 } });
	});

	test("both to before an entry that one facet was rewound past brings the other entries of then back, and says so", async () => {
		await rewind(entries, e.e3, "conversation_only");
		const plan = await entries.plan({ processId, beforeEntry: e.e7 ?? "", mode: "both" });
		// e3, e4 and e7 are left of them; as of just before e7 there were e5 and e6 too.
		expect(plan).toMatchObject({
			total: 5,
			affected: { code: 1, all: 1 },
			dropped: { all: 1 },
			restored: { conversation: 2, all: 2 },
		});
		await entries.apply({ processId, plan, actor: "ada" });
		expect((await texts(entries)).filter((text) => text !== "both" && text !== "conversation_only")).toEqual([
			...["e1", "e2", "e3", "e4", "e5", "e6"],
		]);
	});

	test("a type of one's own goes with its facet; one of neither goes with both alone, and the plan names it", async () => {
		await entries.append({ processId, type: "memo", data: { text: "m" } });
		await entries.append({ processId, type: "note", data: { text: "n" } });
		const plan = await entries.plan({ processId, beforeEntry: e.e6 ?? "", mode: "code_only" });
		expect(plan).toMatchObject({ affected: { conversation: 3, code: 1, other: 1, all: 5 }, unclassified: ["note"] });
		expect(plan.summary).toContain("1 (note) is neither conversation nor agent state: only both takes it back");
		await rewind(entries, e.e6, "conversation_only");
		expect(await texts(entries)).toEqual(["e1", "e2", "e3", "e4", "e5", "e7", "n", "conversation_only"]);
	});

	test("another process is not touched, counted or read", async () => {
		const other = await entries.append({ processId: "other", type: "user_prompt", data: { text: "o1" } });
		await rewind(entries, e.e2);
		expect(await texts(entries, "other")).toEqual(["o1"]);
		expect(await entries.plan({ processId: "other", beforeEntry: other.id })).toMatchObject({
			total: 1,
			affected: { all: 1 },
		});
		expect(await texts(entries)).toEqual(["e1", "both"]);
	});

	test("what cannot be planned is refused with what can be, and writes nothing", async () => {
		const other = await entries.append({ processId: "other", type: "user_prompt" });
		const away = await rewind(entries, e.e7);
		const before = await all(entries);
		const plan = (beforeEntry: string, mode: RewindMode = "both") => entries.plan({ processId, beforeEntry, mode });
		const valid = before.slice(-8).map(({ id }) => id);
		expect(valid.at(-1)).toBe(away.id);
		for (const id of ["e999", "e0", "e1", "7", "", "e1e3", "e9007199254740993"])
			await expect(plan(id), id).rejects.toMatchObject({ code: "REWIND_ENTRY", detail: { entries: valid } });
		await expect(plan(other.id)).rejects.toMatchObject({
			code: "REWIND_ENTRY",
			message: expect.stringContaining('process "other"'),
		});
		await expect(plan(e.e8 ?? "")).rejects.toMatchObject({
			code: "REWIND_ENTRY",
			message: expect.stringContaining("took it back"),
		});
		await expect(plan(e.e2 ?? "", "some" as RewindMode)).rejects.toMatchObject({
			code: "REWIND_MODE",
			detail: { modes: rewindModes },
		});
		for (const nobody of ["", 7, undefined])
			await expect(entries.plan({ processId: nobody as string, beforeEntry: e.e2 ?? "" })).rejects.toMatchObject({
				code: "REWIND_PROCESS",
			});
		for (const type of ["said", "rewind", "checkpoint", "toString"])
			await expect(entries.append({ processId, type }), type).rejects.toMatchObject({
				code: "REWIND_ENTRY_TYPE",
				detail: { types: [...Object.keys(entryTypes), "note", "memo"] },
			});
		await expect(entries.append({ processId, type: "memo", data: { at: 1n } })).rejects.toMatchObject({
			code: "WAL_INVALID_RECORD",
		});
		expect(await all(entries)).toEqual(before);
	});

	test("a plan that is foreign, stale or changed is refused, and writes nothing", async () => {
		const plan = await entries.plan({ processId, beforeEntry: e.e6 ?? "", mode: "both" });
		const apply = (changed: unknown, by = {}) =>
			entries.apply({ processId, plan: changed as EntriesPlan, actor: "ada", ...by });
		const before = await all(entries);
		const foreign = [
			undefined,
			{},
			{ ...plan, more: 1 },
			{ ...plan, journal: "0".repeat(32) },
			{ ...plan, beforeEntry: e.e5 },
			{ ...plan, mode: "code_only" },
			{ ...plan, total: 7 },
			{ ...plan, dropped: { ...plan.dropped, all: 1 } },
			{ ...plan, summary: ["nothing happens"] },
			{ ...plan, processId: "other" },
			{ ...plan, at: 5 },
		];
		for (const each of foreign)
			await expect(apply(each), JSON.stringify(each)).rejects.toMatchObject({ code: "REWIND_NOT_PREVIEWED" });
		await expect(apply(plan, { processId: "other" })).rejects.toMatchObject({ code: "REWIND_NOT_PREVIEWED" });
		await expect(apply({ ...plan, mode: "some" })).rejects.toMatchObject({ code: "REWIND_MODE" });
		await expect(apply(plan, { actor: " " })).rejects.toMatchObject({ code: "TIMETRAVEL_ACTOR" });
		await expect(apply({ ...plan, tip: plan.tip + 9 })).rejects.toMatchObject({ code: "REWIND_STALE" });
		expect(await all(entries)).toEqual(before);

		await entries.append({ processId: "other", type: "user_prompt" });
		await apply(JSON.parse(JSON.stringify(plan)));
		await expect(apply(plan)).rejects.toMatchObject({ code: "REWIND_STALE" });
		const next = await entries.plan({ processId, beforeEntry: e.e2 ?? "", mode: "both" });
		await entries.append({ processId, type: "tool_call" });
		await expect(apply(next)).rejects.toMatchObject({ code: "REWIND_STALE" });
		await expect(apply({ ...next, mode: "summarize" })).rejects.toMatchObject({ code: "REWIND_STALE" });
	});

	test("of two plans that are applied at once one is done", async () => {
		const plan = await entries.plan({ processId, beforeEntry: e.e6 ?? "", mode: "both" });
		const done = await Promise.allSettled([1, 2].map(() => entries.apply({ processId, plan, actor: "ada" })));
		expect(done.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
		expect(await texts(entries)).toEqual(["e1", "e2", "e3", "e4", "e5", "both"]);
	});
});

test.each<RewindMode | "append">(["append", "both", "summarize"])(
	"what the log did not take is told to nobody: %s",
	async (what) => {
		const engine = mortalEngine();
		const before = await openEntries(engine, memorySnapshots());
		const { id } = await before.append({ processId, type: "user_prompt", data: { text: "e1" } });
		const mode = what === "append" ? "both" : what;
		const plan = await before.plan({ processId, beforeEntry: id, mode });
		engine.die();
		const next = what === "append" ? { processId, type: "tool_call" } : undefined;
		await expect(next ? before.append(next) : before.apply({ processId, plan, actor: "ada" })).rejects.toThrow();
		await before.close().catch(() => {});
		engine.revive();
		await using after = await openEntries(engine, memorySnapshots());
		expect(await texts(after)).toEqual(["e1"]);
	},
);

test.each<RewindMode>(["both", "summarize"])(
	"whenever an entry comes while %s is applied, the rewind is refused or the entry came after it",
	async (mode) => {
		await using entries = await memoryEntries();
		const done = { applied: 0, refused: 0 };
		for (let ticks = 0; ticks < 120; ticks++) {
			const { id } = await entries.append({ processId, type: "user_prompt" });
			const plan = await entries.plan({ processId, beforeEntry: id, mode });
			const applying = entries.apply({ processId, plan, actor: "ada" }).catch(({ code }) => code);
			for (let left = ticks; left > 0; left--) await undefined;
			const { id: came } = await entries.append({ processId, type: "tool_call" });
			const applied = await applying;
			if (typeof applied === "string") expect(applied).toBe("REWIND_STALE");
			else expect(Number(applied?.id.slice(1)), `after ${ticks} ticks`).toBeLessThan(Number(came.slice(1)));
			done[typeof applied === "string" ? "refused" : "applied"]++;
		}
		expect(done.refused).toBeGreaterThan(0);
		expect(done.applied).toBeGreaterThan(0);
	},
);

describe("in a directory", () => {
	test("plans, refusals and cancel leave every file byte-identical", async () => {
		await using entries = await fileEntries(directory);
		const e = await eight(entries);
		const before = await hashes();
		for (const mode of rewindModes) {
			const plan = await entries.plan({ processId, beforeEntry: e.e6 ?? "", mode });
			if (mode === "cancel") await entries.apply({ processId, plan, actor: "ada" });
			else await expect(entries.apply({ processId, plan: { ...plan, total: 1 }, actor: "ada" })).rejects.toThrow();
		}
		await expect(entries.plan({ processId, beforeEntry: "e99" })).rejects.toThrow();
		await entries.recover({ processId });
		expect(await hashes()).toEqual(before);
		expect(Object.keys(before)).toContain("wal.jsonl");
	});

	test("a rewind is honoured by a recovery, and a later checkpoint leaks nothing", async () => {
		for (const [mode, left] of [
			["both", "e1 e2 e3 e4 e5"],
			["conversation_only", "e1 e2 e3 e4 e5 e7"],
			["code_only", "e1 e2 e3 e4 e5 e6 e8"],
		] as const) {
			const at = join(directory, mode);
			let entries = await fileEntries(at, { state: story });
			// So many that checkpoints store states.
			for (let i = 0; i < 120; i++) await entries.append({ processId, type: "tool_call", data: { text: "." } });
			const e = await eight(entries);
			// A checkpoint of a state that is rewound after it, and one of the state after that.
			await entries.checkpoint({ processId });
			await rewind(entries, e.e6, mode);
			for (let i = 0; i < 120; i++) await entries.append({ processId, type: "state_transition", data: { text: "." } });
			await entries.checkpoint({ processId });
			for (let life = 0; life < 2; life++) {
				expect(await entries.recover({ processId })).toBe(left);
				await entries.close();
				expect(
					(await readdir(join(at, "snapshots"), { recursive: true })).filter((name) => /\d{20}\.blob$/.test(name)),
				).toHaveLength(2);
				entries = await fileEntries(at, { state: story });
			}
			await entries.append({ processId, type: "user_prompt", data: { text: "e9" } });
			await entries.checkpoint({ processId });
			await entries.close();
			entries = await fileEntries(at, { state: story });
			expect(await entries.recover({ processId })).toBe(`${left} e9`);
			expect(await entries.recover({ processId: "other" })).toBe("");
			await entries.close();
		}
	});

	test("a type that is not given any more is read, counted and rewound as one of neither facet", async () => {
		const first = await fileEntries(directory, { types: { memo: "conversation" } });
		const { id } = await first.append({ processId, type: "memo", data: { text: "m" } });
		await first.close();
		await using entries = await fileEntries(directory);
		expect(await texts(entries)).toEqual(["m"]);
		expect((await entries.recover({ processId })).map(({ type }) => type)).toEqual(["memo"]);
		const plan = await entries.plan({ processId, beforeEntry: id, mode: "both" });
		expect(plan).toMatchObject({ total: 1, affected: { other: 1, all: 1 }, unclassified: ["memo"] });
	});
});

test.each([
	["user_prompt", "conversation"],
	["rewind", "code"],
	["rewind_note", "code"],
	["reset", "code"],
	["wal_x", "code"],
	["fact_x", "code"],
	["Mine", "code"],
	["mine", "talk"],
])("a type of one's own cannot be %s with the facet %s", async (type, facet) => {
	await expect(memoryEntries({ types: { [type]: facet as "code" } })).rejects.toMatchObject({
		code: "REWIND_ENTRY_TYPE",
	});
});

const story = {
	version: 1,
	init: () => "",
	next: (state: string, { data }: Entry) => (data.text === "." ? state : `${state} ${data.text}`.trim()),
};

async function eight(entries: Entries<unknown>): Promise<Record<string, string>> {
	const ids: Record<string, string> = {};
	for (const [i, type] of said.entries()) {
		const text = `e${i + 1}`;
		ids[text] = (await entries.append({ processId, type, data: { text } })).id;
	}
	return ids;
}

async function rewind(entries: Entries<unknown>, beforeEntry = "", mode: RewindMode = "both"): Promise<Entry> {
	const plan = await entries.plan({ processId, beforeEntry, mode });
	return (await entries.apply({ processId, plan, actor: "ada" })) as Entry;
}

async function all(entries: Entries<unknown>, of = processId): Promise<Entry[]> {
	const found: Entry[] = [];
	for await (const entry of entries.read({ processId: of })) found.push(entry);
	return found;
}

/** The texts of the entries that are read; of a rewind, its mode. */
const texts = async (entries: Entries<unknown>, of = processId): Promise<string[]> =>
	(await all(entries, of)).map(({ type, data }) => String(type === "rewind" ? data.mode : data.text));

async function hashes(): Promise<Record<string, string>> {
	const paths = await readdir(directory, { recursive: true, withFileTypes: true });
	const files = paths.filter((each) => each.isFile()).map(({ parentPath, name }) => join(parentPath, name));
	const hashed = files.map(async (path) => [
		path.slice(directory.length + 1),
		createHash("sha256")
			.update(await readFile(path))
			.digest("hex"),
	]);
	return Object.fromEntries(await Promise.all(hashed));
}
