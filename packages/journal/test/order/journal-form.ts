/** Random programs over the steps of a journal. */
import { memoryEngine } from "@reyn/wal";
import { type Lane, openJournal, type Purity, type Step } from "../../src/index.ts";
import { type CutEngine, cutEngine } from "./cut-engine.ts";
import { FarSide, Stuck, tokenStore, tokensIn } from "./far-side.ts";
import type { Form, Life, Note } from "./life.ts";
import { type At, type Call, type Calls, follow, type Kind, type Nested, type Program } from "./program.ts";

/** A log in memory takes some turns of the event loop for itself. */
export const TURNS = 8;

interface Journals {
	engine: CutEngine;
	readonly store: ReturnType<typeof tokenStore>;
}

export const journals: Form<Journals> = {
	name: "journals",
	forgets: "always",
	fresh: () => {
		const store = tokenStore(memoryEngine().blobs("main"));
		return { store, engine: cutEngine(store) };
	},
	cut: async ({ engine, store }, after) => ({ store, engine: await engine.cut(after) }),
	async live({ engine, store }, program, { delays, policy, number: life }, made, now) {
		const from = engine.tip;
		const tip = (): number => engine.tip;
		const far = new FarSide(program, { life, delays, tip, made, now });
		const notes: Note[] = [];
		let isOver = false;
		// What branches do while the journal is closed behind their program is no part of it.
		const note = (line: string): void => void (isOver || notes.push({ line, tip: tip() }));
		const journal = await openJournal(engine, { clock: far.time, timers: far.time, whenInDoubt: () => policy });
		const lanes = (path: string): Lane => journal.lane(path);
		const ended = await outcomeOf(far, notes, () => follow(program, journalCalls(far, lanes, note)));
		isOver = true;
		await far.time.until(journal.close(), TURNS);
		const tokens = async (through: number, inside?: boolean): Promise<ReadonlySet<string>> =>
			tokensIn(await recordsOf(engine, through), store.begins, inside);
		return { number: life, ...ended, notes, from, made: far.made, tip: tip(), now: far.time.now(), tokens };
	},
};

/** How a program of the host ends. */
export async function outcomeOf(
	far: FarSide,
	notes: readonly Note[],
	work: () => Promise<unknown>,
): Promise<Pick<Life, "status" | "why" | "result">> {
	try {
		const result = String(await far.time.until(work(), TURNS));
		return { status: "completed", why: "", result };
	} catch (error) {
		const refused = notes.find(({ line }) => line.startsWith("refused"))?.line;
		const { code = "", message } = error as { code?: string; message: string };
		const why = refused ?? `${code} ${message}`.trim();
		const status = error instanceof Stuck ? "stuck" : refused || isRefusal(error) ? "refused" : "failed";
		return { status, why, result: undefined };
	}
}

export const isRefusal = (error: unknown): boolean =>
	["REPLAY_DIVERGENCE", "CONCURRENT_LANE"].includes(String((error as { code?: string }).code));

export async function recordsOf(engine: CutEngine, through: number): Promise<{ kind: string; data: unknown }[]> {
	const records: { kind: string; data: unknown }[] = [];
	for await (const some of engine.log("main").read(0, through)) records.push(...some);
	return records;
}

const purities: Readonly<Record<Kind, Purity>> = {
	llm: "llm",
	mail: "side_effect",
	post: "external",
	look: "world",
	count: "pure",
	ask: "llm",
};

/** A step for a call of the program. */
export function stepOf(far: FarSide, { id, kind, tries }: Call, text: string): Step<string> {
	return {
		kind: "step",
		name: id,
		args: { text },
		purity: purities[kind],
		call: ({ attempt }) => far.answer(kind === "ask" ? "llm" : kind, text, { attempt }),
		empty: "",
		...(tries > 1 ? { retry: { maxAttempts: tries, initialIntervalMs: 5 } } : {}),
	};
}

/** What a call is made of. */
export function insideProgram(part: Nested): Program {
	const body = part.body.map((each): Call => ({ ...each, caught: true }));
	return part.together ? [{ type: "all" as const, form: "lane" as const, branches: body.map((each) => [each]) }] : body;
}

/**
 * A step that is made of steps, which note and share what they find among themselves.
 *
 * @param path says which one it is of those with its name
 */
export function nestedStepOf(
	far: FarSide,
	part: Nested,
	text: string,
	path: string,
	note: (line: string) => void,
): Step<string> {
	const program = insideProgram(part);
	return {
		kind: "step",
		name: part.id,
		args: { text },
		purity: part.kind === "llm" ? "llm" : "external",
		empty: "",
		call: ({ lane }) => follow(program, { ...journalCalls(far, () => lane, note), root: path }, "asked*"),
	};
}

export function journalCalls(far: FarSide, laneOf: (path: string) => Lane, note: (line: string) => void): Calls {
	const perform = (at: At, step: Step<string>): Promise<string> => laneOf(at.path).perform(step);
	const inLane = (at: At, i: number | string, fork: number): At => ({ path: `${at.path}/f${fork}/${i}`, forks: 0 });
	const insideOf = insides();
	return {
		root: "p",
		call: (at, call, text) => perform(at, stepOf(far, call, text)),
		nested: (at, part, text) => perform(at, nestedStepOf(far, part, text, insideOf(part), note)),
		lanes: (at, bodies) => {
			const fork = at.forks++;
			return allOf(bodies.map((body, i) => body(inLane(at, i, fork))));
		},
		pipeline: (at, items, stages) => {
			const fork = at.forks++;
			return allOf(
				items.map(async (item, i) => {
					const inner = inLane(at, i, fork);
					let value = item;
					for (const stage of stages) value = await stage(value, inner);
					return value;
				}),
			);
		},
		phase: (at, name, body) => body(inLane(at, name, at.forks++)),
		// It has no sleep: what is awaited beside steps nobody could put in its place.
		sleep: async () => {},
		now: (at) =>
			perform(at, { kind: "step", name: "now", args: {}, purity: "llm", call: async () => `now${far.time.now()}` }),
		random: () => "r",
		isFatal: isRefusal,
		says: (error) => String((error as Error).message.split(" ").at(-1)),
		note,
	};
}

/** Names the inside of each call that is made of calls, in the order in which they are asked for. */
export function insides(): (part: Nested) => string {
	const counts = new Map<string, number>();
	return ({ id }) => {
		const count = counts.get(id) ?? 0;
		counts.set(id, count + 1);
		return `inside-${id}-${count}`;
	};
}

/** Waits for all, and then fails as the first of them did. */
async function allOf(running: readonly Promise<string>[]): Promise<string[]> {
	const ended = await Promise.allSettled(running);
	return ended.map((each) => {
		if (each.status === "rejected") throw each.reason;
		return each.value;
	});
}
