/** Row 29: snapshots damaged, mixed up, rolled back, of another log or a newer format, in memory. The log is the truth. */
import assert from "node:assert/strict";
import { seeded } from "../../kit/seeded.ts";
import { type Case, type Fault, runCases, type Settings } from "../fault.ts";
import { prototypes } from "../lab/prototypes.ts";
import { withOtherLogs } from "./rotten-logs.ts";
import { withSoundSums } from "./rotten-sums.ts";
import { type Blobs, judge, type Outcome, type Story, tell } from "./story.ts";

interface Damage {
	readonly name: string;
	readonly blobs: Blobs;
}

type Damages = (of: Story, settings: Settings) => Iterable<Damage>;

/** Of a blob up to this size every bit is flipped. */
const SMALL = 1024;

const cases: readonly Case[] = [
	{
		name: "every bit or byte of each blob",
		run: async (settings) => judged(await few(), bits, "quick", settings),
	},
	{
		name: "some bits of a list three levels high",
		run: async (settings) => judged(await many(), someBits, "quick", settings),
	},
	{
		name: "blobs of every length",
		run: async (settings) => judged(await few(), lengths, "quick", settings),
	},
	{
		name: "blobs gone, empty, doubled, swapped, another's",
		run: async (settings) => judged(await few(), mixedUp, "whole", settings),
	},
	{
		name: "a root in the place of another scope's",
		run: async (settings) => judged(await few(), otherScopes, "whole", settings),
	},
	{
		name: "the owner's blob in the place of another, and the other way round",
		run: async (settings) => judged(await few(), owners, "whole", settings),
	},
	{
		name: "blobs gone, empty, doubled of a list three levels high",
		run: async (settings) => judged(await many(), settings.short ? aFew(broken) : broken, "whole", settings),
	},
	{
		name: "the store as it was before, whole or a part of it",
		run: async (settings) => judged(await few(), rolledBack, "whole", settings),
	},
	...withOtherLogs,
	...withSoundSums,
];

export const fault: Fault = {
	name: "rotten",
	title: "snapshots damaged, mixed up, hostile, of another log, newer than the log or than Reyn",
	promise: "the state is the log's",
	rows: [
		{
			row: 29,
			title: "snapshots rotten: every bit and byte, every length; gone, empty, doubled, swapped, rolled back",
			how: "in memory: two scopes, a list in chunks and a plain state; some of a list three levels high",
			promise:
				"the state is the log's at every seq that is looked at; what was there is still there; the next snapshot is stored and used",
			seen: "undetected 0 of 41,980 cases, 40,844 set aside",
		},
		{
			row: 29,
			title: "newer than the log, of another log, of a newer format",
			how: "the log as it was before beside newer snapshots; a store and a root of another log; format 2, a newer version of a state",
			promise:
				"refused as lost records when the snapshot is taken as proof; without it not used, also where other records have the same seqs; another log's store refused, its roots passed over; newer: refused with seq and version; nothing changed",
			seen: "3 of 3 refused; 1,464 of 1,464 states the log's; store refused; 12 of 12 roots passed over; 4 of 4 refused",
		},
		{
			row: 29,
			title: "checksums sound, and hostile what they are of",
			how: "roots and chunks that were made: no JSON, depth 10^6, `__proto__`, counts, levels, heights and tails that lie",
			promise: "as if they were rotten, or of another; prototypes unchanged",
			seen: "212 of 212; prototypes unchanged",
		},
	],
	needs: () => undefined,
	async run(settings) {
		const before = prototypes();
		const figures = await runCases(cases, settings);
		assert.deepEqual(prototypes(), before, "a prototype was changed");
		return { ...figures, prototypes: "unchanged" };
	},
};

const few = (): Promise<Story> => tell(260, [90, 180, 250]);
const many = (): Promise<Story> => tell(3600, [3400, 3550], "grows");

async function judged(story: Story, damages: Damages, how: "quick" | "whole", settings: Settings): Promise<string> {
	const counts: Record<Outcome, number> = { "set aside": 0, "passed over": 0, refused: 0, undetected: 0 };
	const undetected: string[] = [];
	let cases = 0;
	let made = 0;
	for (const { name, blobs } of damages(story, settings)) {
		if (settings.brief && made++ % 10 !== settings.seed % 10) continue;
		const { outcome, why } = await judge(story, blobs, how);
		cases++;
		counts[outcome]++;
		if (outcome === "undetected") undetected.push(`${name}: ${why}`);
		// Only the blob that says whose the store is may be why none of it is used.
		const isOurs = Buffer.from(blobs.get("log") ?? "").equals(story.blobs.get("log") ?? Buffer.from("?"));
		if (outcome === "refused" && isOurs) undetected.push(`${name}: refused, ${why}`);
	}
	const figures = `${cases} cases: ${Object.entries(counts)
		.map(([what, count]) => `${what} ${count}`)
		.join(", ")}`;
	if (undetected.length > 0) throw new Error(`${figures}\n${undetected.slice(0, 40).join("\n")}`);
	return figures;
}

function* bits({ blobs }: Story, { short, seed }: Settings): Generator<Damage> {
	const random = seeded(seed);
	for (const [name, bytes] of blobs)
		for (let at = 0; at < bytes.length; at++) {
			if (short && random() > 0.01) continue;
			const all = bytes.length <= SMALL ? [0, 1, 2, 3, 4, 5, 6, 7] : [random.below(8)];
			for (const bit of all) yield withByte(blobs, name, at, (byte) => byte ^ (1 << bit), `bit ${bit}`);
			if (bytes[at] !== 0) yield withByte(blobs, name, at, () => 0, "zero");
		}
}

function* someBits({ blobs }: Story, { short, seed }: Settings): Generator<Damage> {
	const random = seeded(seed);
	for (const [name, bytes] of blobs)
		for (let i = 0; i < 20; i++) {
			if (short && random() > 0.01) continue;
			const bit = random.below(8);
			yield withByte(blobs, name, random.below(bytes.length), (byte) => byte ^ (1 << bit), `bit ${bit}`);
		}
}

function* lengths({ blobs }: Story, { short, seed }: Settings): Generator<Damage> {
	const random = seeded(seed);
	for (const [name, bytes] of blobs)
		for (let length = 1; length < bytes.length; length++)
			if (!short || random.chance(0.01))
				yield { name: `${name} cut to ${length}`, blobs: replaced(blobs, name, bytes.subarray(0, length)) };
}

function* mixedUp(story: Story): Generator<Damage> {
	yield* broken(story);
	for (const { names, ...damage } of pairs(story)) if (!isOneSeq(names) && !names.includes("log")) yield damage;
}

/** Of one record, so that the scope alone tells them apart. */
function* otherScopes(story: Story): Generator<Damage> {
	for (const { names, ...damage } of pairs(story)) if (isOneSeq(names)) yield damage;
}

function* owners(story: Story): Generator<Damage> {
	for (const { names, ...damage } of pairs(story)) if (names.includes("log")) yield damage;
}

const isOneSeq = ([a, b]: readonly [string, string]): boolean =>
	a.startsWith("roots/") && a.slice(-20) === b.slice(-20);

function* pairs({ blobs }: Story): Generator<Damage & { readonly names: readonly [string, string] }> {
	for (const [name, bytes] of blobs)
		for (const [other, its] of blobs) {
			if (name === other) continue;
			const instead = replaced(blobs, name, its);
			yield { name: `${other} instead of ${name}`, names: [name, other], blobs: instead };
			if (name > other) continue;
			yield { name: `${name} and ${other} swapped`, names: [name, other], blobs: replaced(instead, other, bytes) };
		}
}

function* broken({ blobs }: Story): Generator<Damage> {
	for (const [name, bytes] of blobs) {
		yield { name: `${name} gone`, blobs: replaced(blobs, name, undefined) };
		yield { name: `${name} empty`, blobs: replaced(blobs, name, new Uint8Array()) };
		yield { name: `${name} zeros`, blobs: replaced(blobs, name, new Uint8Array(bytes.length)) };
		yield { name: `${name} doubled`, blobs: replaced(blobs, name, Buffer.concat([bytes, bytes])) };
	}
	for (const kind of ["roots/", "chunks/", "l"])
		yield { name: `all ${kind} gone`, blobs: new Map([...blobs].filter(([name]) => !name.startsWith(kind))) };
}

const aFew = (all: Damages): Damages =>
	function* (story, settings) {
		const random = seeded(settings.seed);
		for (const damage of all(story, settings)) if (random.chance(0.05)) yield damage;
	};

/** Roots of one time, chunks of another. */
function* rolledBack({ copies }: Story): Generator<Damage> {
	for (const [i, roots] of [...copies, new Map<string, Uint8Array>()].entries())
		for (const [j, chunks] of [...copies, new Map<string, Uint8Array>()].entries()) {
			const parts = [...roots].filter(([name]) => !name.startsWith("chunks/"));
			yield {
				name: `roots of copy ${i}, chunks of copy ${j}`,
				blobs: new Map([...parts, ...[...chunks].filter(([name]) => name.startsWith("chunks/"))]),
			};
		}
}

function withByte(blobs: Blobs, name: string, at: number, change: (byte: number) => number, what: string): Damage {
	const bytes = Uint8Array.from(blobs.get(name) ?? []);
	bytes[at] = change(bytes[at] ?? 0);
	return { name: `${what} of byte ${at} of ${name}`, blobs: replaced(blobs, name, bytes) };
}

function replaced(blobs: Blobs, name: string, bytes: Uint8Array | undefined): Blobs {
	const next = new Map(blobs);
	if (bytes) next.set(name, bytes);
	else next.delete(name);
	return next;
}
