/** A failure is told the same in the life that it happened in and in all later ones, whatever was thrown. */
import { memoryEngine } from "@reyn/wal";
import { expect, test } from "vitest";
import { type Lane, openJournal, runProgram, type Step } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const coded = (more: object): Error => Object.assign(new Error("no"), more);

const thrown: Record<string, () => unknown> = {
	"an exit status as its code": () => coded({ code: 3 }),
	"the code of a DOMException": () => new DOMException("no", "AbortError"),
	"a code that JSON does not have": () => coded({ code: Number.NaN }),
	"a code that is an object": () => coded({ code: { status: 3 } }),
	"a detail with a date": () => coded({ detail: { at: new Date(0) } }),
	"a detail with bytes": () => coded({ detail: { bytes: new Uint8Array([1, 2]) } }),
	"a detail with what JSON leaves out": () => coded({ detail: { none: undefined, minus: -0 } }),
	"a detail of a class": () =>
		coded({
			detail: new (class Detail {
				at = 1;
			})(),
		}),
	"half a character in its message": () => new Error("the hall is closed \ud83d"),
	"a message that is cut in the middle of a character": () => new Error(`${"x".repeat(32 * 1024 - 1)}\u{1f6a7}`),
	"half a character in its code": () => coded({ code: "E\udea7" }),
	"half a character in its name": () => Object.assign(new Error("no"), { name: "Closed\ud83d" }),
	"half a character in its detail": () => coded({ detail: { "\udea7": ["\ud83d"] } }),
	"half a character in a text": () => "closed \ud83d",
	"a detail as it is written": () => coded({ code: "X", detail: { list: [1, null, "a"] } }),
};

test.each(Object.entries(thrown))("%s", async (_, make) => {
	const fails: Step<never> = {
		kind: "step",
		name: "fails",
		args: {},
		purity: "side_effect",
		call: () => Promise.reject(make()),
	};
	const told: unknown[] = [];
	const body = async (lane: Lane): Promise<void> => {
		await lane.perform(fails).catch(({ message, code, name, detail }) => told.push({ message, code, name, detail }));
	};
	const log = new DyingLog();
	for (let life = 0; life < 3; life++) await runProgram("p", scope, using(log, {}), body);
	expect(told[1]).toStrictEqual(told[0]);
	expect(told[2]).toStrictEqual(told[0]);
	expect(log.kinds.filter((kind) => kind === "step_failed")).toHaveLength(1);
	const { code } = make() as { code?: unknown };
	if (typeof code === "number" && Number.isFinite(code)) expect(told[0]).toMatchObject({ code });
});

test.each(["message", "code", "name"])("a call that rests on half a character in a %s is made once", async (field) => {
	const engine = memoryEngine();
	const heard: unknown[] = [];
	for (let life = 0; life < 3; life++) {
		await using journal = await openJournal(engine);
		const pay = (): never => {
			throw Object.assign(new Error("no"), { [field]: "the hall is closed \u{1f6a7}".slice(0, 20) });
		};
		const why = await journal.step("pay", pay).catch((error) => error[field]);
		await journal.step("tell", () => heard.push(why), { args: { why } });
	}
	expect(heard).toEqual(["the hall is closed \ufffd"]);
});

const oddEnds: Record<string, (error: unknown) => unknown> = {
	"the failure itself": (error) => error,
	"another error in its place": () => new Error("no payment"),
	"another error, with the failure as its cause": (cause) => new Error("no payment", { cause }),
	nothing: () => undefined,
	"an error with a chain of causes": () => {
		let error = new Error("0");
		for (let i = 0; i < 20_000; i++) error = new Error(String(i), { cause: error });
		return error;
	},
	"a Proxy whose traps throw": () =>
		new Proxy(new Error("p"), {
			get() {
				throw new Error("trap");
			},
		}),
	"a Proxy that is revoked": () => {
		const { proxy, revoke } = Proxy.revocable({}, {});
		revoke();
		return proxy;
	},
};

const purities = ["side_effect", "external", "llm", "world"] as const;

test.each(Object.entries(oddEnds).flatMap(([name, end]) => purities.map((purity) => [name, purity, end] as const)))(
	"a program ended by %s: the %s call that failed before is made again when it is run again",
	async (_, purity, end) => {
		const log = new DyingLog();
		let life = 0;
		const pay: Step<string> = {
			kind: "step",
			name: "pay",
			args: {},
			purity,
			async call() {
				if (++life === 1) throw new Error("down");
				return "paid";
			},
		};
		const body = (lane: Lane): Promise<string> =>
			lane.perform(pay).catch((error) => {
				throw end(error);
			});
		const ran = runProgram("p", scope, using(log, {}), body);
		expect(await ran.then(() => "returned").catch(() => "threw")).toBe("threw");
		expect(log.kinds).toContain("lane_failed");
		expect(await runProgram("p", scope, using(log, {}), body)).toBe("paid");
		expect(await runProgram("p", scope, using(log, {}), body)).toBe("paid");
		// The world is asked in each life.
		expect(life).toBe(purity === "world" ? 3 : 2);
	},
);

test.each([1, 2, 3])(
	"what is made between a failure and its end, and fails too, is asked for anew with it: %d failures",
	async (fails) => {
		const calls: string[] = [];
		const step = (name: string, failures = 0): Step<string> => ({
			...{ kind: "step", name, args: {}, purity: "side_effect" },
			async call() {
				calls.push(name);
				if (calls.filter((each) => each === name).length <= failures) throw new Error("no");
				return name;
			},
		});
		const body = async (lane: Lane): Promise<string> => {
			try {
				await lane.perform(step("pay", fails));
			} catch (error) {
				await lane.perform(step("mend", 1)).catch(() => {});
				throw error;
			}
			const [shipped] = await Promise.all([lane.perform(step("ship")), lane.perform(step("tell"))]);
			return shipped;
		};
		const log = new DyingLog();
		const ends: unknown[] = [];
		for (let life = 0; life <= fails + 1; life++)
			ends.push(await runProgram("p", scope, using(log, {}), body).catch(({ message }: Error) => message));
		expect(ends).toEqual([...Array(fails).fill("no"), "ship", "ship"]);
		expect(calls.filter((name) => name === "ship")).toHaveLength(1);
		expect(calls.filter((name) => name === "pay")).toHaveLength(fails + 1);
		expect(calls.filter((name) => name === "mend")).toHaveLength(Math.min(fails, 2));
	},
);
