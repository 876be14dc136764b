/** Who is measured when: in a round all of them, one after the other, so that a busy moment of the machine is one of all. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Rival } from "../rival.ts";
import type { Request } from "./contend.ts";
import { type Contender, contenders, RAW } from "./contenders.ts";
import type { FoundOf, JobName, Resumed, Started } from "./jobs.ts";
import type { Served } from "./postgres.ts";

export interface Figures {
	readonly started: Started;
	readonly resumed: Resumed;
	/** Of our own log, in the process that has just resumed it. */
	readonly parseMs?: number;
}

/** By the names of the contenders. */
export type Round = ReadonlyMap<string, Figures>;

export interface Measured {
	readonly steps: number;
	readonly rounds: readonly Round[];
}

export interface Skipped {
	readonly name: string;
	readonly why: string;
}

interface Order {
	/** The lengths of the work. */
	readonly steps: readonly number[];
	readonly rounds: number;
}

const programs = {
	contender: join(import.meta.dirname, "contend.ts"),
	server: join(import.meta.dirname, "postgres.ts"),
};

export async function measure(
	directory: string,
	{ steps, rounds }: Order,
): Promise<{ readonly measured: readonly Measured[]; readonly skipped: readonly Skipped[] }> {
	const server = await Rival.start("postgres", programs.server, join(directory, "postgres"));
	try {
		const { able, skipped } = await ableOver(server);
		const address = server instanceof Rival ? (await server.ask<Served>({})).address : "";
		const measured = steps.map((count) => ({ steps: count, rounds: [] as Round[] }));
		for (let round = 0; round < rounds; round++) {
			for (const { steps: count, rounds: found } of measured) {
				console.error(`round ${round + 1} of ${rounds}: ${count} steps`);
				found.push(await measureRound(able, { directory, address, round, steps: count }));
			}
		}
		return { measured, skipped };
	} finally {
		if (server instanceof Rival) await server.end();
	}
}

/** Those that can be loaded here. */
async function ableOver(
	server: Rival | { readonly skipped: string },
): Promise<{ readonly able: readonly Contender[]; readonly skipped: readonly Skipped[] }> {
	const able: Contender[] = [];
	const skipped: Skipped[] = [];
	for (const contender of contenders) {
		const { name, ours, onServer } = contender;
		const rival = onServer && !(server instanceof Rival) ? server : await Rival.start(name, programs.contender, "");
		if (rival instanceof Rival) {
			await rival.end();
			able.push(contender);
		} else if (ours || name === RAW) throw new Error(`${name}: ${rival.skipped}`);
		else skipped.push({ name, why: rival.skipped });
	}
	return { able, skipped };
}

interface Place {
	readonly directory: string;
	/** Of the server. */
	readonly address: string;
	readonly round: number;
	readonly steps: number;
}

async function measureRound(able: readonly Contender[], { directory, address, round, steps }: Place): Promise<Round> {
	const found = new Map<string, Figures>();
	// Another order in each round: what one leaves behind is not always met by the same.
	const turn = round % able.length;
	for (const { name, ours, onServer } of [...able.slice(turn), ...able.slice(0, turn)]) {
		const store = `round_${round}_${steps}`;
		const at = onServer ? `${address}/${store}` : join(directory, store);
		if (!onServer) await mkdir(at);
		const started = await inProcess(name, at, steps, (ask) => ask("start"));
		const later = await inProcess(name, at, steps, async (ask) => ({
			resumed: await ask("resume"),
			...(ours && { parseMs: await ask("parse") }),
		}));
		found.set(name, { started, ...later });
		if (!onServer) await rm(at, { recursive: true });
	}
	return found;
}

type Ask = <Name extends JobName>(job: Name) => Promise<FoundOf<Name>>;

/** Jobs with one contender, in a process that is ended then, whatever is under way in it. */
async function inProcess<Found>(
	name: string,
	at: string,
	steps: number,
	run: (ask: Ask) => Promise<Found>,
): Promise<Found> {
	const rival = await Rival.start(name, programs.contender, at);
	if (!(rival instanceof Rival)) throw new Error(`${name}: ${rival.skipped}`);
	try {
		return await run(async (job) => {
			const { found } = await rival.ask<{ found: FoundOf<typeof job> }>({ job, steps } satisfies Request);
			return found;
		});
	} finally {
		await rival.end();
	}
}
