/**
 * Runs a script in a process of its own, seen from the host. The realm is in that process, and the host gets a report at the end of each
 * time slice. No report is trusted: all of it is checked first.
 */
import { z } from "zod";
import { JournalError } from "../errors.ts";
import { type At, type FromChild, frameOf, HEAD, type Operation, type ToChild } from "./channel.ts";
import { errorOfText, textOfError } from "./error-text.ts";
import type { ScriptModule } from "./load.ts";
import type { Bridge, Realm, Reply } from "./realm.ts";
import { type Child, startChild } from "./start-child.ts";
import { SLICE_MS } from "./time-slice.ts";

/** The longest report, in bytes. */
const MAX_REPORT = 32 * 1024 * 1024;

/** Limits of a run, since each costs its host memory: branches, their depth and length of names, and calls without an answer. */
const MAX_BRANCHES = 100_000;
const MAX_CALLS = 10_000;
const MAX_DEPTH = 256;
/** The bootstrap refuses a longer one by name: here it is a child that is not ours. */
const MAX_NAME = 1000;

/** How long a report is waited for beyond the limit of a time slice, in milliseconds. */
const GRACE_MS = 5000;

/** The same for the first report, which includes the start of the process. */
const START_MS = 30_000;

/**
 * As `openRealm`, in a process that has nothing but this channel.
 *
 * @throws what `openRealm` does; JournalError `SCRIPT_ISOLATION`, `SCRIPT_LOST`; the signal's reason
 */
export async function openIsolated(
	module: ScriptModule,
	bridge: Bridge,
	{ sliceMs = SLICE_MS, signal }: { readonly sliceMs?: number | undefined; readonly signal?: AbortSignal | undefined },
): Promise<Realm> {
	const isolated = new Isolated(module, bridge, sliceMs);
	const stop = (): void => isolated.end(signal?.reason);
	signal?.addEventListener("abort", stop, { once: true });
	try {
		return await isolated.open();
	} finally {
		signal?.removeEventListener("abort", stop);
	}
}

class Isolated {
	readonly #module: ScriptModule;
	readonly #bridge: Bridge;
	readonly #sliceMs: number;
	readonly #child: Child;
	/** The pieces of an incomplete report. */
	#chunks: Buffer[] = [];
	#size = 0;
	/** Is the script running? Then no message is sent. */
	#isBusy = false;
	/** Messages to send next. */
	readonly #next: ToChild[] = [];
	/** Calls of the present time slice, to be begun when it is over. */
	readonly #asked: (() => void)[] = [];
	/** Calls of earlier time slices that have not begun. */
	#toBegin: (() => void)[] = [];
	#calls = 0;
	/** Calls that have no answer yet. */
	#open = 0;
	readonly #forks: Fork[] = [];
	#branches = 0;
	/** The errors of failed calls, by their numbers. */
	readonly #failures = new Map<number, unknown>();
	readonly #opened = Promise.withResolvers<Readonly<Record<string, unknown>>>();
	readonly #ended = Promise.withResolvers<string | undefined>();
	#state: "opening" | "opened" | "running" | "over" = "opening";
	#limit: NodeJS.Timeout | undefined;

	constructor(module: ScriptModule, bridge: Bridge, sliceMs: number) {
		this.#module = module;
		this.#bridge = bridge;
		this.#sliceMs = sliceMs;
		for (const { promise } of [this.#opened, this.#ended]) promise.catch(() => {});
		this.#child = startChild({
			data: (bytes) => this.#hear(bytes),
			gone: (how) => this.#lose(how),
		});
	}

	async open(): Promise<Realm> {
		const { file, code, clean, moved } = this.#module;
		this.#send({ type: "open", file, code, clean, moved, sliceMs: this.#sliceMs }, START_MS);
		return {
			exports: await this.#opened.promise,
			run: (args) => {
				this.#state = "running";
				this.#send({ type: "run", args });
				return this.#ended.promise;
			},
			// Each answer is a message of its own, so a common limit for several would gain nothing.
			burst: (answers) => answers(() => false),
			say: (what) => what(),
			close: () => this.#close(),
		};
	}

	/** Ends the script with an error. */
	end(error: unknown): void {
		this.#close();
		this.#opened.reject(error);
		this.#ended.reject(error);
	}

	#close(): void {
		this.#state = "over";
		clearTimeout(this.#limit);
		this.#limit = undefined;
		this.#child.kill();
	}

	#lose(how: string): void {
		if (this.#state === "over") return;
		const { file } = this.#module;
		this.end(
			new JournalError(
				"SCRIPT_LOST",
				`the process that ${file} ran in is lost: ${how}. All that it called is recorded; resume the run to go on`,
				{ file, how },
			),
		);
	}

	#send(message: ToChild, more = 0): void {
		if (this.#state === "over") return;
		if (this.#isBusy) {
			this.#next.push(message);
			return;
		}
		this.#isBusy = true;
		const limitMs = this.#sliceMs + GRACE_MS + more;
		const late = (): void => {
			if (this.#limit === limit) this.#lose(`it did not answer within ${limitMs} ms`);
		};
		// A report that came while this process was busy is read first.
		const limit = setTimeout(() => setImmediate(late), limitMs);
		this.#limit = limit;
		this.#child.write(frameOf(message));
	}

	#hear(bytes: Buffer): void {
		if (this.#state === "over") return;
		try {
			const report = this.#read(bytes);
			if (report) this.#take(report);
		} catch (error) {
			this.#lose((error as Error).message);
		}
	}

	/** Collects the pieces of a report; undefined: it is incomplete. @throws if it is no report */
	#read(bytes: Buffer): FromChild | undefined {
		this.#chunks.push(bytes);
		this.#size += bytes.length;
		if (this.#size < HEAD) return undefined;
		const length = this.#joined(HEAD).readUInt32LE();
		if (length > MAX_REPORT) throw new Error(`it sent a report of ${length} bytes; ${MAX_REPORT} are allowed`);
		if (this.#size < HEAD + length) return undefined;
		const whole = this.#joined(HEAD + length);
		// The child must not send more before it gets a message.
		if (this.#size > HEAD + length || !this.#isBusy) throw new Error("it spoke without being asked");
		this.#chunks = [];
		this.#size = 0;
		try {
			return fromChild.parse(JSON.parse(whole.toString("utf8", HEAD)));
		} catch (error) {
			throw new Error(`its report cannot be read: ${(error as Error).message.slice(0, 200)}`);
		}
	}

	/** Joins the first pieces to a buffer of at least this size. */
	#joined(size: number): Buffer {
		const [first] = this.#chunks;
		if (first && first.length >= size) return first;
		this.#chunks = [Buffer.concat(this.#chunks)];
		return this.#chunks[0] as Buffer;
	}

	/** Carries out the operations of a report, then begins the calls in it. @throws if the report is impossible */
	#take(report: FromChild): void {
		if (this.#state === "opening" && report.operations.length > 0)
			throw new Error("it made calls before its function ran");
		for (const operation of report.operations) this.#operate(operation);
		for (const line of report.printed) this.#bridge.log(line);
		if (report.type === "seed") {
			this.#child.write(frameOf({ type: "seed", seed: this.#within(report.at, () => this.#bridge.draws().seed) }));
			return;
		}
		clearTimeout(this.#limit);
		this.#limit = undefined;
		this.#isBusy = false;
		const isCut = report.type === "failed" && report.isCut;
		const asked = this.#asked.splice(0);
		// New calls come first: they follow from an answer that was given in the middle of the list.
		if (!isCut) this.#toBegin = asked.concat(this.#toBegin);
		if (this.#state === "opening") this.#toldOfOpening(report);
		else this.#toldOfRunning(report);
	}

	#toldOfOpening(report: FromChild): void {
		if (report.type === "opened") {
			this.#state = "opened";
			this.#opened.resolve(report.exports);
		} else if (report.type === "failed") this.end(this.#failureIn(report));
		else throw new Error(`it said "${report.type}" before its function ran`);
	}

	#toldOfRunning(report: FromChild): void {
		switch (report.type) {
			case "rested":
				break;
			case "completed":
				if (report.result !== undefined) assertJson(report.result);
				this.#close();
				this.#ended.resolve(report.result);
				break;
			case "failed by":
				this.end(this.#failureOf(report.call));
				break;
			case "failed":
				this.end(this.#failureIn(report));
				break;
			default:
				throw new Error(`it said "${report.type}" while its function ran`);
		}
		this.#goOn();
	}

	#operate(operation: Operation): void {
		const { op, at } = operation;
		switch (op) {
			case "fork": {
				const { kind, name, branches } = operation;
				const depth = at ? (this.#forks[at[0]]?.depth ?? 0) + 1 : 1;
				this.#branches += branches;
				if (this.#branches > MAX_BRANCHES) throw new Error(`it opened more than ${MAX_BRANCHES} branches`);
				if (depth > MAX_DEPTH) throw new Error(`it opened branches more than ${MAX_DEPTH} levels deep`);
				const id = this.#within(at, () => this.#bridge.fork(kind, name, branches));
				this.#forks.push({ id, branches, depth });
				return;
			}
			case "join": {
				const { id } = this.#forkAt(operation.fork);
				this.#within(at, () => this.#bridge.join(id));
				return;
			}
			case "call": {
				const call = this.#calls++;
				if (++this.#open > MAX_CALLS) throw new Error(`it waits for more than ${MAX_CALLS} calls`);
				const begin = this.#within(at, () => this.#bridge.call(operation.name, operation.args));
				const reply: Reply = {
					answer: (text) => {
						this.#open--;
						this.#send({ type: "answer", call, text });
					},
					fail: (error) => {
						this.#open--;
						this.#failures.set(call, error);
						this.#send({ type: "fail", call, said: textOfError(error) });
					},
				};
				this.#asked.push(() => begin(reply));
			}
		}
	}

	#within<T>(at: At | undefined, body: () => T): T {
		if (!at) return body();
		const { id, branches } = this.#forkAt(at[0]);
		if (at[1] >= branches) throw new Error(`it is in branch ${at[1]} of ${branches}`);
		return this.#bridge.enter(id, at[1], body);
	}

	#forkAt(index: number): Fork {
		const fork = this.#forks[index];
		if (!fork) throw new Error(`it named fork ${index} of ${this.#forks.length}`);
		return fork;
	}

	/** Begins calls until there is a message for the script, or none is left. */
	#goOn(): void {
		try {
			while (!this.#isBusy) {
				const begin = this.#toBegin.shift();
				if (!begin) break;
				begin();
			}
			if (this.#isBusy || this.#state === "over") return;
			const next = this.#next.shift();
			if (next) this.#send(next);
			else this.#bridge.rested();
		} catch (error) {
			this.end(error);
		}
	}

	#failureIn({ said, causes }: FromChild & { readonly type: "failed" }): Error {
		const error = errorOfText(said, this.#module.file, this.#bridge.error);
		if (causes.length > 0) error.cause = new AggregateError(causes.map((call) => this.#failureOf(call)));
		return error;
	}

	/** The error of a failed call. @throws if the report names a call that did not fail */
	#failureOf(call: number): unknown {
		if (!this.#failures.has(call)) throw new Error(`it named call ${call}, which did not fail`);
		return this.#failures.get(call);
	}
}

function assertJson(text: string): void {
	try {
		JSON.parse(text);
	} catch {
		throw new Error("its result is no JSON");
	}
}

interface Fork {
	/** The number that the bridge gave it. */
	readonly id: number;
	readonly branches: number;
	readonly depth: number;
}

const count = z.int().nonnegative();
const at = z.tuple([count, count]).optional();

const fork = { op: z.literal("fork"), at };

const operation = z.discriminatedUnion("op", [
	z.discriminatedUnion("kind", [
		z.strictObject({ ...fork, kind: z.enum(["parallel", "pipeline"]), name: z.literal(""), branches: count }),
		z.strictObject({ ...fork, kind: z.literal("phase"), name: z.string().max(MAX_NAME), branches: z.literal(1) }),
	]),
	z.strictObject({ op: z.literal("join"), at, fork: count }),
	z.strictObject({
		op: z.literal("call"),
		at,
		name: z.enum(["agent", "tool", "ask", "now", "sleep"]),
		args: z.string(),
	}),
]);

const slice = { operations: z.array(operation), printed: z.array(z.string()) };

const fromChild: z.ZodType<FromChild> = z.discriminatedUnion("type", [
	z.strictObject({ ...slice, type: z.literal("seed"), at }),
	z.strictObject({ ...slice, type: z.literal("opened"), exports: z.record(z.string(), z.unknown()) }),
	z.strictObject({ ...slice, type: z.literal("rested") }),
	z.strictObject({ ...slice, type: z.literal("completed"), result: z.string().optional() }),
	z.strictObject({ ...slice, type: z.literal("failed by"), call: count }),
	z.strictObject({
		...slice,
		type: z.literal("failed"),
		said: z.strictObject({
			name: z.string().optional(),
			message: z.string(),
			stack: z.string().optional(),
			code: z.string().optional(),
			detail: z.unknown().optional(),
		}),
		causes: z.array(count).max(1000),
		isCut: z.boolean(),
	}),
]);
