/**
 * The main program of the process of an isolated script. It waits for a message of the host, lets the script run until it waits again,
 * and reports what the script did. The process has nothing else: no environment, no files, no programs, no other code.
 */
import { readSync, writeSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
	type At,
	CHILD_READS,
	CHILD_WRITES,
	type FromChild,
	frameOf,
	HEAD,
	type Operation,
	type Seed,
	type ToChild,
} from "./channel.ts";
import { Draws } from "./draws.ts";
import { type Bridge, openRealm, type Realm, type Reply } from "./realm.ts";
import { standing } from "./standing.ts";
import { strip } from "./strip.ts";

/** A branch of the script, or the script's own line of calls. */
interface Place {
	readonly at?: At;
	draws?: Draws;
}

/** The failure of a call, on its way to the script and perhaps back. */
class FailedCall extends Error {
	readonly call: number;

	constructor(call: number, said: string) {
		const { name, message, ...more } = JSON.parse(said);
		super(message);
		Object.defineProperty(this, "name", { value: name, enumerable: false });
		Object.assign(this, more);
		this.call = call;
	}
}

class Session implements Bridge {
	readonly isAlone = true;
	/** Calls that the script waits for. */
	readonly #open = new Map<number, Reply>();
	readonly #places = new WeakMap<symbol, Place>();
	readonly #root: Place = {};
	#operations: Operation[] = [];
	#printed: string[] = [];
	#calls = 0;
	#forks = 0;
	#isCut = false;
	#realm: Realm | undefined;
	/** How the script ended; undefined: not yet. */
	#end: Ending | undefined;

	/** Carries out a message of the host. @returns the report */
	async hear(message: ToChild): Promise<FromChild> {
		let ending: Ending | undefined;
		switch (message.type) {
			case "open": {
				const { sliceMs, ...code } = message;
				try {
					this.#realm = await openRealm(code, this, sliceMs);
					ending = { type: "opened", exports: this.#realm.exports };
				} catch (error) {
					ending = this.#failedWith(error);
				}
				break;
			}
			case "run":
				this.#realm?.run(message.args).then(
					(result) => (this.#end = { type: "completed", result }),
					(error) => (this.#end = this.#failedWith(error)),
				);
				break;
			case "answer":
				this.#take(message.call)?.answer(message.text);
				break;
			case "fail":
				this.#take(message.call)?.fail(new FailedCall(message.call, message.said));
		}
		// Unhandled rejections are known only after a turn of the event loop.
		await nextTurn();
		return this.#report(ending ?? this.#end ?? { type: "rested" });
	}

	call: Bridge["call"] = (name, args) => {
		const call = this.#calls;
		this.#operations.push({ op: "call", at: this.#here.at, name, args });
		this.#calls = call + 1;
		return (reply) => void this.#open.set(call, reply);
	};

	fork: Bridge["fork"] = (kind, name, branches) => {
		const fork = this.#forks;
		this.#operations.push({ op: "fork", at: this.#here.at, kind, name, branches });
		this.#forks = fork + 1;
		return fork;
	};

	enter<T>(fork: number, branch: number, body: () => T): T {
		const place = Symbol();
		this.#places.set(place, { at: [fork, branch] });
		return standing.run(place, body);
	}

	join(fork: number): void {
		this.#operations.push({ op: "join", at: this.#here.at, fork });
	}

	draws(): Draws {
		const here = this.#here;
		here.draws ??= new Draws(this.#seedOf(here));
		return here.draws;
	}

	rested(): void {}

	log(text: string): void {
		this.#printed.push(text);
	}

	error: Bridge["error"] = (code, message, detail, options) => {
		if (code === "SCRIPT_TIMEOUT") this.#isCut = true;
		return Object.assign(new Error(message, options), { code, detail });
	};

	get #here(): Place {
		const place = standing.getStore();
		return (place && this.#places.get(place)) ?? this.#root;
	}

	#seedOf({ at }: Place): string {
		write(this.#report({ type: "seed", at }));
		return (read() as Seed).seed;
	}

	#take(call: number): Reply | undefined {
		const reply = this.#open.get(call);
		this.#open.delete(call);
		return reply;
	}

	#failedWith(error: unknown): Ending {
		if (error instanceof FailedCall) return { type: "failed by", call: error.call };
		const { name, message, stack, code, detail, cause } = error as Error & { code?: string; detail?: unknown };
		const all: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [];
		const causes = all.filter((each) => each instanceof FailedCall).map(({ call }) => call);
		return { type: "failed", said: { name, message, stack, code, detail }, causes, isCut: this.#isCut };
	}

	#report(ending: Ending): FromChild {
		const report = { ...ending, operations: this.#operations, printed: this.#printed };
		this.#operations = [];
		this.#printed = [];
		return report;
	}
}

type Omitting<T> = T extends unknown ? Omit<T, "operations" | "printed"> : never;
type Ending = Omitting<FromChild>;

function read(): ToChild | Seed {
	const head = readBytes(HEAD);
	return JSON.parse(readBytes(head.readUInt32LE()).toString());
}

function readBytes(size: number): Buffer {
	const bytes = Buffer.allocUnsafe(size);
	for (let at = 0; at < size; ) {
		const got = readSync(CHILD_READS, bytes, at, size - at, null);
		// The host has closed the channel.
		if (got === 0) process.exit(0);
		at += got;
	}
	return bytes;
}

function write(report: FromChild): void {
	const frame = frameOf(report);
	for (let at = 0; at < frame.length; ) at += writeSync(CHILD_WRITES, frame, at);
}

strip();
const session = new Session();
for (;;) write(await session.hear(read() as ToChild));
