/** How people name a moment, and what a rewind to it covers. */
import { mainSession } from "@reyn/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseRef, scopeAt } from "../src/index.ts";
import { type House, openHouse } from "./house.ts";

const guest = { agent: "guest", session: "main" };
let house: House;
let [first, second] = [0, 0];
beforeAll(async () => {
	house = await openHouse();
	first = house.runtime.wal.tip;
	await house.runtime.prompt("where does a fox sleep?", guest);
	await house.runtime.idle();
	second = house.runtime.wal.tip;
});
afterAll(() => house[Symbol.asyncDispose]());

test("a scope is that of the record, and the main session's where it has none", async () => {
	const { runtime } = house;
	expect(await scopeAt(second, "process", runtime)).toEqual({});
	expect(await scopeAt(second, "agent", runtime)).toEqual({ agent: "guest" });
	expect(await scopeAt(second, "session", runtime)).toEqual(guest);
	expect(await scopeAt(first, "session", runtime)).toEqual(mainSession);
	expect(await scopeAt(0, "session", runtime)).toEqual(mainSession);
	expect(await scopeAt(0, "agent", runtime)).toEqual({ agent: "default" });
	await expect(scopeAt(999, "agent", runtime)).rejects.toMatchObject({ code: "TIMETRAVEL_OUT_OF_RANGE" });
});

test("a moment is named by its seq, from the tip back, by a branch or by a label", async () => {
	const { runtime } = house;
	await runtime.timeline.label(first, "dawn");
	const turns = runtime.timeline.checkpoints().filter(({ active }) => active);
	expect(await parseRef("2", runtime)).toBe(2);
	expect(await parseRef("@", runtime)).toBe(runtime.wal.tip);
	expect(await parseRef("@-1", runtime)).toBe(turns.at(-2)?.seq);
	expect(await parseRef("main", runtime)).toBe(runtime.wal.tip);
	expect(await parseRef("dawn", runtime)).toBe(first);
});

test.each([
	["@-99", "OPERATOR_UNKNOWN_REF", /^@-99 goes 99 checkpoints back, and this line of history has \d+$/],
	["b77", "OPERATOR_UNKNOWN_REF", /^there is no branch b77; there are main/],
	["no\u001b[2Jon\u202e", "OPERATOR_BAD_REF", /^"no\[2Jon" points at nothing;/],
	["noon", "OPERATOR_BAD_REF", /^"noon" points at nothing; .*\(main/],
	["-3", "OPERATOR_BAD_REF", /give a seq/],
	["1.5", "OPERATOR_BAD_REF", /give a seq/],
])("%s names none", async (text, code, message) => {
	await expect(parseRef(text, house.runtime)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

test("from the tip back a rewind counts where no checkpoint has its state, and not where one has", async () => {
	await using own = await openHouse();
	const { runtime } = own;
	const refs = async () => Promise.all(["@-0", "@-1"].map((ref) => parseRef(ref, runtime)));
	const [newest = 0, before = 0] = await refs();
	await own.do("rewind", { ref: "@-1" });
	expect(await parseRef("@-0", runtime)).toBe(before);
	await own.do("undo");
	expect(await refs()).toEqual([newest, before]);
	await own.do("rewind", { ref: "@-1", mode: "conversation_only" });
	const [move] = (await runtime.timeline.moves({ limit: 1 })).past;
	expect(await refs()).toEqual([move?.seq, before]);
});
