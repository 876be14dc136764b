/** Phases whose branches share what they find: run to their end, cut there, and run again. */
import { setImmediate } from "node:timers/promises";
import type { Model, Purity } from "@reyn/journal";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineSkill, done, type PhaseContext, type Skill } from "../../src/index.ts";
import { Process, type ProcessOptions, question } from "../skill-process.ts";

/** What the far side says of each text, and after how many turns of the event loop. An error is thrown. */
type Says = (text: string, life: number) => { readonly turns?: number; readonly says?: string | Error } | undefined;

type Body = (calls: Calls) => Promise<unknown>;

interface Calls {
	model(text: string): Promise<string>;
	mail(text: string): Promise<string>;
	look(text: string): Promise<string>;
	count(text: string): Promise<string>;
	/** A call that makes a mail. */
	inside(text: string, mail: string): Promise<string>;
}

/** One phase over several lives; it sees nothing but what it calls. */
class Run implements AsyncDisposable {
	readonly #says: Says;
	#process: Process | undefined;
	#life = 0;
	/** What this life has called. */
	made: string[] = [];

	constructor(says: Says) {
		this.#says = says;
	}

	async live(body: Body, options: ProcessOptions = {}): Promise<unknown> {
		const life = ++this.#life;
		this.made = [];
		const answer = async (text: string): Promise<string> => {
			this.made.push(text);
			const { turns = 1, says = `${text}!` } = this.#says(text, life) ?? {};
			for (let turn = 0; turn < 5 * turns; turn++) await setImmediate();
			if (says instanceof Error) throw says;
			return says;
		};
		const model: Model = {
			id: "far",
			async *generate({ messages: [first] }) {
				yield { type: "text", text: await answer(first?.role === "user" ? first.text : "") };
				yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
			},
		};
		this.#process = await (this.#process?.next({ model, ...options }) ?? Process.start({ model, ...options }));
		return this.#process.work(skillOf(body, answer));
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#process?.[Symbol.asyncDispose]();
	}
}

function skillOf(body: Body, answer: (text: string) => Promise<string>): Skill<unknown> {
	const callsOf = ({ model, step }: PhaseContext): Calls => {
		const named = (name: string, purity: Purity) => (text: string) =>
			step(name, () => answer(`${name} ${text}`), { args: { text }, purity });
		return {
			model: async (text) => (await model(question(text))).text,
			mail: named("mail", "side_effect"),
			look: named("look", "world"),
			count: named("count", "pure"),
			inside: (text, mail) =>
				step(
					"inside",
					({ lane }) =>
						lane.perform<string>({
							kind: "step",
							name: "mail",
							args: { mail },
							purity: "side_effect",
							call: () => answer(`mail ${mail}`),
							empty: "",
						}),
					{ args: { text }, purity: "llm" },
				),
		};
	};
	return defineSkill({
		name: "report",
		description: "Writes a report.",
		input: z.unknown(),
		start: "write",
		phases: { write: async (context) => done(await body(callsOf(context))) },
	});
}

/** Cut before the phase was completed, and run again: the same end, and nothing is called but what is allowed. */
async function expectRecalled(body: Body, says: Says, allowed: readonly string[] = []): Promise<void> {
	await using whole = new Run(says);
	let ended: unknown;
	const noted: Body = async (calls) => (ended = await body(calls));
	const cut: Body = async (calls) => {
		await noted(calls);
		throw new Error("killed");
	};
	await expect(whole.live(cut)).rejects.toThrow("killed");
	const result = ended;
	expect(await whole.live(noted)).toEqual(result);
	expect(whole.made.filter((text) => !allowed.includes(text))).toEqual([]);
}

const together =
	(...branches: readonly ((calls: Calls) => Promise<string>)[]): Body =>
	async (calls) => {
		const found: string[] = [];
		await Promise.all(branches.map(async (branch) => found.push(await branch(calls))));
		await calls.mail(found.join());
		return calls.model(`sum up ${found.join()}`);
	};

const says =
	(all: Readonly<Record<string, ReturnType<Says>>>): Says =>
	(text) =>
		all[text];

describe("a phase that runs again recalls", () => {
	test("calls in the order in which they ended", async () => {
		await expectRecalled(
			together(
				({ model }) => model("a"),
				({ model }) => model("b"),
				({ model }) => model("c"),
			),
			says({ a: { turns: 30 }, b: { turns: 20 }, c: { turns: 10 } }),
		);
	});

	test("chains of calls that overlap", async () => {
		const chain =
			(name: string) =>
			async ({ model, mail }: Calls) =>
				mail(await model(name));
		await expectRecalled(
			together(chain("a"), chain("b"), chain("c")),
			says({ a: { turns: 30 }, b: { turns: 20 }, c: { turns: 10 }, "mail b!": { turns: 25 } }),
		);
	});

	test("a failure of the model that it caught", async () => {
		await expectRecalled(
			async ({ model, mail }) => {
				const heard = await model("a").catch(() => "nothing");
				await mail(heard);
				return model(`sum up ${heard}`);
			},
			(text, life) => (text === "a" && life === 1 ? { says: new Error("overloaded") } : undefined),
		);
	});

	test("an effect that failed and was tried again by a loop of its own", async () => {
		let failures = 1;
		await expectRecalled(
			async ({ model, mail }) => {
				for (let i = 0; i < 3; i++) {
					try {
						await mail("a");
						break;
					} catch {}
				}
				return model("sum up");
			},
			(text) =>
				text === "mail a" && failures-- > 0
					? { says: Object.assign(new Error("busy"), { retryable: true }) }
					: undefined,
		);
	});

	test("what the world said beside a call, in its place", async () => {
		const slower: Says = (text, life) => ({ turns: text === "look a" ? life * 10 : 15 });
		const body: Body = async ({ look, model }) => {
			const found: string[] = [];
			await Promise.all([look("a"), model("b")].map(async (call) => found.push(await call)));
			return model(`sum up ${found.join()}`);
		};
		await expectRecalled(body, slower, ["look a"]);
	});

	test("a pure call beside others", async () => {
		await expectRecalled(
			together(
				({ model }) => model("a"),
				({ count }) => count("b"),
				({ model }) => model("c"),
			),
			says({ a: { turns: 20 }, c: { turns: 10 } }),
			["count b"],
		);
	});

	test("who came first", async () => {
		await expectRecalled(
			async ({ model, mail }) => {
				const calls = [model("a"), model("b"), model("c")];
				const first = await Promise.race(calls);
				await mail(first);
				await Promise.all(calls);
				return model(`sum up ${first}`);
			},
			says({ a: { turns: 30 }, b: { turns: 10 }, c: { turns: 20 } }),
		);
	});
});

describe("a phase that has failed and is run again", () => {
	test("makes the call that ended it again, and none that a later one rests on", async () => {
		await using run = new Run((text, life) =>
			life === 1 && text !== "mail nothing" ? { says: new Error("overloaded") } : undefined,
		);
		const body: Body = async ({ model, mail }) => {
			const heard = await model("a").catch(() => "nothing");
			await mail(heard);
			return model("b");
		};
		await expect(run.live(body)).rejects.toThrow("overloaded");
		expect([await run.live(body), run.made]).toEqual(["b!", ["b"]]);
	});

	test("makes a call again that only its last words rest on, in the process where it failed and in the next", async () => {
		await using run = new Run((_, life) => (life < 3 ? { says: new Error("overloaded") } : undefined));
		const body: Body = ({ model }) => model("a");
		for (let life = 1; life < 3; life++) {
			await expect(run.live(body)).rejects.toThrow("overloaded");
			expect(run.made).toEqual(["a"]);
		}
		expect([await run.live(body), run.made]).toEqual(["a!", ["a"]]);
	});

	test("killed before the failure was told, it is as if the call had not ended", async () => {
		// The run, the phase, and then nothing more reaches the log.
		await using run = new Run((text, life) => (life === 1 ? { says: new Error("overloaded") } : { says: `${text}?` }));
		const body: Body = ({ model }) => model("a").catch(() => "nothing");
		await run.live(body, { appends: 2 }).catch(() => undefined);
		expect([await run.live(body), run.made]).toEqual(["a?", ["a"]]);
	});

	test("has not begun what waited when it failed", async () => {
		const failed = { says: new Error("no network") };
		await using run = new Run((text) => ({ turns: 0, ...(text === "look b" ? failed : {}) }));
		const body: Body = ({ look, mail }) => Promise.all([look("a").then(mail), look("b")]);
		await expect(run.live(body)).rejects.toThrow("no network");
		for (let turn = 0; turn < 50; turn++) await setImmediate();
		expect(run.made).toEqual(["look a", "look b"]);
	});

	test("makes the call again that ended it, whatever its other branches did meanwhile", async () => {
		await using run = new Run((text, life) =>
			text === "a" ? { turns: 10, ...(life < 3 ? { says: new Error("overloaded") } : {}) } : undefined,
		);
		const body: Body = async ({ model }) => {
			const chain = async (): Promise<string> => {
				let last = "b";
				for (let i = 0; i < 40; i++) last = await model(`b${i}`);
				return last;
			};
			const ended = await Promise.allSettled([model("a"), chain()]);
			return ended.map((each) => {
				if (each.status === "rejected") throw each.reason;
				return each.value;
			});
		};
		await expect(run.live(body)).rejects.toThrow("overloaded");
		expect(run.made).toHaveLength(41);
		await expect(run.live(body)).rejects.toThrow("overloaded");
		expect(run.made).toEqual(["a"]);
		expect([await run.live(body), run.made]).toEqual([["a!", "b39!"], ["a"]]);
	});

	test("makes no effect again inside a call on its way out that asks with what it knows now", async () => {
		await using run = new Run((text, life) => (life === 1 && text === "a" ? { says: new Error("no") } : undefined));
		const body: Body = async ({ model, inside }) => {
			let found = "nothing";
			try {
				found = await model("a");
			} finally {
				await inside(found, "to all");
			}
			return model("c");
		};
		await expect(run.live(body)).rejects.toThrow("no");
		expect(run.made).toEqual(["a", "mail to all"]);
		await expect(run.live(body)).rejects.toMatchObject({ code: "REPLAY_DIVERGENCE" });
		expect(run.made).toEqual(["a"]);
	});

	test("makes no effect again inside a call that asks with what it knows now", async () => {
		await using run = new Run((text, life) => (life === 1 && text === "a" ? { says: new Error("no") } : undefined));
		const body: Body = async ({ model, inside }) => {
			const found: string[] = [];
			const first = model("a").then((said) => void found.push(said));
			await Promise.allSettled([first, model("b")]);
			await inside(found.join(), "to all");
			await first;
			return model("c");
		};
		await expect(run.live(body)).rejects.toThrow("no");
		expect(run.made).toEqual(["a", "b", "mail to all"]);
		await expect(run.live(body)).rejects.toMatchObject({ code: "REPLAY_DIVERGENCE" });
		expect(run.made).toEqual(["a"]);
	});
});
