/** Row 29, where all checksums are sound and what they are of is not: roots and chunks that somebody made. */
import assert from "node:assert/strict";
import { zstdCompressSync } from "node:zlib";
import type { Root } from "../../../packages/snapshot/src/snapshot.ts";
import { chunkName, rootName, sha256 } from "../../../packages/snapshot/src/store.ts";
import type { Case, Settings } from "../fault.ts";
import { judge, type Story, tell } from "./story.ts";
import { scope } from "./talk.ts";

type StoredList = Root["states"][string]["lists"][string];

export const withSoundSums: readonly Case[] = [
	{ name: "roots that are no JSON, deep, or none of ours", run: (settings) => judged(rawRoots, settings) },
	{ name: "roots with hostile fields", run: (settings) => judged(editedRoots, settings) },
	{ name: "lists with hostile counts, levels and tails", run: (settings) => judged(editedLists, settings) },
	{ name: "a list that the projection does not have", run: (settings) => judged(otherLists, settings) },
	{ name: "hostile chunks", run: (settings) => judged(chunks, settings) },
	{ name: "chunks of another height", run: (settings) => judged(otherHeights, settings) },
];

/** A root with other JSON, and the checksum of that. */
export function withSum(root: Uint8Array, change: (json: string) => string): Uint8Array {
	const json = change(Buffer.from(root).toString().split("\n")[1] ?? "");
	return Buffer.from(`${sha256(json)}\n${json}\n`);
}

/** A store with one root changed, and some chunks more. */
interface Hostile {
	readonly what: string;
	readonly change: (json: string) => string;
	readonly more?: readonly (readonly [name: string, bytes: Uint8Array])[];
}

async function judged(
	all: (story: Story, settings: Settings) => Iterable<Hostile>,
	settings: Settings,
): Promise<string> {
	const wrong: string[] = [];
	let [made, cases, aside] = [0, 0, 0];
	const higher = settings.short ? [] : [await tell(3600, [3400, 3550], "grows")];
	for (const story of [await tell(260, [90, 180, 250]), ...higher])
		for (const { what, change, more = [] } of all(story, settings)) {
			if (settings.brief && made++ % 4 !== settings.seed % 4) continue;
			const name = rootName(scope, story.captured.at(-1) ?? 0);
			const root = withSum(story.blobs.get(name) as Uint8Array, change);
			const { outcome, why } = await judge(story, new Map([...story.blobs, ...more, [name, root]]));
			cases++;
			if (outcome === "set aside") aside++;
			if (outcome === "undetected" || outcome === "refused") wrong.push(`${what}: ${why}`);
		}
	assert.deepEqual(wrong, [], `${wrong.length} of ${cases}: ${wrong.slice(0, 20).join("\n")}`);
	return `${cases} of ${cases}: the state is the log's, ${aside} times something was set aside`;
}

function* rawRoots(): Generator<Hostile> {
	for (const json of ["", "{", "null", "1", "[]", '"x"', "{}", '{"v":1', "\0"])
		yield { what: `the root ${JSON.stringify(json)}`, change: () => json };
	for (const [open, close] of [
		["[", "]"],
		['{"a":', "}"],
		['{"v":1,"states":', "}"],
	] as const)
		for (const depth of [10_000, 1_000_000]) {
			yield { what: `${depth} times ${open}`, change: () => open.repeat(depth) };
			yield { what: `${depth} times ${open}${close}`, change: () => `${open.repeat(depth)}1${close.repeat(depth)}` };
		}
}

const POLLUTED = '"__proto__":{"polluted":1}';

function* editedRoots(): Generator<Hostile> {
	for (const [from, to] of [
		["{", `{${POLLUTED},`],
		["{", '{"constructor":{"prototype":{"polluted":1}},'],
		['"scope":{', `"scope":{${POLLUTED},`],
		['"scope":{', '"scope":{"toString":1,'],
		['"scope":{', '"scope":[],"was":{'],
		['"states":{', `"states":{${POLLUTED},`],
		['"states":{', '"states":{"__proto__":{"version":1,"lists":{},"state":{}},'],
		['"states":{"talk"', '"states":{"__proto__"'],
		['"talk":', '"other":'],
		['"talk":{', `"talk":{${POLLUTED},`],
		['"state":{"said"', `"state":{${POLLUTED},"said"`],
		['"state":{"said":', '"state":{"said":"x","more":'],
		['"state":{"said":', `"state":{"said":${"[".repeat(10_000)}1${"]".repeat(10_000)},"more":`],
		['"state":{"of ', `"state":{${POLLUTED},"of `],
		['"tally":{', '"tally":{"more":1,'],
		['"kinds":["numbered"', '"kinds":["other"'],
		['"kinds":["numbered"', '"kinds":["numbered","other"'],
		['"kinds":["numbered"', `"kinds":[{${POLLUTED}}`],
		['"kinds":[', '"kinds":null,"more":['],
		['"tally":{"version":1', '"tally":{"version":0'],
		['"tally":{"version":1', '"tally":{"version":-1'],
		['"tally":{"version":1', '"tally":{"version":1.5'],
		['"tally":{"version":1', '"tally":{"version":1e308'],
		['"tally":{"version":1', '"tally":{"version":null'],
		['"v":1', '"v":0'],
		['"v":1', '"v":-1'],
		['"v":1', '"v":"2"'],
		['"v":1', '"v":null'],
		['"seq":', '"seq":1'],
		['"seq":', '"seq":-'],
		['"seq":', '"seq":1e308,"was":'],
		['"seq":', '"seq":"250","was":'],
		['"crc":"', '"crc":"0'],
		['"crc":"', '"crc":1,"was":"'],
		['"log":"', '"log":"0'],
		['"log":"', '"log":null,"was":"'],
	] as const)
		yield {
			what: `${from} as ${to.slice(0, 80)}`,
			change(json) {
				assert.ok(json.includes(from), from);
				return json.replace(from, to);
			},
		};
}

function* editedLists(): Generator<Hostile> {
	const edits: [what: string, edit: (list: Mutable) => unknown][] = [
		["no levels", (list) => delete list.levels],
		["no tail", (list) => delete list.tail],
		["more in it", (list) => Object.assign(list, { more: 1 })],
		["levels that are text", (list) => Object.assign(list, { levels: "x" })],
		["13 levels", (list) => list.levels?.unshift(...Array.from({ length: 13 }, () => []))],
		["100,000 levels", (list) => list.levels?.unshift(...Array.from({ length: 100_000 }, () => []))],
		["33 references", (list) => list.levels?.splice(-1, 1, Array(33).fill(firstRef(list)))],
		["a reference missing", (list) => list.levels?.at(-1)?.splice(0, 1, [])],
		["a reference to more", (list) => firstRef(list)?.push(1)],
		[
			"a reference of an object",
			(list) => list.levels?.at(-1)?.splice(0, 1, { 0: firstRef(list)?.[0], 1: 64 } as never),
		],
		["an empty level below", (list) => list.levels?.push([])],
		["65 items in the tail", (list) => Object.assign(list, { tail: Array(65).fill("x") })],
		["10^6 items in the tail", (list) => Object.assign(list, { tail: Array(1e6).fill("x") })],
		["a tail that is text", (list) => Object.assign(list, { tail: "x" })],
		["a tail that is an object", (list) => Object.assign(list, { tail: { length: 2, 0: "x" } })],
		["a number in the tail", (list) => list.tail?.push(1)],
		["null in the tail", (list) => list.tail?.push(null)],
		["a depth in the tail", (list) => list.tail?.push(nested(1000))],
	];
	for (const id of ["", "x", "../../log", "A".repeat(64), "0".repeat(64), "0".repeat(1e6), null, {}, "__proto__"])
		edits.push([`the hash ${JSON.stringify(id).slice(0, 20)}`, (list) => list.levels?.at(-1)?.splice(0, 1, [id, 64])]);
	for (const count of [0, -1, -64, 1, 63, 65, 1.5, 2 ** 53 - 1, 2 ** 53, 1e308, "64", null, true, [64]])
		edits.push([`the count ${JSON.stringify(count)}`, (list) => firstRef(list)?.splice(1, 1, count)]);
	for (const [what, edit] of edits) yield { what, change: edited((lists) => edit(lists.texts as Mutable)) };
	yield { what: "no list at all", change: edited((lists) => delete lists.texts) };
}

function* otherLists(): Generator<Hostile> {
	for (const name of ["__proto__", "constructor", "toString"])
		yield {
			what: `talk has "${name}"`,
			change: (json) => json.replace('"lists":{', `"lists":{"${name}":${JSON.stringify(ONE_ITEM)},`),
		};
	for (const name of ["said", "other"])
		yield { what: `talk has "${name}"`, change: edited((lists) => Object.assign(lists, { [name]: ONE_ITEM })) };
	for (const name of ["of 1", "other"])
		yield {
			what: `tally has "${name}"`,
			change: edited((lists) => Object.assign(lists, { [name]: ONE_ITEM }), "tally"),
		};
}

function* chunks(_: Story, { short }: Settings): Generator<Hostile> {
	const leaves: [what: string, bytes: Uint8Array, count?: number][] = [
		["no bytes", Buffer.alloc(0)],
		["no zstd", Buffer.from('["x"]')],
		["half of it", packed(JSON.stringify(Array(64).fill("x"))).subarray(0, 12)],
		["no JSON", packed("[")],
		["an object", packed('{"length":64,"0":"x"}')],
		["null", packed("null")],
		["no items", packed("[]")],
		["65 items", packed(JSON.stringify(Array(65).fill("x"))), 65],
		["numbers", packed(JSON.stringify(Array(64).fill(1)))],
		["objects with a prototype", packed(`[${Array(64).fill(`{${POLLUTED}}`)}]`)],
		["10^6 deep", packed(`${"[".repeat(1e6)}${"]".repeat(1e6)}`), 1],
		["10^8 blanks", packed(`[${" ".repeat(short ? 1e6 : 1e8)}]`)],
		["6 * 10^8 characters", packed(`["${"x".repeat(short ? 1e6 : 5.3e8)}", 1]`), 2],
	];
	for (const [what, bytes, count = 64] of leaves) {
		const id = sha256(bytes);
		const ref = [id, count];
		const more = [[chunkName(id), bytes]] as const;
		yield { what, more, change: edited(({ texts }) => (texts as Mutable).levels?.at(-1)?.splice(0, 1, ref)) };
	}
}

/** A leaf where a node belongs, and the other way round; nodes that name too many, or none. */
function* otherHeights({ blobs, captured }: Story): Generator<Hostile> {
	const root = Buffer.from(blobs.get(rootName(scope, captured.at(-1) ?? 0)) ?? "").toString();
	const { levels = [] } = (JSON.parse(root.split("\n")[1] ?? "") as Root).states.talk?.lists.texts ?? {};
	const [top, leaf] = [levels[0]?.[0], levels.at(-1)?.[0]];
	assert.ok(top && leaf);
	const at = (what: string, height: number, ref: unknown, more: Hostile["more"] = []): Hostile => ({
		what,
		more,
		change: edited(({ texts }) => {
			const list = texts as Mutable;
			while ((list.levels?.length ?? 0) <= height) list.levels?.unshift([]);
			list.levels?.at(-1 - height)?.splice(0, 1, ref as unknown[]);
		}),
	});
	yield at("a leaf as a node", 1, leaf);
	yield at("a leaf two levels up", 2, leaf);
	yield at("a leaf at the top", 11, leaf);
	if (levels.length > 1) yield at("a node as a leaf", 0, top);
	if (levels.length > 1) yield at("a node one level up", levels.length, top);
	for (const [what, refs, count] of [
		["no references", [], 64],
		["33 references", Array(33).fill(leaf), 33 * leaf[1]],
		["a count that lies", [[leaf[0], leaf[1] + 1]], leaf[1] + 1],
		["a reference to what is not there", [["0".repeat(64), 64]], 64],
		["a negative count", [leaf, [leaf[0], -1]], leaf[1] - 1],
		["items", ["x"], 1],
	] as const) {
		const bytes = packed(JSON.stringify(refs));
		const id = sha256(bytes);
		yield at(`a node of ${what}`, 1, [id, count], [[chunkName(id), bytes]]);
		if (what !== "items")
			yield at(`a leaf of ${what} of a node`, 0, [id, Math.max(refs.length, 1)], [[chunkName(id), bytes]]);
	}
}

type Mutable = { levels?: unknown[][]; tail?: unknown[] };

const ONE_ITEM: StoredList = { levels: [], tail: ["x"] };

const firstRef = ({ levels }: Mutable): unknown[] | undefined => levels?.at(-1)?.[0] as unknown[] | undefined;

const edited =
	(edit: (lists: Record<string, unknown>) => unknown, projection = "talk"): Hostile["change"] =>
	(json) => {
		const root = JSON.parse(json) as Root;
		edit(root.states[projection]?.lists ?? {});
		return JSON.stringify(root);
	};

const packed = (json: string): Uint8Array => zstdCompressSync(json);

function nested(depth: number): unknown {
	let value: unknown = 1;
	for (let i = 0; i < depth; i++) value = [value];
	return value;
}
