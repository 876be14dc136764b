/** What is measured of a contender. */
import { mkdir, rm } from "node:fs/promises";
import { median } from "../figures.ts";
import type { Agent, Message, OpenAgent, Place } from "./agent.ts";
import { type Disk, diskOf } from "./disk.ts";

/** Every job is given how to open an agent, the directory of its store, all messages, and its own order. */
type Job<Order, Found> = (
	open: OpenAgent,
	directory: string,
	messages: readonly Message[],
	order: Order,
) => Promise<Found>;

export interface Run {
	/** The median step. */
	readonly ms: number;
	/** After each step. */
	readonly places: readonly Place[];
	/** The store opened and closed without a step, and then with all of them. */
	readonly empty: Disk;
	readonly disk: Disk;
}

/** All steps of an agent, in a new store. */
const run: Job<{ readonly steps: number }, Run> = async (open, directory, messages, { steps }) => {
	await mkdir(directory);
	await (await open(directory)).close();
	const empty = await diskOf(directory);
	const agent = await open(directory);
	const times: number[] = [];
	const places = await agent.run(messages.slice(0, steps), () => times.push(performance.now()));
	times.push(performance.now());
	await agent.close();
	const ms = median(times.slice(1).map((time, i) => time - (times[i] ?? time)));
	return { ms, places, empty, disk: await diskOf(directory) };
};

/** A state in what a run has left: after how many steps, and where that is. */
interface PastOrder {
	readonly after: number;
	readonly place: Place;
}

export interface Past {
	readonly openMs: number;
	/** Without opening. */
	readonly ms: number;
	/** It is the state that was there. */
	readonly right: boolean;
}

/** Reads a past state. */
const past: Job<PastOrder, Past> = (open, directory, messages, { after, place }) =>
	opened(open, directory, messages.slice(0, after), (agent) => agent.past(place));

/** Reads past states one after the other, as an agent that runs: it has its own state in memory. */
const live: Job<{ readonly now: Place; readonly then: readonly PastOrder[] }, Past> = async (
	open,
	directory,
	messages,
	{ now, then },
) => {
	const agent = await open(directory);
	const release = await agent.hold(now);
	const times: number[] = [];
	let right = true;
	for (const { after, place } of then) {
		globalThis.gc?.();
		const from = performance.now();
		const found = await agent.past(place);
		times.push(performance.now() - from);
		right &&= areSame(found, messages.slice(0, after));
	}
	release();
	await agent.close();
	return { openMs: 0, ms: median(times), right };
};

/** Goes on from a past state with another message. */
const fork: Job<PastOrder, Past> = (open, directory, messages, { after, place }) => {
	const other: Message = { role: "user", text: "Now the other way." };
	return opened(open, directory, [...messages.slice(0, after), other], (agent) => agent.fork(place, other));
};

export interface Loop {
	/** How long a checkpoint keeps the event loop busy: waiting for the disk is not in it. */
	readonly meanMs: number;
	readonly longestMs: number;
}

/** Checkpoints one by one, beyond a history of so many messages. */
const loop: Job<{ readonly history: number; readonly checkpoints: number }, Loop> = async (
	open,
	directory,
	messages,
	{ history, checkpoints },
) => {
	await mkdir(directory);
	const { halves, close } = await open(directory);
	if (!halves) throw new Error("a step of this agent has no halves");
	for (const message of messages.slice(0, history)) halves.add(message);
	await halves.checkpoint();
	globalThis.gc?.();
	const times: number[] = [];
	for (const message of messages.slice(history, history + checkpoints)) {
		halves.add(message);
		const before = performance.eventLoopUtilization();
		await halves.checkpoint();
		times.push(performance.eventLoopUtilization(before).active);
	}
	await close();
	await rm(directory, { recursive: true });
	return { meanMs: times.reduce((sum, ms) => sum + ms, 0) / times.length, longestMs: Math.max(...times) };
};

export const jobs = { run, past, live, fork, loop };
export type JobName = keyof typeof jobs;
export type OrderOf<Name extends JobName> = Parameters<(typeof jobs)[Name]>[3];
export type FoundOf<Name extends JobName> = Awaited<ReturnType<(typeof jobs)[Name]>>;

/** Opens the store anew, so that nothing is left of what was read before but the code and the cache of the system. */
async function opened(
	open: OpenAgent,
	directory: string,
	expected: readonly Message[],
	use: (agent: Agent) => Promise<readonly Message[]>,
): Promise<Past> {
	// What was read before is not collected while this is timed.
	globalThis.gc?.();
	const start = performance.now();
	const agent = await open(directory);
	const from = performance.now();
	const found = await use(agent);
	const ms = performance.now() - from;
	await agent.close();
	return { openMs: from - start, ms, right: areSame(found, expected) };
}

const areSame = (found: readonly Message[], expected: readonly Message[]): boolean =>
	found.length === expected.length && found.every(({ text }, i) => text === expected[i]?.text);
