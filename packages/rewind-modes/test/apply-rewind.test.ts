/** Applying a previewed rewind, in each mode. */
import { reset, resetSettled } from "@reyn/timetravel";
import { describe, expect, test } from "vitest";
import { type Counts, type RewindMode, type RewindPreview, rewindModes, rewindNote } from "../src/index.ts";
import { dropOf, meanings } from "../src/modes.ts";
import { Chat, call, config, facets, main, plan, prompt, reply, result, side } from "./chat.ts";

/** A target, and beyond it one record of each sort and one more of talk. */
async function talked(chat: Chat): Promise<number> {
	const [, target] = chat.write(prompt("a"), reply("b"));
	chat.write(prompt("c"), call("d"), result("e"), config("f"), reply("g"));
	return target as number;
}

describe("a rewind that was previewed", () => {
	test.each([
		["both", "a b", undefined],
		["conversation_only", "a b d e f", facets.conversation],
		["code_only", "a b c f g", facets.code],
	] as const)("of %s leaves %o, by one reset that lists what it drops", async (mode, told, drop) => {
		await using chat = await Chat.open();
		const target = await talked(chat);
		const before = await chat.records();
		const preview = await chat.preview(target, mode);
		const done = await chat.apply(preview);
		const { affected, dropped } = preview;
		expect(done).toEqual({ kind: "reset", seq: preview.tip + 1, target, affected, dropped });
		expect(await chat.told()).toBe(told);

		const all = await chat.records();
		// Originals are never edited.
		expect(all.slice(0, before.length)).toEqual(before);
		const [written, ...more] = all.slice(before.length);
		const counts = { ...preview.affected, dropped: preview.dropped?.all };
		expect(written).toMatchObject({ seq: done.seq, kind: reset.kind, scope: {} });
		expect(written?.data).toEqual({ target, mode, actor: "carol", counts, ...(drop && { drop }) });
		expect(more.map(({ kind }) => kind)).toEqual([resetSettled.kind]);
	});

	test("of one session moves that session", async () => {
		await using chat = await Chat.open();
		const [target] = chat.write(prompt("a"));
		chat.write(reply("b"), plan, call("c"), result("d"), side, prompt("e"));
		await chat.rewind(target as number, "both", main);
		expect([await chat.told(main), await chat.told(side)]).toEqual(["a", "e"]);
	});

	test("that is cancelled writes nothing", async () => {
		await using chat = await Chat.open();
		const target = await talked(chat);
		const before = await chat.records();
		expect(await chat.rewind(target, "cancel")).toMatchObject({ kind: "none", seq: chat.wal.tip, target });
		expect(await chat.records()).toEqual(before);
	});

	test.each(rewindModes)("to the tip writes nothing: %s", async (mode) => {
		await using chat = await Chat.open();
		await talked(chat);
		const before = await chat.records();
		const { tip } = chat.wal;
		expect(await chat.rewind(tip, mode)).toMatchObject({ kind: "none", seq: tip, target: tip, dropped: { all: 0 } });
		expect(await chat.records()).toEqual(before);
	});

	test("goes to the moment that the preview named, where the target was inside a tool cycle", async () => {
		await using chat = await Chat.open();
		chat.write(prompt("a"));
		await chat.checkpoint();
		const [before, inside] = chat.write(prompt("b"), call("c"), result("d"));
		expect(await chat.rewind(inside as number, "both")).toMatchObject({ kind: "reset", target: before });
		expect(await chat.told()).toBe("a b");
	});

	test("writes nothing when the work will not stop", async () => {
		await using chat = await Chat.open({ quiesce: () => Promise.reject(new Error("plan p1 did not stop")) });
		const target = await talked(chat);
		const before = await chat.records();
		await expect(chat.rewind(target, "both")).rejects.toThrow("plan p1 did not stop");
		expect(await chat.records()).toEqual(before);
	});
});

describe("a summary", () => {
	test("is one note in the conversation, and no reset", async () => {
		await using chat = await Chat.open();
		const target = await talked(chat);
		const before = await chat.records();
		const preview = await chat.preview(target, "summarize");
		expect(await chat.apply(preview)).toMatchObject({ kind: "note", seq: preview.tip + 1, target });
		expect(chat.wal.durableTip).toBe(preview.tip + 1);
		expect((await chat.records()).slice(before.length)).toMatchObject([
			{
				seq: preview.tip + 1,
				kind: rewindNote.kind,
				scope: main,
				data: {
					target,
					actor: "carol",
					counts: preview.affected,
					text: `Since seq ${target} there were 2 records of the conversation and 2 records of steps and tool results. They were tried and are kept; go on from the situation at seq ${target}.`,
				},
			},
		]);
		expect(await chat.told()).toBe("a b c d e f g (note)");
	});

	test("may be written by somebody else, who is given the plain one", async () => {
		await using chat = await Chat.open();
		const preview = await chat.preview(await talked(chat), "summarize");
		await chat.apply(preview, { summarize: async (text) => text.toUpperCase() });
		expect(await chat.records(preview.tip)).toMatchObject([
			{ data: { text: expect.stringMatching(/^SINCE SEQ \d+ THERE WERE 2 RECORDS/) } },
		]);
	});

	test("is not written when it cannot be", async () => {
		await using chat = await Chat.open();
		const preview = await chat.preview(await talked(chat), "summarize");
		await expect(chat.apply(preview, { summarize: () => Promise.reject(new Error("no model")) })).rejects.toThrow();
		expect(await chat.records(preview.tip)).toEqual([]);
	});

	test("goes with its conversation when that is rewound", async () => {
		await using chat = await Chat.open();
		const target = await talked(chat);
		await chat.rewind(target, "summarize");
		await chat.rewind(target, "conversation_only");
		expect(await chat.told()).toBe("a b d e f");
	});
});

describe("a preview that the log has moved on from", () => {
	const happenings: Record<string, (chat: Chat) => Promise<unknown>> = {
		"a prompt": async (chat) => chat.write(prompt("x")),
		"a prompt in another session": async (chat) => chat.write(side, prompt("x")),
		"work of a plan": async (chat) => chat.write(plan, call("x")),
		"another rewind": (chat) => chat.rewind(chat.wal.tip - 1, "both"),
		"a rewind to where it was previewed": async (chat) => {
			const { tip } = chat.wal;
			chat.write(prompt("x"));
			await chat.rewind(tip, "both");
		},
		"a note": (chat) => chat.rewind(chat.wal.tip - 1, "summarize"),
	};

	test.each(Object.keys(happenings).flatMap((what) => rewindModes.map((mode) => [what, mode] as const)))(
		"by %s is refused, and nothing is written: %s",
		async (what, mode) => {
			await using chat = await Chat.open({ cycles: false });
			const target = await talked(chat);
			const preview = await chat.preview(target, mode);
			await happenings[what]?.(chat);
			const before = await chat.records();
			await expect(chat.apply(preview)).rejects.toMatchObject({
				code: "REWIND_STALE",
				detail: { previewed: preview.tip, seq: expect.any(Number) },
			});
			expect(await chat.records()).toEqual(before);
		},
	);

	test("may not be applied twice", async () => {
		await using chat = await Chat.open();
		const preview = await chat.preview(await talked(chat), "both");
		await chat.apply(preview);
		await expect(chat.apply(preview)).rejects.toMatchObject({ code: "REWIND_STALE" });
	});

	test("is refused too when it moved while the summary was written", async () => {
		await using chat = await Chat.open();
		const preview = await chat.preview(await talked(chat), "summarize");
		const summarize = async (text: string) => {
			chat.write(prompt("x"));
			return text;
		};
		await expect(chat.apply(preview, { summarize })).rejects.toMatchObject({ code: "REWIND_STALE" });
		expect((await chat.records(preview.tip)).map(({ kind }) => kind)).toEqual(["prompt"]);
	});

	test.each(["both", "conversation_only", "code_only"] as const)(
		"is refused too when something began while work stopped for it: %s",
		async (mode) => {
			let stopping = async (): Promise<void> => {};
			await using chat = await Chat.open({ quiesce: () => stopping() });
			const preview = await chat.preview(await talked(chat), mode);
			stopping = async () => void chat.write(prompt("x"));
			await expect(chat.apply(preview)).rejects.toMatchObject({ code: "REWIND_STALE" });
			expect((await chat.records(preview.tip)).map(({ kind }) => kind)).toEqual(["prompt"]);
		},
	);

	test("that comes while work stops is in what is told, and in what the log keeps", async () => {
		let stopping = async (): Promise<void> => {};
		await using chat = await Chat.open({ cycles: false, begins: ["prompt"], quiesce: () => stopping() });
		const preview = await chat.preview(await talked(chat), "both");
		stopping = async () => void chat.write(result("x"));
		const { seq, dropped } = await chat.apply(preview);
		expect(dropped?.all).toBe((preview.dropped?.all ?? 0) + 1);
		expect((await chat.records(seq - 1))[0]?.data).toMatchObject({ counts: { dropped: dropped?.all } });
	});

	test("is still good in the next process, if nothing happened but its start", async () => {
		await using first = await Chat.open();
		const preview = await first.preview(await talked(first), "both");
		await using chat = await first.reopen();
		expect(chat.wal.tip).toBeGreaterThan(preview.tip);
		expect(await chat.apply(preview)).toMatchObject({ kind: "reset" });
		expect(await chat.told()).toBe("a b");
	});
});

describe("work that goes on after the preview", () => {
	const begins = ["prompt", rewindNote.kind];

	test.each(rewindModes)("is no reason, and the result counts it: %s", async (mode) => {
		await using chat = await Chat.open({ cycles: false, begins });
		const target = await talked(chat);
		const preview = await chat.preview(target, mode);
		chat.write(plan, call("x"), result("y"), side, reply("z"));
		await chat.checkpoint();
		const { tip } = chat.wal;
		const done = await chat.apply(preview);
		const more = { conversation: 1, code: 2, other: 0, all: 3 };
		expect(done.affected).toEqual(sum(preview.affected as Counts, more));
		const { drops } = meanings[mode];
		const goes = (facet: "conversation" | "code") => (drops.includes(facet) ? more[facet] : 0);
		const [conversation, code] = [goes("conversation"), goes("code")];
		expect(done.dropped).toEqual(
			sum(preview.dropped as Counts, { conversation, code, other: 0, all: conversation + code }),
		);
		expect(done.kind).toBe(mode === "cancel" ? "none" : mode === "summarize" ? "note" : "reset");
		expect(done.seq).toBe(mode === "cancel" ? preview.tip : tip + 1);
	});

	test("takes nothing back where the preview was of the tip", async () => {
		await using chat = await Chat.open({ cycles: false, begins });
		await talked(chat);
		const preview = await chat.preview(chat.wal.tip, "both");
		chat.write(plan, call("x"));
		const before = await chat.records();
		expect(await chat.apply(preview)).toMatchObject({ kind: "none", affected: { all: 1 }, dropped: { all: 0 } });
		expect(await chat.records()).toEqual(before);
	});

	test("is counted in a note up to the note", async () => {
		await using chat = await Chat.open({ cycles: false, begins });
		const preview = await chat.preview(await talked(chat), "summarize");
		chat.write(plan, call("x"));
		const { seq } = await chat.apply(preview);
		expect((await chat.records(seq - 1))[0]?.data).toMatchObject({
			counts: { code: 3 },
			text: expect.stringMatching(/there were 2 records of the conversation and 3 records of steps/),
		});
	});

	test.each([
		["a turn", (chat: Chat) => chat.write(prompt("x"))],
		["a note", (chat: Chat) => chat.rewind(1, "summarize")],
		["a rewind", (chat: Chat) => chat.rewind(chat.wal.tip - 1, "code_only", side)],
		["a label", (chat: Chat) => chat.timeline.label(1, "x")],
	])("%s between it is one, in every mode", async (_, come) => {
		for (const mode of rewindModes) {
			await using chat = await Chat.open({ cycles: false, begins });
			const preview = await chat.preview(await talked(chat), mode);
			chat.write(plan, call("x"), side, call("y"), main);
			await come(chat);
			const before = await chat.records();
			await expect(chat.apply(preview), mode).rejects.toMatchObject({
				code: "REWIND_STALE",
				detail: { previewed: preview.tip },
			});
			expect(await chat.records()).toEqual(before);
		}
	});
});

describe("a plan that is no preview", () => {
	const changes: Record<string, (plan: RewindPreview) => object> = {
		"another target": ({ target }) => ({ target: target - 1 }),
		"a target that counts the same": ({ target }) => ({ target: target + 1 }),
		"a target beyond the tip": ({ tip }) => ({ target: tip + 1 }),
		"another mode": ({ mode }) => ({ mode: mode === "both" ? "code_only" : "both" }),
		"another scope": () => ({ scope: side }),
		"other counts": ({ dropped }) => ({ dropped: { ...dropped, all: 99 } }),
		"another kind": () => ({ kind: "fork_switch" }),
		"an older tip": ({ tip }) => ({ tip: tip - 1 }),
		"words of its own": () => ({ summary: ["nothing happens"] }),
		"a seq that it was not snapped from": ({ target }) => ({ snappedFrom: target }),
	};

	test.each(Object.keys(changes).flatMap((what) => rewindModes.map((mode) => [what, mode] as const)))(
		"but has %s is refused, and nothing is written: %s",
		async (what, mode) => {
			const stopped: string[] = [];
			await using chat = await Chat.open({ begins: ["prompt"], quiesce: async () => void stopped.push("work") });
			chat.write(prompt("a"), reply("b"));
			const target = await chat.checkpoint();
			await chat.checkpoint();
			chat.write(prompt("c"), call("d"), result("e"), config("f"), reply("g"));
			const preview = await chat.preview(target, mode);
			const before = await chat.records();
			const made = { ...preview, ...changes[what]?.(preview) } as RewindPreview;
			await expect(chat.apply(made)).rejects.toMatchObject({
				code: "REWIND_NOT_PREVIEWED",
				detail: { target: made.target },
			});
			expect(await chat.records()).toEqual(before);
			expect(stopped).toEqual([]);
			// As JSON it is the same preview.
			expect(await chat.apply(JSON.parse(JSON.stringify(preview)))).toMatchObject({ target });
		},
	);

	const { agent, ...noAgent } = main;
	const broken: Record<string, (plan: RewindPreview) => unknown> = {
		"a scope without its agent": (plan) => ({ ...plan, scope: noAgent }),
		"a scope with half a character": (plan) => ({ ...plan, scope: { agent: `${agent}\ud800` } }),
		"a scope with more in it": (plan) => ({ ...plan, scope: { ...main, realm: "x" } }),
		"no scope": ({ scope: _, ...plan }) => plan,
		"null for its scope": (plan) => ({ ...plan, scope: null }),
		"no tip": ({ tip: _, ...plan }) => plan,
		"a tip that is a text": (plan) => ({ ...plan, tip: String(plan.tip) }),
		"a target that is a text": (plan) => ({ ...plan, target: String(plan.target) }),
		"half a target": (plan) => ({ ...plan, target: plan.target + 0.5 }),
		"no target": ({ target: _, ...plan }) => plan,
		"null for what it was snapped from": (plan) => ({ ...plan, snappedFrom: null }),
		nothing: () => null,
		"a text": () => "plan",
	};

	test.each(Object.keys(broken))("but has, or is, %s is refused", async (what) => {
		await using chat = await Chat.open({ begins: ["prompt"] });
		const preview = await chat.preview(await talked(chat), "code_only", main);
		const before = await chat.records();
		const made = broken[what]?.(preview) as RewindPreview;
		await expect(chat.apply(made)).rejects.toMatchObject({ code: "REWIND_NOT_PREVIEWED" });
		expect(await chat.records()).toEqual(before);
	});

	test("with a lower tip is refused, unless it is word for word what a preview said then: that is one", async () => {
		await using chat = await Chat.open({ begins: ["prompt"] });
		const target = await talked(chat);
		const then = await chat.preview(target, "code_only", main);
		chat.write(side, call("x"), main);
		const now = await chat.preview(target, "code_only", main);
		const lowered = { ...now, tip: now.tip - 1 };
		expect(lowered).toEqual(then);
		chat.write(call("y"));
		const later = await chat.preview(target, "code_only", main);
		await expect(chat.apply({ ...later, tip: later.tip - 1 })).rejects.toMatchObject({ code: "REWIND_NOT_PREVIEWED" });
		// What began since the lower tip speaks against it too.
		expect(await chat.apply(lowered)).toMatchObject({ kind: "reset", target });
	});

	test("is known by where it was snapped from", async () => {
		await using chat = await Chat.open();
		chat.write(prompt("a"));
		await chat.checkpoint();
		const [, inside] = chat.write(prompt("b"), call("c"), result("d"));
		const { snappedFrom, ...preview } = await chat.preview(inside as number, "both");
		expect(snappedFrom).toBe(inside);
		await expect(chat.apply(preview)).rejects.toMatchObject({ code: "REWIND_NOT_PREVIEWED" });
	});
});

describe("a mode that there is not", () => {
	test.each(["sideways", "constructor", "toString", "", undefined as unknown as string])(
		"%j is refused with those that there are, in a preview and in an apply",
		async (name) => {
			await using chat = await Chat.open();
			const target = await talked(chat);
			const before = await chat.records();
			const mode = name as RewindMode;
			const refused = { code: "REWIND_MODE", message: expect.stringContaining(rewindModes.join(", ")) };
			const preview = await chat.preview(target, "both");
			await expect(chat.apply({ ...preview, mode })).rejects.toMatchObject(refused);
			if (name !== undefined) await expect(chat.preview(target, mode)).rejects.toMatchObject(refused);
			expect(() => dropOf(mode, facets)).toThrow(rewindModes.join(", "));
			expect(await chat.records()).toEqual(before);
		},
	);
});

test.each(["", " ", "x".repeat(257), "x".repeat(100_000)])(
	"nobody, and one with too long a name, rewinds nothing",
	async (actor) => {
		for (const mode of rewindModes) {
			await using chat = await Chat.open();
			const preview = await chat.preview(await talked(chat), mode);
			const before = await chat.records();
			await expect(chat.apply(preview, { actor })).rejects.toMatchObject({ code: "TIMETRAVEL_ACTOR" });
			expect(await chat.records()).toEqual(before);
		}
	},
);

function sum(a: Counts, b: Counts): Counts {
	const { conversation, code, other, all } = a;
	return {
		conversation: conversation + b.conversation,
		code: code + b.code,
		other: other + b.other,
		all: all + b.all,
	};
}

describe("after a partial rewind", () => {
	/** The conversation went back to "a", the work went on. */
	async function parted(chat: Chat): Promise<readonly number[]> {
		const seqs = chat.write(prompt("a"), call("w"), reply("b"), call("x"), reply("c"), call("y"));
		await chat.rewind(seqs[0] as number, "conversation_only");
		chat.write(reply("d"), call("z"));
		expect(await chat.told()).toBe("a w x y d z");
		return seqs;
	}

	test("a whole one to before it takes what it had kept, and counts just that", async () => {
		await using chat = await Chat.open({ cycles: false });
		const [a] = await parted(chat);
		const preview = await chat.preview(a as number, "both");
		expect(preview.dropped).toEqual({ conversation: 1, code: 4, other: 0, all: 5 });
		await chat.apply(preview);
		expect(await chat.told()).toBe("a");
	});

	test("a whole one to after it keeps what it had kept, and what it dropped stays dropped", async () => {
		await using chat = await Chat.open({ cycles: false });
		await parted(chat);
		const d = chat.wal.tip - 1;
		const preview = await chat.preview(d, "both");
		expect(preview.dropped).toEqual({ conversation: 0, code: 1, other: 0, all: 1 });
		await chat.apply(preview);
		expect(await chat.told()).toBe("a w x y d");
	});

	test("the other half goes back to a seq of its own line", async () => {
		await using chat = await Chat.open({ cycles: false });
		const [, , , x] = await parted(chat);
		await chat.rewind(x as number, "code_only");
		expect(await chat.told()).toBe("a w x d");
	});

	test("the next process sees the same", async () => {
		await using first = await Chat.open({ cycles: false });
		await parted(first);
		await using chat = await first.reopen();
		expect(await chat.told()).toBe("a w x y d z");
	});
});
