/**
 * What a preview says is to be paid is paid: random scripts are cut, edited, previewed and resumed. Each call has a price of its own,
 * whatever its arguments, so that a price of another call is seen.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../../tests/sample.ts";
import type { Explanation } from "../../src/script/index.ts";
import { idOf } from "./far-side.ts";
import type { Life } from "./life.ts";
import { anyProgram, type Call, callsOf, mapBodies, mapParts, type Part, type Program, plainCall } from "./program.ts";
import { preview, type Scripts, scripts } from "./script-form.ts";

const { REYN_RUNS } = process.env;
const { numRuns: RUNS, seed: SEED } = histories(15, 50);
const LONG = 3_600_000;

interface Edit {
	readonly type: "insert" | "delete" | "change" | "swap";
	/** Which list of parts, and where in it. */
	readonly list: number;
	readonly at: number;
	readonly uses: Call["uses"];
}

interface History {
	readonly program: Program;
	readonly delays: readonly (readonly number[])[];
	/** Where each life but the last is cut, as a part of its records, and what is edited then. */
	readonly lives: readonly { readonly cut: number; readonly edits: readonly Edit[] }[];
	readonly reuse: "prefix" | "content";
	readonly policy: "retry" | "skip";
	/** Was there a whole run before, of the script with these edits? */
	readonly earlier: readonly Edit[] | undefined;
	/** Which calls say what they cost, by turns. */
	readonly declared: readonly boolean[];
}

const anyEdit: fc.Arbitrary<Edit> = fc.record({
	type: fc.constantFrom("insert", "delete", "change", "swap"),
	list: fc.nat(30),
	at: fc.nat(10),
	uses: fc.constantFrom("nothing", "last", "shared"),
});
const edits = fc.array(anyEdit, { maxLength: 3 });
const delays = fc.array(fc.nat(12), { minLength: 1, maxLength: 7 });

const anyHistory: fc.Arbitrary<History> = fc.record({
	program: anyProgram.map(calm),
	delays: fc.tuple(delays, delays, delays),
	lives: fc.array(fc.record({ cut: fc.double({ min: 0, max: 1, noNaN: true }), edits }), {
		minLength: 1,
		maxLength: 2,
	}),
	reuse: fc.constantFrom("prefix", "prefix", "content"),
	policy: fc.constantFrom("retry", "skip"),
	earlier: fc.option(edits, { nil: undefined }),
	declared: fc.constantFrom([true], [true], [true, false], [true, true, false], [false]),
});

/**
 * The program without what makes a preview guess: calls that fail only in a later life, and branches that go on when the script
 * is over, which may be cut before they have paid.
 */
function calm(program: Program): Program {
	const settled = (call: Call): Call => ({
		...call,
		fails: call.fails === "in the first life" || call.kind === "count" ? call.fails : "never",
	});
	return mapParts(program, (part): Part => {
		switch (part.type) {
			case "call":
				return settled(part);
			case "loop":
				return { ...part, call: settled(part.call) };
			case "first":
				return { type: "all", form: "lanes", branches: part.branches };
			case "all":
				return { ...part, form: part.form === "fast" ? "lane" : part.form };
			default:
				return part;
		}
	});
}

/** What one answer of a model costs, by the call that it is for. */
const priceOf = (id: string): number => 3 + ((Number(id.slice(1)) * 37 + (id.startsWith("n") ? 100 : 0)) % 211);

/** Each model's call with its price, which some declare. */
function priced(program: Program, declared: readonly boolean[]): Program {
	const withPrice = <T extends Call | { readonly type: "nested"; readonly id: string }>(call: T): T => {
		const tokens = priceOf(call.id);
		const whole = call.type === "nested" ? 2 * tokens : tokens;
		const isDeclared = declared[Number(call.id.slice(1)) % declared.length];
		return { ...call, tokens, ...(isDeclared ? { estimate: whole } : {}) };
	};
	return mapParts(program, (part): Part => {
		if (part.type === "loop") return { ...part, call: withPrice(part.call) };
		return part.type === "call" || part.type === "nested" ? withPrice(part) : part;
	});
}

/** @param name of a call that comes in */
function edited(program: Program, { type, list, at, uses }: Edit, name: string): Program {
	let lists = 0;
	const count = (parts: Program): Program => {
		lists++;
		return parts.map((part) => mapBodies(part, count));
	};
	count(program);
	let n = 0;
	const walk = (parts: Program): Program => {
		const isIt = n++ === list % lists;
		const inner = parts.map((part) => mapBodies(part, walk));
		if (!isIt) return inner;
		const i = at % Math.max(1, inner.length);
		const [here, next] = [inner[i], inner[i + 1]];
		const added = plainCall("llm", uses, name);
		switch (type) {
			case "insert":
				return inner.toSpliced(at % (inner.length + 1), 0, added);
			case "delete":
				return inner.toSpliced(i, 1);
			case "change":
				return here?.type === "call" ? inner.with(i, { ...here, id: name, uses }) : inner;
			case "swap":
				return here && next ? inner.toSpliced(i, 2, next, here) : inner;
		}
	};
	return walk(program);
}

/** What was seen of a history. */
interface Seen {
	/** That was resumed. */
	readonly program: Program;
	/** The calls that were paid before, in any run, by what they are called. */
	readonly paidBefore: ReadonlySet<string>;
	readonly explanation: Explanation;
	readonly resumed: Life;
	/** Tokens that the resume paid. */
	readonly paid: number;
}

async function tell(history: History): Promise<Seen> {
	const { delays, lives, reuse, policy, earlier, declared } = history;
	let inserted = 0;
	const editedBy = (program: Program, all: readonly Edit[]): Program =>
		all.reduce((before, edit) => edited(before, edit, `n${inserted++}`), program);
	const start = history.program;
	const before: Scripts[] = [];
	if (earlier) {
		const whole = scripts.fresh();
		const program = priced(editedBy(start, earlier), declared);
		await scripts.live(whole, program, { number: 1, delays: delays[2] as number[], policy }, [], 1_000_000);
		before.push(whole);
	}
	let state = scripts.fresh();
	let program = start;
	let life = await scripts.live(
		state,
		priced(program, declared),
		{ number: 1, delays: delays[0] as number[], policy },
		[],
		1_000_000,
	);
	for (const [i, { cut, edits }] of lives.entries()) {
		const at = Math.min(life.tip, life.from + 1 + Math.floor(cut * (life.tip - life.from + 1)));
		state = await scripts.cut(state, at);
		program = editedBy(program, edits);
		const next = priced(program, declared);
		const isLast = i === lives.length - 1;
		const paidBefore = paidIn([...before, state]);
		const explanation = isLast ? await preview(state, next, reuse, before) : undefined;
		const made = life.made.filter((each) => each.life < i + 1 || each.tip <= at);
		const setting = { number: i + 2, delays: delays[(i + 1) % delays.length] as number[], policy, reuse };
		life = await scripts.live(state, next, setting, made, life.now);
		if (!explanation) continue;
		const paid = life.made.filter((each) => each.life === life.number && each.kind === "llm" && !each.failed);
		return {
			program: next,
			paidBefore,
			explanation,
			resumed: life,
			paid: paid.reduce((all, { id }) => all + priceOf(id), 0),
		};
	}
	throw new Error("a history has a last life");
}

const paidIn = (states: readonly Scripts[]): ReadonlySet<string> =>
	new Set(
		states.flatMap(({ log }) =>
			log.records.flatMap(({ kind, data }) => {
				const call = data as { kind: string; place?: { label: string } };
				return kind === "step_completed" && call.kind === "agent" && call.place ? [call.place.label] : [];
			}),
		),
	);

test(
	"what a preview says is to be paid is paid; a price that nobody knows is said to be unknown",
	async () => {
		const seen = { histories: 0, whole: 0, allKnown: 0, toPay: 0, unknown: 0, assumed: 0, guessed: 0 };
		await fc.assert(
			fc.asyncProperty(anyHistory, async (history) => {
				const { program, paidBefore, explanation, resumed, paid } = await tell(history);
				const { calls, toPay, unknown, isWhole, percentFree, assumed, guessed } = explanation;
				expect(["completed", "failed", "waiting"], resumed.why).toContain(resumed.status);
				seen.histories++;
				// It says that what comes beyond is not known.
				if (!isWhole) return;
				seen.whole++;
				if (unknown === 0) seen.allKnown++;
				if (toPay > 0) seen.toPay++;
				if (unknown > 0) seen.unknown++;
				if (assumed > 0) seen.assumed++;
				const specs = new Map([...callsOf(program)].map((each) => [each.id, each]));
				const rest = calls
					.filter((call) => call.toPay === undefined)
					.map(({ label, saved }) => {
						const { id = "", type, estimate } = specs.get(idOf(label)) ?? {};
						expect({ label, estimate }).toEqual({ label, estimate: undefined });
						// A long one is not shown whole.
						if (!label.endsWith("…")) expect(paidBefore).not.toContain(label);
						return (type === "nested" ? 2 : 1) * priceOf(id) - saved;
					});
				expect(rest).toHaveLength(unknown);
				const known = toPay + rest.reduce((all, each) => all + each, 0);
				if (unknown + guessed > 0) expect(percentFree).toBeUndefined();
				if (guessed === 0) expect({ toPay: known }).toEqual({ toPay: paid });
				else {
					seen.guessed++;
					expect(paid).toBeGreaterThanOrEqual(known);
					expect(paid).toBeLessThanOrEqual(known + guessed);
				}
			}),
			{ numRuns: RUNS, seed: SEED },
		);
		if (REYN_RUNS !== undefined) console.log(JSON.stringify({ seed: SEED, ...seen }));
		if (RUNS < 100) return;
		expect(seen.allKnown / RUNS).toBeGreaterThan(0.3);
		expect(seen.unknown / RUNS).toBeGreaterThan(0.1);
	},
	LONG,
);
