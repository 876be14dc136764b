/** One process under a seeded scheduler: of all that could happen next, it says what does. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, fileEngine, type LogEngine, openWal, type Timers } from "@reyn/wal";
import { MemoryDisk, type MortalDisk } from "@reyn/wal/testing";
import type { Random } from "../../kit/seeded.ts";

// What a writer loads late is loaded before: that is real time, of which nobody here knows.
await (await openWal(fileEngine("/loaded", { disk: new MemoryDisk() }), { records: [] })).close();

/** From this turn on, before so many more changes of the disk; 0: at once. */
export interface Death {
	readonly turn: number;
	readonly changes: number;
}

/** How many turns of the event loop nothing may happen in, before nothing ever will. */
const IDLE = 100;

interface Timer {
	readonly at: number;
	readonly run: () => void;
}

export class Schedule {
	readonly #disk: MortalDisk;
	readonly #random: Random;
	readonly #death: Death | undefined;
	/** What may go on, in any order. */
	readonly #waiting: (() => void)[] = [];
	/** The earliest first. */
	#timers: Timer[] = [];
	#now = 1_700_000_000_000;
	/** While anyone wants time to stand still. */
	#held = 0;
	#turns = 0;
	#isDead = false;

	constructor(disk: MortalDisk, random: Random, death?: Death) {
		this.#disk = disk;
		this.#random = random;
		this.#death = death;
	}

	get turns(): number {
		return this.#turns;
	}

	get isDead(): boolean {
		return this.#isDead || this.#disk.dead;
	}

	readonly turn = (): Promise<void> => new Promise((resolve) => this.#waiting.push(resolve));

	readonly promptly = async <T>(run: () => Promise<T>): Promise<T> => {
		this.#held++;
		try {
			return await run();
		} finally {
			this.#held--;
		}
	};

	readonly clock: Clock = { now: () => this.#now };

	readonly timers: Timers = {
		after: (ms, run) => {
			const timer = { at: this.#now + ms, run };
			this.#timers = [...this.#timers, timer].sort((a, b) => a.at - b.at);
			return () => {
				this.#timers = this.#timers.filter((each) => each !== timer);
			};
		},
	};

	/** Gives what the process gives; undefined when it dies first. Nothing that it has begun goes on then. */
	async run<T>(process: () => Promise<T>): Promise<T | undefined> {
		let outcome: PromiseSettledResult<T> | undefined;
		process().then(
			(value) => {
				outcome = { status: "fulfilled", value };
			},
			(reason) => {
				outcome = { status: "rejected", reason };
			},
		);
		for (let idle = 0; ; ) {
			// What was let go on goes as far as it can. A log that has worked for some real time lets the event loop have turns.
			for (let turns = 0; turns < 5; turns++) await nextTurn();
			if (this.isDead) return undefined;
			if (outcome?.status === "fulfilled") return outcome.value;
			if (outcome) throw outcome.reason;
			if (this.#choices === 0) {
				if (++idle > IDLE) throw new Error("the run waits for something that will never happen");
				continue;
			}
			idle = 0;
			this.#turns++;
			if (this.#turns === this.#death?.turn) this.#die(this.#death.changes);
			if (this.isDead) return undefined;
			this.#goOn();
		}
	}

	#die(changes: number): void {
		if (changes === 0) this.#isDead = true;
		else this.#disk.dieAt(changes);
	}

	/** Time stands still while anything else can go on. */
	get #timer(): Timer | undefined {
		return this.#held === 0 || this.#waiting.length === 0 ? this.#timers[0] : undefined;
	}

	get #choices(): number {
		return this.#waiting.length + (this.#timer ? 1 : 0);
	}

	#goOn(): void {
		const timer = this.#timer;
		const [resolve] = this.#waiting.splice(this.#random.below(this.#choices), 1);
		if (resolve) resolve();
		else if (timer) {
			this.#now = Math.max(this.#now, timer.at);
			this.#timers.shift();
			timer.run();
		}
	}
}

/** An engine whose writes take a turn each. */
export function inTurns(engine: LogEngine, turn: () => Promise<void>): LogEngine {
	return {
		...engine,
		log(realm) {
			const log = engine.log(realm);
			return {
				acquire: async (options) => {
					await turn();
					return log.acquire(options);
				},
				append: async (lease, expect, lines) => {
					await turn();
					return log.append(lease, expect, lines);
				},
				renew: (lease) => log.renew(lease),
				release: (lease) => log.release(lease),
				tail: () => log.tail(),
				read: (after, through, wants) => log.read(after, through, wants),
				subscribe: (after, options) => log.subscribe(after, options),
				truncateBefore: (lease, seq) => log.truncateBefore(lease, seq),
			};
		},
		blobs(realm) {
			const blobs = engine.blobs(realm);
			return {
				put: async (name, bytes) => {
					await turn();
					return blobs.put(name, bytes);
				},
				get: (name) => blobs.get(name),
				list: (prefix) => blobs.list(prefix),
				delete: (name) => blobs.delete(name),
			};
		},
	};
}
