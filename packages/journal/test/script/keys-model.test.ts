/**
 * Random histories of a script run: programs, edits, kills, branches that end in any order; against a model that keeps the whole
 * history of each call as text. `REYN_RUNS` sets how many are told, `REYN_SEED` which.
 */
import { setImmediate } from "node:timers/promises";
import { canonicalJson, type WalRecord } from "@reyn/wal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { histories } from "../../../../tests/sample.ts";
import { innerLane } from "../../src/entry.ts";
import type { Step } from "../../src/index.ts";
import { Branches, isInner } from "../../src/script/branches.ts";
import { type Reuse, runScript, scriptResumed, scriptStarted } from "../../src/script/index.ts";
import { loadScript } from "../../src/script/load.ts";
import { callsOf, type NaiveCall, type NaiveEntry, NaiveMemory, placeOf } from "./naive-keys.ts";
import { anyEdit, anyProgram, type Calls, type Edit, edited, follow, type Program, sourceOf } from "./programs.ts";
import { type Ended, echo, Log, Process, run, scope, writer } from "./script-process.ts";

const { numRuns: RUNS, seed } = histories(40, 500);

/** One life of a process. */
interface Life {
	readonly edits: readonly Edit[];
	/** Does it take the last edits back? */
	readonly goesBack: boolean;
	readonly reuse: Reuse;
	/** Appends that it lives for; undefined: it is not killed. */
	readonly appends: number | undefined;
	/** After how many turns of the event loop each call is answered. */
	readonly delays: readonly number[];
	/** What the log has lost before: so many of its last records, or every so many-th one in its middle. */
	readonly tears: number;
	readonly loses: number | undefined;
}

const anyLife = (more: Partial<{ [Key in keyof Life]: fc.Arbitrary<Life[Key]> }> = {}): fc.Arbitrary<Life> =>
	fc.record<Life>({
		edits: fc.oneof(fc.constant([]), fc.array(anyEdit, { minLength: 1, maxLength: 2 })),
		goesBack: fc.constantFrom(false, false, false, true),
		reuse: fc.constant("prefix"),
		appends: fc.option(fc.nat(12), { nil: undefined }),
		delays: fc.array(fc.nat(3), { minLength: 1, maxLength: 7 }),
		tears: fc.constantFrom(0, 0, 0, 1, 2, 5),
		loses: fc.option(fc.integer({ min: 2, max: 4 }), { nil: undefined, freq: 1 }),
		...more,
	});

/** How a program is run in a process. */
type Runner = (
	process: Process,
	program: Program,
	how: { reuse: Reuse },
	answer: () => Promise<string>,
) => Promise<Ended>;

/** Over the lanes themselves, in the way in which the realm of a script uses them. */
const overBranches: Runner = (process, program, how, answer) => {
	process.begin({ script: canonicalJson(program) }, how);
	const branches = new Branches(run, scope, process.ports);
	const perform = (step: Pick<Step<string>, "kind" | "args" | "purity">, what: string): Promise<string> => {
		branches.current.joinEnded();
		return branches.current.lane.perform({
			...step,
			name: step.kind,
			call: async () => {
				process.assertAlive();
				process.made.push(what);
				return answer();
			},
		});
	};
	const fork = async (kind: string, name: string, bodies: readonly (() => Promise<unknown>)[]): Promise<unknown[]> => {
		const at = branches.fork(kind, name, bodies.length);
		const ends = await Promise.allSettled(bodies.map((body, i) => branches.enter(at, i, body)));
		branches.join(at);
		return ends.map((end) => {
			if (end.status === "rejected") throw end.reason;
			return end.value;
		});
	};
	const calls: Calls = {
		agent: (text) => perform({ kind: "agent", args: { text }, purity: "llm" }, text),
		write: (text) =>
			perform({ kind: "write", args: { text }, purity: "side_effect" }, `write ${JSON.stringify({ text })}`),
		parallel: (tasks) => fork("parallel", "", tasks),
		pipeline: (items, ...stages) =>
			fork(
				"pipeline",
				"",
				items.map((item) => async () => {
					let previous: unknown = item;
					for (const stage of stages) previous = await stage(previous);
					return previous;
				}),
			),
		phase: async (name, body) => (await fork("phase", name, [body]))[0],
		together: (begin) => Promise.all(begin.map((each) => each())),
	};
	return process.end(() => follow(program, calls));
};

/** As a script, in a realm of its own. */
const asScript: Runner = (process, program, how) => {
	const module = loadScript(sourceOf(program), "s.ts");
	process.begin(module.version, how);
	return process.end(() => runScript(module, run, {}, scope, process.ports));
};

/** A run over several lives, and what the model knows of it. */
class History {
	readonly log = new Log();
	/** By seq of its record. */
	readonly #entries = new Map<number, NaiveEntry>();
	readonly #runner: Runner;
	#versions: readonly Program[];
	/** Those that were run to their end, and of which nothing was lost since. */
	#ended: readonly string[] = [];
	#lives = 0;
	#answers = 0;

	constructor(runner: Runner, program: Program) {
		this.#runner = runner;
		this.#versions = [program];
	}

	get program(): Program {
		return this.#versions.at(-1) as Program;
	}

	/** @returns how many calls were made */
	async live({ edits, goesBack, reuse, appends, delays, tears, loses }: Life): Promise<number> {
		if (goesBack && this.#versions.length > 1) this.#versions = this.#versions.slice(0, -1);
		else if (edits.length > 0) this.#versions = [...this.#versions, edits.reduce(edited, this.program)];
		if (tears > 0 && this.#lives > 0) this.log.tear(tears);
		if (loses !== undefined) this.log.lose((record, i) => (i + tears) % loses === 0 && record.kind.startsWith("step_"));
		if (tears > 0 || loses !== undefined) this.#ended = [];
		const life = ++this.#lives;
		let answered = 0;
		const answer = async (): Promise<string> => {
			const n = answered++;
			const turns = delays[n % delays.length] as number;
			for (let i = 0; i < turns; i++) await setImmediate();
			// Whoever asks again is told something else.
			return `${life}.${n}`;
		};
		const process = new Process({
			log: this.log,
			...(appends === undefined ? {} : { appends }),
			isTorn: true,
			model: echo(answer),
			tools: [writer(answer)],
		});
		const last = this.log.records.at(-1)?.seq ?? 0;
		const ended = await this.#runner(process, this.program, { reuse }, answer);
		await this.#judge(process, ended, last, reuse);
		const text = canonicalJson(this.program);
		if (this.#ended.includes(text)) expect(process.made).toEqual([]);
		if (!process.isDead) this.#ended = [...this.#ended, text];
		return process.made.length;
	}

	async #judge(process: Process, ended: Ended, last: number, reuse: Reuse): Promise<void> {
		if (!process.isDead) expect(ended).toMatchObject({ status: "completed" });
		const { revisions, texts } = this.#revisions();
		const revision = texts.length;
		const { records } = this.log;
		const answers = answersIn(records.filter((_, i) => revisions[i] === revision));
		const { calls, result } = await callsOf(this.program, answers);
		const memory = new NaiveMemory(
			records.flatMap(({ seq }) => (seq <= last ? (this.#entries.get(seq) ?? []) : [])),
			texts,
			reuse,
		);
		const expected: string[] = [];
		const met = new Map<string, { readonly call: NaiveCall; readonly answer: number }>();
		for (const { id } of process.recalled) {
			if (isInner(id.lane)) continue;
			const place = placeOf(id.lane, id.place?.at ?? -1);
			// A step in doubt is looked up again when its start is durable.
			if (met.has(place)) continue;
			const call = calls.get(place);
			if (!call) throw new Error(`the model knows no call at ${place}; there are ${[...calls.keys()]}`);
			const known = memory.take(call);
			if (known) expect(answers.get(place) ?? known.text).toBe(known.text);
			else expected.push(call.what);
			const answer = known?.id ?? ++this.#answers;
			met.set(place, { call, answer });
			met.set(innerLane(id), { call, answer });
		}
		if (process.isDead) {
			expect(beyond(process.made, expected)).toEqual([]);
		} else {
			expect(process.made.toSorted()).toEqual(expected.toSorted());
			expect([...calls.keys()].every((place) => met.has(place))).toBe(true);
			expect(ended).toEqual({ status: "completed", result });
		}
		// Seqs of a tail that was torn off are given again.
		for (const seq of this.#entries.keys()) if (seq > last) this.#entries.delete(seq);
		for (const record of records) {
			const { seq, kind, data } = record as typeof record & Completed;
			if (seq <= last || !kind.startsWith("step_")) continue;
			const part = met.get(data.lane);
			const found = part ?? met.get(placeOf(data.lane, data.place.at));
			if (!found) throw new Error(`the model knows nothing of #${seq} in ${data.lane}`);
			const { call, answer: id } = found;
			const answer = kind === "step_started" ? undefined : { id, text: textOf(data.result) };
			this.#entries.set(seq, { revision, call, isPart: part !== undefined, answer });
		}
	}

	/** For each record the revision that it is in, the span of one text; and of each revision that. */
	#revisions(): { readonly revisions: readonly number[]; readonly texts: readonly string[] } {
		const texts: string[] = [];
		const revisions = this.log.records.map((record) => {
			if (scriptStarted.is(record) || scriptResumed.is(record)) {
				const { script } = record.data as { script: string };
				if (script !== texts.at(-1)) texts.push(script);
			}
			return texts.length;
		});
		return { revisions, texts };
	}
}

/** What is in the one list and not, or less often, in the other. */
function beyond(some: readonly string[], all: readonly string[]): readonly string[] {
	const left = [...all];
	return some.filter((each) => {
		const i = left.indexOf(each);
		if (i >= 0) left.splice(i, 1);
		return i < 0;
	});
}

/** What the calls of a script were told, by place. */
function answersIn(records: readonly WalRecord[]): ReadonlyMap<string, string> {
	const answers = new Map<string, string>();
	for (const { kind, data } of records) {
		const { lane, place, result } = data as Completed["data"];
		if (kind === "step_completed" && !isInner(lane)) answers.set(placeOf(lane, place.at), textOf(result));
	}
	return answers;
}

interface Completed {
	readonly data: {
		readonly lane: string;
		readonly place: { readonly at: number };
		/** Of a tool, an agent or a model. */
		readonly result: string | { readonly value: string } | { readonly text: string };
	};
}

function textOf(result: Completed["data"]["result"]): string {
	if (typeof result === "string") return result;
	return "value" in result ? result.value : result.text;
}

const calm: Life = {
	edits: [],
	goesBack: false,
	reuse: "prefix",
	appends: undefined,
	delays: [0],
	tears: 0,
	loses: undefined,
};

/** Tells a history, and then twice how it ends. */
async function tell(runner: Runner, program: Program, lives: readonly Life[]): Promise<void> {
	const history = new History(runner, program);
	for (const life of lives) await history.live(life);
	const { reuse } = lives.at(-1) ?? calm;
	await history.live({ ...calm, reuse });
	expect(await history.live({ ...calm, reuse, delays: [2, 0, 1] })).toBe(0);
}

describe.each([
	["over lanes", overBranches, RUNS],
	["as scripts", asScript, Math.ceil(RUNS / 15)],
])("%s", (_, runner, numRuns) => {
	test("exactly the calls are made whose history is not recorded", async () => {
		const lives = fc.array(anyLife(), { minLength: 1, maxLength: 5 });
		await fc.assert(
			fc.asyncProperty(anyProgram, lives, (program, lives) => tell(runner, program, lives)),
			{ numRuns, seed },
		);
	});

	test("with reuse by content an answer stands for one call of a revision, and an effect is made again where another went before", async () => {
		const reuse = fc.constantFrom<Reuse>("prefix", "content", "content", "content");
		const lives = fc.array(anyLife({ reuse, loses: fc.constant(undefined) }), { minLength: 1, maxLength: 4 });
		await fc.assert(
			fc.asyncProperty(anyProgram, lives, (program, lives) => tell(runner, program, lives)),
			{ numRuns, seed },
		);
	});
});
