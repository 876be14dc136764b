/** A program over several lives: each a process of its own, over the same log and the same far side. Time is simulated. */
import { memoryEngine, type Timers } from "@reyn/wal";
import { type Journal, type Model, openJournal, type Purity, type Step, type Tool } from "../../src/index.ts";
import type { ScriptPorts } from "../../src/script/index.ts";
import { quiet, SimulatedTime } from "../dying-log.ts";
import { type Ended, echo, type How, Process, type ProcessOptions } from "../script/script-process.ts";
import { cutEngine } from "./cut-engine.ts";

/** So many simulated milliseconds later. */
const later = (time: Timers, ms: number): Promise<void> => new Promise((resolve) => void time.after(ms, resolve));

/** What the far side says of each text, and after how many milliseconds. An error is thrown. */
export type Says = (text: string, life: number) => { readonly ms?: number; readonly says?: string | Error } | undefined;

/** Each tool is named after what it is to the world. */
const purities: Readonly<Record<string, Purity>> = {
	mail: "side_effect",
	post: "external",
	look: "world",
	count: "pure",
};

/** A run of one script over several lives, each a process of its own with the same far side. */
export class Run {
	readonly time = new SimulatedTime();
	#life = 0;
	#process: Process;
	readonly #blobs = memoryEngine().blobs("main");
	readonly #says: Says;
	readonly #more: ProcessOptions;
	/** What this life has called, other than the person. */
	made: readonly string[] = [];

	constructor(says: Says, more: ProcessOptions = {}) {
		this.#says = says;
		this.#more = more;
		this.#process = new Process();
	}

	get process(): Process {
		return this.#process;
	}

	/** Another process goes on, until the run ends or waits. */
	async live(source: string, how: How = {}): Promise<Ended> {
		const life = ++this.#life;
		const made: string[] = [];
		this.made = made;
		const answer = async (text: string, otherwise: string): Promise<string> => {
			made.push(text);
			const { ms = 1, says = otherwise } = this.#says(text, life) ?? {};
			await later(this.time, ms);
			if (says instanceof Error) throw says;
			return says;
		};
		const model: Model = echo((prompt) => answer(prompt, `${prompt}!`));
		const tools = Object.entries(purities).map(
			([name, purity]): Tool => ({
				name,
				description: "",
				parameters: { type: "object" },
				purity,
				call: (args) => answer(`${name} ${(args as { text?: string }).text ?? ""}`, `${name} done`),
			}),
		);
		const options = { model, tools, time: this.time, ...this.#more };
		this.#process = new Spilling(this.#blobs, { ...options, log: this.#process.log });
		return this.time.until(this.#process.work(source, how));
	}

	/** The process dies before its last records are written. */
	lose(records: number): void {
		this.#process.next();
		this.time.kill();
		this.#process.log.tear(records);
	}

	/** The process dies when a call has begun, the last one that was made: all of it that is recorded is lost. */
	loseFrom(isLost: (text: string) => boolean): void {
		const { records } = this.#process.log;
		const first = records.findIndex(({ kind, data }) => kind.startsWith("step_") && isLost(JSON.stringify(data)));
		this.lose(first < 0 ? 0 : records.length - first);
	}
}

class Spilling extends Process {
	readonly #results: ScriptPorts["results"];

	constructor(results: ScriptPorts["results"], options: ProcessOptions) {
		super(options);
		this.#results = results;
	}

	override get ports(): ScriptPorts {
		return { ...super.ports, results: this.#results };
	}
}

/** The steps of a program without a script. Each is named after what it is to the world, its text is its argument. */
export interface Steps {
	llm(text: string): Promise<string>;
	mail(text: string, more?: Partial<Step<string>>): Promise<string>;
	look(text: string, more?: Partial<Step<string>>): Promise<string>;
	count(text: string): Promise<string>;
	/** A line of its own. */
	lane(path: string): Steps;
	/** A call that is made of steps; of a model, unless it says otherwise. */
	inside(text: string, body: (steps: Steps) => Promise<string>, purity?: Purity): Promise<string>;
}

export type StepProgram = (steps: Steps) => Promise<unknown>;

/** A program of steps is run in several processes, one after the other, over one log. */
export class Journals {
	readonly time = new SimulatedTime();
	readonly #says: Says;
	#engine = cutEngine();
	#life = 0;
	/** What this life has called. */
	made: readonly string[] = [];

	constructor(says: Says) {
		this.#says = says;
	}

	async live(program: StepProgram): Promise<unknown> {
		const life = ++this.#life;
		const made: string[] = [];
		this.made = made;
		const answer = async (text: string): Promise<string> => {
			made.push(text);
			const { ms = 1, says = `${text}!` } = this.#says(text, life) ?? {};
			await later(this.time, ms);
			if (says instanceof Error) throw says;
			return says;
		};
		const journal = await openJournal(this.#engine, { clock: this.time, timers: this.time });
		try {
			return await settled(this.time, program(stepsOf(journal, answer)));
		} finally {
			await settled(this.time, journal.close());
		}
	}

	/** What is recorded. */
	get lines(): readonly string[] {
		return this.#engine.lines;
	}

	/** The process dies before its last records are written. */
	async lose(records: number): Promise<void> {
		this.time.kill();
		this.#engine = await this.#engine.cut(this.#engine.tip - records);
	}
}

function stepsOf(journal: Journal, answer: (text: string) => Promise<string>): Steps {
	type Perform = (step: Step<string>) => Promise<string>;
	const over = (perform: Perform): Steps => {
		const call = (name: string, purity: Purity, text: string, more: Partial<Step<string>> = {}): Promise<string> =>
			perform({
				kind: "step",
				name,
				args: { text },
				purity,
				call: () => answer(name === "llm" ? text : `${name} ${text}`),
				...more,
			});
		return {
			llm: (text) => call("llm", "llm", text),
			mail: (text, more) => call("mail", "side_effect", text, more),
			look: (text, more) => call("look", "world", text, more),
			count: (text) => call("count", "pure", text),
			lane: (path) => over((step) => journal.lane(path).perform(step)),
			inside: (text, body, purity = "llm") =>
				call("inside", purity, text, { call: ({ lane }) => body(over((step) => lane.perform(step))) }),
		};
	};
	return over(({ name, call, kind: _, ...options }) => journal.step(name, call, options));
}

/** Lets time pass until a promise is settled. A log in memory takes some turns of the event loop for itself. */
async function settled<T>(time: SimulatedTime, promise: Promise<T>): Promise<T> {
	let isSettled = false;
	const settle = (): void => {
		isSettled = true;
	};
	promise.then(settle, settle);
	for (let idle = 0; !isSettled && idle < 1000; idle++) {
		for (let turn = 0; turn < 5; turn++) await quiet();
		if (isSettled || time.waiting === 0) continue;
		idle = 0;
		await time.pass(1);
	}
	if (!isSettled) throw new Error("the program waits for something that will never happen");
	return promise;
}
