/** A full disk: what is paid for is kept in mind until there is space, and nothing is called that could not be recorded. */
import { type Appender, WalError } from "@reyn/wal";
import { describe, expect, test } from "vitest";
import { Lane, type Step, type StepEvent, type Using } from "../src/index.ts";
import { DyingLog, quiet, SimulatedTime, scope, using } from "./dying-log.ts";

const full = (): WalError => new WalError("WAL_FULL", "the disk is full", {});

/** A disk that has no space for so many writes, from one of them on. */
class FullDisk {
	readonly log = new DyingLog();
	readonly time = new SimulatedTime();
	readonly events: StepEvent[] = [];
	calls = 0;
	refusals = 0;
	#writes = 0;
	readonly #from: number;
	readonly #until: number;

	constructor(from: number, refusals: number) {
		this.#from = from;
		this.#until = from + refusals;
	}

	write<T>(done: () => T, why: () => Error): T {
		const at = this.#writes++;
		if (at < this.#from || at >= this.#until) return done();
		this.refusals++;
		throw why();
	}

	lane(more: Partial<Using> = {}): Lane {
		const log: Appender = { append: (draft, at) => this.write(() => this.log.append(draft, at), full) };
		const { time } = this;
		return new Lane(
			"job",
			scope,
			using(this.log, { log, clock: time, timers: time, observe: (event) => this.events.push(event), ...more }),
		);
	}

	step(purity: Step<string>["purity"], result = "done"): Step<string> {
		return { kind: "step", name: "s", args: {}, purity, call: async () => `${result} ${++this.calls}` };
	}

	get told(): readonly string[] {
		return this.events.filter(({ type }) => type === "no_space").map((event) => (event as { code: string }).code);
	}
}

describe("while the disk is full", () => {
	test("an answer that was paid for waits, is recorded once, and is not asked for again", async () => {
		const disk = new FullDisk(0, 3);
		expect(await disk.time.until(disk.lane().perform(disk.step("llm")))).toBe("done 1");
		expect([disk.calls, disk.refusals, disk.told]).toEqual([1, 3, ["WAL_FULL"]]);
		expect(disk.log.kinds).toEqual(["step_completed"]);
		expect(await disk.lane().perform(disk.step("llm"))).toBe("done 1");
	});

	test("an effect is not made before its start is recorded", async () => {
		const disk = new FullDisk(0, 2);
		const work = disk.lane().perform(disk.step("side_effect"));
		await quiet();
		expect([disk.calls, disk.told]).toEqual([0, ["WAL_FULL"]]);
		expect(await disk.time.until(work)).toBe("done 1");
		expect(disk.log.kinds).toEqual(["step_started", "step_completed"]);
	});

	test("an effect that failed is remembered as that", async () => {
		const disk = new FullDisk(1, 2);
		const step: Step<string> = { ...disk.step("side_effect"), call: () => Promise.reject(new Error("no")) };
		const work = disk.lane().perform(step);
		const ended = expect(work).rejects.toThrow("no");
		await disk.time.until(work).catch(() => {});
		await ended;
		expect(disk.log.kinds).toEqual(["step_started", "step_failed"]);
	});

	test.each([
		["no space", "ENOSPC"],
		["no quota left", "EDQUOT"],
		["a limit of the size of files", "EFBIG"],
		["a full database", "WAL_FULL"],
	])("a result that lies beside the log waits too: %s", async (_, code) => {
		const disk = new FullDisk(0, 2);
		const noSpace = (): Error => Object.assign(new Error(`${code}: it does not fit`), { code });
		const blobs = new Map<string, Uint8Array>();
		const results: Using["results"] = {
			put: async (name, bytes) => disk.write(() => void blobs.set(name, bytes), noSpace),
			get: async (name) => blobs.get(name),
			list: async () => [],
			delete: async () => {},
		};
		const large = disk.step("llm", "x".repeat(40_000));
		const answer = await disk.time.until(disk.lane({ results }).perform(large));
		expect([answer.length, disk.calls, disk.told, blobs.size]).toEqual([40_002, 1, [code], 1]);
	});

	test("who is told to stop does not wait", async () => {
		const disk = new FullDisk(0, Number.POSITIVE_INFINITY);
		const stop = new AbortController();
		const work = disk.lane({ signal: stop.signal }).perform(disk.step("llm"));
		const ended = expect(work).rejects.toThrow("stopped");
		await quiet();
		stop.abort(new Error("stopped"));
		await ended;
		expect(disk.time.waiting).toBe(0);
	});

	test("any other trouble of the disk is no reason to wait", async () => {
		const disk = new FullDisk(0, 1);
		const log: Appender = {
			append: () => {
				throw new WalError("WAL_POISONED", "a sync has failed", {});
			},
		};
		await expect(disk.lane({ log }).perform(disk.step("llm"))).rejects.toMatchObject({ code: "WAL_POISONED" });
		expect(disk.told).toEqual([]);
	});
});
