/**
 * Stores lists as chunks. A leaf is a chunk of items, an inner node a chunk of references; each is stored once, under its hash, and
 * shared by all lists that contain it. The right edge of a list changes with every append, so it lies in the root itself.
 */
import { promisify } from "node:util";
import { zstdCompress, zstdDecompressSync } from "node:zlib";
import type { StandardSchemaV1 } from "@reyn/wal";
import { assertJson } from "@reyn/wal/internal";
import { z } from "zod";
import { fit } from "./fit.ts";
import { List } from "./list.ts";
import { inner, isLeaf, LEAF_ITEMS, leaf, lowered, NODE_CHILDREN, type Node } from "./list-node.ts";
import { chunkName, Damage, type SnapshotStore, sha256 } from "./store.ts";

/** The usual size of a leaf of 64 messages: the first buffer of a decompression has room for it. */
const USUAL_BYTES = 128 * 1024;
/** The largest chunk: no string of V8 is longer. The limit matters because a few hostile bytes could decompress to more. */
const MAX_BYTES = 512 * 1024 * 1024;
/** The limit for the height of a list that is read: no real list is so high. */
const MAX_HEIGHT = 12;

const ref = z.tuple([z.string().regex(/^[0-9a-f]{64}$/), z.int().positive()]);
const refs = z.array(ref).max(NODE_CHILDREN);
const nodeRefs = refs.min(1);
const leafItems = z.array(z.unknown()).min(1).max(LEAF_ITEMS);

export const storedList = z.strictObject({
	/** From the top down: the chunks to the left of the right edge. */
	levels: z.array(refs).max(MAX_HEIGHT),
	/** The items of the last leaf while it is less than half full. */
	tail: z.array(z.unknown()).max(LEAF_ITEMS),
});

/** A chunk, and how many items are in it and below. */
type Ref = z.infer<typeof ref>;
export type StoredList = z.infer<typeof storedList>;

/** Chunks that are not stored yet, by id. */
export type Fresh = Map<string, Uint8Array>;

interface Target {
	/** What the list is called, for errors. */
	readonly name: string;
	readonly store: SnapshotStore;
	readonly schema: ItemSchema;
	readonly fresh: Fresh;
}

/** The stored form of a list; chunks that are not stored yet are added to `fresh`. @throws WalError `WAL_NOT_JSON` naming the item */
export async function encodeList({ root }: List<unknown>, to: Target): Promise<StoredList> {
	const levels: Ref[][] = [];
	let edge = root;
	while (edge && !isLeaf(edge)) {
		levels.push(await encodeAll(edge.children.slice(0, -1), to));
		edge = edge.children.at(-1);
	}
	if (!edge || edge.count < LEAF_ITEMS / 2) {
		const tail = [...(edge?.items ?? [])];
		assertJson({ [to.name]: { tail } });
		return { levels, tail };
	}
	const last = await encodeNode(edge, to);
	return { levels: [...levels.slice(0, -1), [...(levels.at(-1) ?? []), last]], tail: [] };
}

/** @throws Damage; Misfit when an item does not fit `schema` */
export async function loadList(
	{ levels, tail }: StoredList,
	store: SnapshotStore,
	schema: ItemSchema,
): Promise<List<unknown>> {
	let edge: Node<unknown> | undefined = tail.length > 0 ? leaf(tail.map((item) => fit(schema, item))) : undefined;
	for (const [below, level] of levels.toReversed().entries()) {
		const children = await loadAll(level, below, store, schema);
		if (edge) children.push(edge);
		if (children.length > 0) edge = inner(children);
	}
	return new List(edge && lowered(edge));
}

/** Adds the chunks that a list needs to `found`. Inner nodes are read for that; leaves are not. @throws Damage */
export async function chunksOf({ levels }: StoredList, store: SnapshotStore, found: Set<string>): Promise<void> {
	for (const [below, level] of levels.toReversed().entries()) await visit(level, below);

	async function visit(level: readonly Ref[], height: number): Promise<void> {
		for (const [id] of level) {
			if (found.has(id)) continue;
			if (height > 0) await visit(await readNode(id, store), height - 1);
			found.add(id);
		}
	}
}

/** The schema of an item; absent where it is not known: a state of an older version. */
type ItemSchema = StandardSchemaV1<unknown, unknown> | undefined;

async function encodeAll(nodes: readonly Node<unknown>[], to: Target): Promise<Ref[]> {
	const encoded: Ref[] = [];
	for (const node of nodes) encoded.push(await encodeNode(node, to));
	return encoded;
}

async function encodeNode(node: Node<unknown>, to: Target): Promise<Ref> {
	if (node.chunk !== undefined && to.store.hasChunk(node.chunk)) return [node.chunk, node.count];
	const content = isLeaf(node) ? node.items : await encodeAll(node.children, to);
	assertJson({ [to.name]: { leaf: content } });
	const bytes = await compress(asAscii(JSON.stringify(content)));
	const id = sha256(bytes);
	to.fresh.set(id, bytes);
	named(node, id, to.store, to.schema);
	return [id, node.count];
}

/** The node with its chunk noted, and cached under it. */
function named(node: Node<unknown>, chunk: string, store: SnapshotStore, schema: ItemSchema): Node<unknown> {
	node.chunk = chunk;
	if (schema) store.nodes.set(schema, chunk, node);
	return node;
}

/** Loads nodes: leaves in parallel, inner nodes one after the other, which bounds the number of open files. */
async function loadAll(
	level: readonly Ref[],
	height: number,
	store: SnapshotStore,
	schema: ItemSchema,
): Promise<Node<unknown>[]> {
	if (height === 0) {
		const loaded = await Promise.allSettled(level.map((each) => loadNode(each, 0, store, schema)));
		// Waits for all even if one fails: a load that went on could mark a chunk as sound that is collected meanwhile.
		return loaded.map((each) => {
			if (each.status === "rejected") throw each.reason;
			return each.value;
		});
	}
	const nodes: Node<unknown>[] = [];
	for (const each of level) nodes.push(await loadNode(each, height, store, schema));
	return nodes;
}

async function loadNode(
	[id, count]: Ref,
	height: number,
	store: SnapshotStore,
	schema: ItemSchema,
): Promise<Node<unknown>> {
	const known = schema && store.nodes.get(schema, id);
	if (known?.count === count && known.height === height) return known;
	const node =
		height === 0
			? leaf((await readLeaf(id, store)).map((item) => fit(schema, item)))
			: inner(await loadAll(await readNode(id, store), height - 1, store, schema));
	if (node.count !== count) throw new Damage(chunkName(id), `holds ${node.count} items, expected ${count}`);
	// Children may come from the cache without a stored chunk, so each is checked.
	if (isLeaf(node) || node.children.every(({ chunk = "" }) => store.hasChunk(chunk))) store.markSound(id);
	return named(node, id, store, schema);
}

const readLeaf = (id: string, store: SnapshotStore): Promise<unknown[]> => read(id, store, leafItems);

const readNode = (id: string, store: SnapshotStore): Promise<Ref[]> => read(id, store, nodeRefs);

async function read<T>(id: string, store: SnapshotStore, shape: z.ZodType<T>): Promise<T> {
	const bytes = await store.chunk(id);
	try {
		// Synchronous: handing 64 items to a thread takes longer than decompressing them.
		const json = zstdDecompressSync(bytes, { chunkSize: USUAL_BYTES, maxOutputLength: MAX_BYTES });
		return shape.parse(JSON.parse(json.toString("latin1")));
	} catch (error) {
		throw new Damage(chunkName(id), (error as Error).message);
	}
}

const compress = promisify(zstdCompress) as (text: string) => Promise<Buffer>;

/** The same JSON in ASCII: it can be read as latin1, which is twice as fast as decoding UTF-8. */
const asAscii = (json: string): string =>
	json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
