/** By what the calls of a script are known again, the slow way: the whole history of each as text, and one list of all answers. */
import type { Reuse } from "../../src/script/index.ts";
import { type Calls, follow, type Program } from "./programs.ts";

export interface NaiveCall {
	readonly lane: string;
	/** The how-manieth of its lane. */
	readonly at: number;
	/** What is called, with what arguments. */
	readonly what: string;
	/** Equal ones before it in its lane. */
	readonly occ: number;
	/** All that it may rest on, itself included. */
	readonly history: string;
	/** The same without the positions of branches. */
	readonly loose: string;
	readonly isEffect: boolean;
}

export const placeOf = (lane: string, at: number): string => `${lane} ${at}`;

/**
 * The calls that a program makes, one after another, as far as their answers are known.
 *
 * @param answers by {@link placeOf}
 */
export async function callsOf(
	program: Program,
	answers: ReadonlyMap<string, string>,
): Promise<{ calls: ReadonlyMap<string, NaiveCall>; result: readonly unknown[] | undefined }> {
	const telling = new Telling(answers);
	const result = await follow(program, telling).catch((error: unknown) => {
		if (error !== unknown) throw error;
		return undefined;
	});
	return { calls: telling.calls, result };
}

const unknown = new Error("no answer is known");

interface Line {
	readonly lane: string;
	/** Where its own part of the two begins. */
	readonly from: readonly [history: number, loose: number];
	history: string;
	loose: string;
	calls: string[];
	visits: string[];
	/** Branches that have left and are not part of the history yet. */
	left: (readonly Line[])[];
}

class Telling implements Calls {
	readonly calls = new Map<string, NaiveCall>();
	readonly #answers: ReadonlyMap<string, string>;
	#line: Line = { lane: "script/r1", from: [0, 0], history: "", loose: "", calls: [], visits: [], left: [] };
	#isTogether = false;

	constructor(answers: ReadonlyMap<string, string>) {
		this.#answers = answers;
	}

	agent(text: string): Promise<string> {
		return this.#call(text, false);
	}

	write(text: string): Promise<string> {
		return this.#call(`write ${JSON.stringify({ text })}`, true);
	}

	parallel(tasks: readonly (() => Promise<unknown>)[]): Promise<readonly unknown[]> {
		return this.#fork("parallel", tasks);
	}

	pipeline(
		items: readonly string[],
		...stages: readonly ((previous: unknown) => Promise<unknown>)[]
	): Promise<readonly unknown[]> {
		const through = async (item: string): Promise<unknown> => {
			let previous: unknown = item;
			for (const stage of stages) previous = await stage(previous);
			return previous;
		};
		return this.#fork(
			"pipeline",
			items.map((item) => () => through(item)),
		);
	}

	async phase(name: string, body: () => Promise<unknown>): Promise<unknown> {
		return (await this.#fork(`phase.${name}`, [body]))[0];
	}

	async together(begin: readonly (() => Promise<unknown>)[]): Promise<readonly unknown[]> {
		absorb(this.#line);
		this.#isTogether = true;
		const answers = await inTurn(begin);
		this.#isTogether = false;
		return answers();
	}

	async #call(what: string, isEffect: boolean): Promise<string> {
		const line = this.#line;
		if (!this.#isTogether) absorb(line);
		const occ = line.calls.filter((each) => each === what).length;
		const at = line.calls.push(what) - 1;
		line.history += `; ${what}`;
		line.loose += `; ${what}`;
		const { lane, history, loose } = line;
		this.calls.set(placeOf(lane, at), { lane, at, what, occ, history, loose, isEffect });
		const answer = this.#answers.get(placeOf(lane, at));
		if (answer === undefined) throw unknown;
		return answer;
	}

	async #fork(name: string, bodies: readonly (() => Promise<unknown>)[]): Promise<readonly unknown[]> {
		const line = this.#line;
		const isTogether = this.#isTogether;
		if (!isTogether) absorb(line);
		const visit = line.visits.filter((each) => each === name).length;
		line.visits.push(name);
		const isPhase = name.startsWith("phase");
		const at = isPhase ? `${name}/${visit}` : name;
		const beside = line.left.length > 0 ? ` beside ${line.left.length}` : "";
		const branches = bodies.map(
			(_, i): Line => ({
				lane: `${line.lane}/${name}/${visit}${isPhase ? "" : `/${i}`}`,
				from: [line.history.length, line.loose.length],
				history: `${line.history} {${at} ${i}${beside}:`,
				loose: `${line.loose} {${at}:`,
				calls: [],
				visits: [],
				left: [],
			}),
		);
		line.left.push(branches);
		this.#isTogether = false;
		const answers = await inTurn(
			bodies.map((body, i) => () => {
				this.#line = branches[i] as Line;
				return body();
			}),
		);
		this.#line = line;
		this.#isTogether = isTogether;
		return answers();
	}
}

/** What has left is over: all that comes now may rest on it. */
function absorb(line: Line): void {
	for (const branches of line.left) {
		for (const branch of branches) absorb(branch);
		line.history += ` [${branches.map(({ history, from }) => history.slice(from[0])).join("|")}]`;
		line.loose += ` [${branches.map(({ loose, from }) => loose.slice(from[1])).join("|")}]`;
	}
	line.left = [];
}

/** One after another, the rest too where one has no answer. */
async function inTurn(bodies: readonly (() => Promise<unknown>)[]): Promise<() => readonly unknown[]> {
	const ends: PromiseSettledResult<unknown>[] = [];
	for (const body of bodies) ends.push(...(await Promise.allSettled([body()])));
	return () =>
		ends.map((end) => {
			if (end.status === "rejected") throw end.reason;
			return end.value;
		});
}

/** A call that is recorded at its place in a revision. */
export interface NaiveEntry {
	readonly revision: number;
	readonly call: NaiveCall;
	/** Only a part of it is recorded, from which its answer follows. */
	readonly isPart: boolean;
	/** None: it was begun, and nobody knows how it ended. */
	readonly answer: NaiveAnswer | undefined;
}

/** One that was used again is at several places. */
export interface NaiveAnswer {
	readonly id: number;
	readonly text: string;
}

/** What is recorded, and which answers are used. */
export class NaiveMemory {
	readonly #here: readonly NaiveEntry[];
	/** Oldest first, whole ones before parts. */
	readonly #before: readonly NaiveEntry[];
	readonly #reuse: Reuse;
	readonly #ofSameText: ReadonlySet<number>;
	readonly #used: Set<number | undefined>;

	/**
	 * @param entries in the order of their records
	 * @param texts of the revisions, from the first one on
	 */
	constructor(entries: readonly NaiveEntry[], texts: readonly string[], reuse: Reuse) {
		const revision = texts.length;
		this.#ofSameText = new Set(texts.flatMap((text, i) => (text === texts.at(-1) ? [i + 1] : [])));
		// A call is as old as its first record, and as its last one says.
		const calls = new Map<string, NaiveEntry>();
		for (const each of entries)
			calls.set(`${each.revision} ${placeOf(each.call.lane, each.call.at)} ${each.isPart}`, each);
		const before = [...calls.values()].filter((each) => each.revision < revision);
		this.#here = [...calls.values()].filter((each) => each.revision === revision);
		this.#before = [...before.filter(({ isPart }) => !isPart), ...before.filter(({ isPart }) => isPart)];
		this.#reuse = reuse;
		this.#used = new Set(this.#here.map(({ answer }) => answer?.id));
	}

	/** The answer that is recorded for a call. */
	take(call: NaiveCall): NaiveAnswer | undefined {
		const found = this.#find(call)?.answer;
		if (found) this.#used.add(found.id);
		return found;
	}

	#find({ lane, what, occ, history, loose, isEffect }: NaiveCall): NaiveEntry | undefined {
		const here = this.#here.findLast(({ call }) => call.lane === lane && call.what === what && call.occ === occ);
		if (here) return here;
		const isFree = ({ answer }: NaiveEntry): boolean => !answer || !this.#used.has(answer.id);
		const exact = this.#before.filter((each) => each.call.history === history && isFree(each));
		for (const isPart of [false, true]) {
			const among = exact.filter((each) => each.isPart === isPart);
			const found = among.findLast(({ answer, revision }) => answer && this.#ofSameText.has(revision)) ?? among.at(-1);
			if (found) return found;
		}
		if (this.#reuse === "prefix") return undefined;
		const free = this.#before.filter(({ answer }) => answer && !this.#used.has(answer.id));
		for (const isPart of [false, true]) {
			const among = free.filter((each) => each.isPart === isPart);
			const found =
				among.find(({ call }) => call.loose === loose) ??
				(isEffect ? undefined : among.find(({ call }) => call.what === what));
			if (found) return found;
		}
		return undefined;
	}
}
