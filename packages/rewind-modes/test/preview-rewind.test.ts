/** Previews of a rewind: what is counted, and which targets are refused. */
import { describe, expect, test } from "vitest";
import { rewindModes } from "../src/index.ts";
import { Chat, call, config, main, plan, prompt, reply, result, seen, side } from "./chat.ts";

describe("a preview", () => {
	test.each([
		["both", { conversation: 3, code: 2, other: 1, all: 6 }],
		["conversation_only", { conversation: 3, code: 0, other: 0, all: 3 }],
		["code_only", { conversation: 0, code: 2, other: 0, all: 2 }],
		["summarize", { conversation: 0, code: 0, other: 0, all: 0 }],
		["cancel", { conversation: 0, code: 0, other: 0, all: 0 }],
	] as const)("of %s counts what lies beyond the target, and what of it goes", async (mode, dropped) => {
		await using chat = await Chat.open();
		const [, target] = chat.write(prompt("a"), reply("b"));
		chat.write(prompt("c"), call("d"), result("e"), config("f"), reply("g"), prompt("h"));
		const affected = { conversation: 3, code: 2, other: 1, all: 6 };
		expect(await chat.preview(target as number, mode)).toMatchObject({ mode, kind: "undo", target, affected, dropped });
	});

	test("changes nothing if no mode is named, and never writes", async () => {
		await using chat = await Chat.open();
		const [target] = chat.write(prompt("a"), reply("b"));
		const before = await chat.records();
		expect((await chat.preview(target as number)).mode).toBe("cancel");
		for (const mode of rewindModes) await chat.preview(target as number, mode);
		expect(await chat.records()).toEqual(before);
	});

	test("counts neither checkpoints, resets and the log's own records, nor what an earlier rewind left", async () => {
		await using first = await Chat.open();
		const [target, left] = first.write(prompt("a"), reply("b"));
		await first.checkpoint();
		await first.rewind(target as number, "both");
		await using chat = await first.reopen();
		chat.write(reply("c"));
		expect(left).toBeLessThan(chat.wal.tip);
		expect((await chat.preview(target as number, "both")).affected).toEqual({
			conversation: 1,
			code: 0,
			other: 0,
			all: 1,
		});
	});

	test.each(rewindModes)("counts no facts, which no mode takes back, and no session for one: %s", async (mode) => {
		await using chat = await Chat.open();
		const [target] = chat.write(prompt("a"));
		chat.write(reply("b"), seen("c"), side, seen("d"));
		expect(await chat.preview(target as number, mode)).toMatchObject({
			affected: { conversation: 1, code: 0, other: 0, all: 1 },
			touches: { sessions: ["alice/main"] },
		});
	});

	test("names each session and run that has a record in the interval, once", async () => {
		await using chat = await Chat.open();
		const [target] = chat.write(prompt("before"), side, prompt("also before"));
		chat.write(main, reply("a"), reply("b"), plan, call("c"), result("d"), {}, config("of the process"));
		expect((await chat.preview((target as number) + 1, "both")).touches).toEqual({
			sessions: ["alice/main"],
			runs: ["p1"],
		});
		expect((await chat.preview(target as number, "both")).touches?.sessions).toEqual(["alice/side", "alice/main"]);
	});

	test("of one session counts that session", async () => {
		await using chat = await Chat.open();
		const [target] = chat.write(prompt("a"));
		chat.write(reply("b"), plan, call("c"), result("d"), side, prompt("e"), reply("f"));
		expect(await chat.preview(target as number, "both", main)).toMatchObject({
			scope: main,
			dropped: { conversation: 1, code: 2, other: 0, all: 3 },
			touches: { sessions: ["alice/main"], runs: ["p1"] },
		});
		expect((await chat.preview(target as number, "both", side)).dropped?.all).toBe(2);
	});

	test("says in words what it would do", async () => {
		await using chat = await Chat.open();
		const [target] = chat.write(prompt("a"));
		chat.write(reply("b"), plan, call("c"), result("d"));
		expect((await chat.preview(target as number, "code_only")).summary).toEqual([
			"code_only: agent state and tool results go back, the conversation stays",
			`after #${target}: 3 records (1 of conversation, 2 of agent state, 0 other); 2 are left behind, and undo brings them back`,
			"touches 1 session (alice/main) and 1 run (p1)",
			"files in your workspace are not touched",
		]);
	});

	test.each(rewindModes)("of the tip has nothing to do: %s", async (mode) => {
		await using chat = await Chat.open();
		chat.write(prompt("a"));
		const preview = await chat.preview(chat.wal.tip, mode);
		expect(preview).toMatchObject({ kind: "none", affected: { all: 0 }, dropped: { all: 0 } });
		expect(preview.summary).toContain("touches 0 sessions and 0 runs");
	});

	test("of genesis takes everything", async () => {
		await using chat = await Chat.open();
		chat.write(prompt("a"), reply("b"), call("c"), result("d"));
		expect((await chat.preview(0, "both")).dropped?.all).toBe(4);
	});
});

describe("a target inside a tool cycle", () => {
	test.each(rewindModes)("becomes the moment just before its calls, and the preview says so: %s", async (mode) => {
		await using chat = await Chat.open();
		chat.write(prompt("a"), reply("b"));
		await chat.checkpoint();
		const [before, , inside] = chat.write(prompt("c"), call("d"), call("e"), result("d"), result("e"));
		const preview = await chat.preview(inside as number, mode);
		expect(preview).toMatchObject({ target: before, snappedFrom: inside, affected: { conversation: 0, code: 4 } });
		expect(preview.summary[0]).toBe(`seq ${inside} lies inside a tool cycle; just before its calls is ${before}`);
	});

	test("is left alone when the cycle is over", async () => {
		await using chat = await Chat.open();
		const [, , done] = chat.write(prompt("a"), call("b"), result("c"), reply("d"));
		expect(await chat.preview(done as number, "both")).not.toHaveProperty("snappedFrom");
	});
});

describe("a target that is refused", () => {
	test.each([-1, 0.5, 99])("%d is out of range", async (seq) => {
		await using chat = await Chat.open();
		chat.write(prompt("a"));
		await expect(chat.preview(seq, "both")).rejects.toMatchObject({ code: "TIMETRAVEL_OUT_OF_RANGE" });
	});

	test.each(rewindModes)("an abandoned one is for a checkout, not for a rewind: %s", async (mode) => {
		await using chat = await Chat.open();
		const [target, left] = chat.write(prompt("a"), reply("b"));
		await chat.rewind(target as number, "both");
		chat.write(reply("c"));
		const before = await chat.records();
		await expect(chat.preview(left as number, mode)).rejects.toMatchObject({
			code: "TIMETRAVEL_NOT_ACTIVE",
			detail: { seq: left },
		});
		expect(await chat.records()).toEqual(before);
	});

	test("what a mode keeps anyway may have been abandoned: only what it moves has to be on the line", async () => {
		await using chat = await Chat.open({ cycles: false });
		const [start] = chat.write(prompt("a"));
		const [, middle] = chat.write(call("x"), reply("b"), call("y"));
		await chat.rewind(start as number, "conversation_only");
		expect(await chat.told()).toBe("a x y");
		expect(await chat.preview(middle as number, "code_only")).toMatchObject({ kind: "undo", dropped: { all: 1 } });
		for (const mode of ["both", "conversation_only"] as const)
			await expect(chat.preview(middle as number, mode)).rejects.toMatchObject({ code: "TIMETRAVEL_NOT_ACTIVE" });
	});
});
