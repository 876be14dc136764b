/** Stores and loads the results of steps: JSON in the record up to 32 KiB, above that beside the log under its hash. */
import { hash } from "node:crypto";
import { types } from "node:util";
import { type BlobStore, isReynError, WalError } from "@reyn/wal";
import { filesOf } from "./attached-file.ts";
import { nameOf } from "./blob-name.ts";
import { JournalError, readable, reasonOf } from "./errors.ts";

/** Bytes of JSON up to which a result goes into its record. */
export const INLINE_BYTES = 32 * 1024;

/** Levels of nesting of a result: a record holds 64, and some are around the result. */
const MAX_LEVELS = 60;

export interface StoredResult {
	readonly result?: unknown;
	/** JSON pointers (RFC 6901) to the strings that are bytes in base64. */
	readonly binary?: readonly string[] | undefined;
	/** `files`: the hashes of the attached files that it names. */
	readonly spilled?:
		| { readonly sha256: string; readonly bytes: number; readonly files?: readonly string[] | undefined }
		| undefined;
}

/**
 * Stores a result. One that is too large for a record is durable beside the log when this resolves; without `blobs` it goes into the
 * record all the same.
 *
 * @param redact takes secrets out of a text
 * @param inlineBytes up to so many bytes of JSON go into the record
 * @throws WalError `WAL_NOT_JSON`, `WAL_TOO_LARGE` naming the field
 */
export async function storeResult(
	result: unknown,
	blobs?: BlobStore,
	redact?: (text: string) => string,
	inlineBytes = INLINE_BYTES,
): Promise<StoredResult> {
	const { json, binary } = toJson(result, redact);
	const more = binary.length > 0 ? { binary } : {};
	if (json === undefined) return { result: json, ...more };
	// A character takes at most six bytes in JSON, so most texts need not be serialised to be measured.
	if (typeof json === "string" && json.length * 6 < inlineBytes) return { result: json, ...more };
	if (!blobs) return { result: json, ...more };
	const bytes = Buffer.from(JSON.stringify(json));
	if (bytes.length <= inlineBytes) return { result: json, ...more };
	const sha256 = hash("sha256", bytes, "hex");
	await blobs.put(nameOf(sha256), bytes);
	const files = filesOf(json).map((file) => file.sha256);
	return { spilled: { sha256, bytes: bytes.length, ...(files.length > 0 ? { files } : {}) }, ...more };
}

/**
 * Loads a stored result, as it was given to {@link storeResult}.
 *
 * @throws JournalError `RESULT_LOST` when it lies beside the log, and is missing or changed there
 */
export async function loadResult({ result, binary, spilled }: StoredResult, blobs?: BlobStore): Promise<unknown> {
	// A copy: the caller may change it, and neither the log nor the next caller must see that.
	const json = spilled ? await readSpilled(spilled, blobs) : copyOf(result);
	return binary ? withBytes(json, binary) : json;
}

/** A copy of JSON, for a fraction of the cost of a structured clone. */
function copyOf(json: unknown): unknown {
	if (typeof json !== "object" || json === null) return json;
	if (Array.isArray(json)) return json.map(copyOf);
	const copy: Record<string, unknown> = { ...json };
	for (const key in copy) copy[key] = copyOf(copy[key]);
	return copy;
}

async function readSpilled(spilled: { sha256: string; bytes: number }, blobs?: BlobStore): Promise<unknown> {
	const bytes = await blobs?.get(nameOf(spilled.sha256), spilled.bytes).catch((error: { code?: unknown }) => {
		throw error.code === "WAL_TOO_LARGE" ? lost(spilled.sha256, `has changed: ${(error as Error).message}`) : error;
	});
	if (!bytes)
		throw lost(spilled.sha256, blobs ? "is missing" : "cannot be read, since no store of results is given here");
	if (hash("sha256", bytes, "hex") !== spilled.sha256)
		throw lost(spilled.sha256, `has changed: ${bytes.length} bytes of ${spilled.bytes}, or others`);
	return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
}

function lost(sha256: string, why: string): JournalError {
	return new JournalError(
		"RESULT_LOST",
		`the recorded result ${sha256} ${why}; bring ${nameOf(sha256)} back from a copy, or rewind to before this step`,
		{ sha256 },
	);
}

/**
 * The value as JSON would have it, with three changes: bytes become base64, texts and names of fields are redacted (bytes are not),
 * and half a character, as a cut leaves one, becomes U+FFFD.
 * The value itself is returned when nothing has to change.
 *
 * @returns `binary`: JSON pointers (RFC 6901) to the strings that are bytes in base64
 * @throws WalError naming the field: `WAL_NOT_JSON`, `WAL_TOO_LARGE` where it is nested more than 60 deep
 */
export function toJson(
	value: unknown,
	redact?: (text: string) => string,
): { readonly json: unknown; readonly binary: readonly string[] } {
	const walk: Walk = { at: "", above: new Set(), binary: [], redact };
	try {
		return { json: jsonOf(value, "", walk), binary: walk.binary };
	} catch (error) {
		if (isReynError(error, "WAL_NOT_JSON", "WAL_TOO_LARGE")) throw error;
		throw notJson(walk.at, `what throws when it is read (${reasonOf(readable(error)).message})`);
	}
}

interface Walk {
	/** The path of the field that is being read, for errors. */
	at: string;
	readonly above: Set<object>;
	readonly binary: string[];
	readonly redact: ((text: string) => string) | undefined;
}

function jsonOf(value: unknown, at: string, walk: Walk): unknown {
	const { above, binary, redact } = walk;
	walk.at = at;
	if (typeof value === "string") return redact ? redact(value).toWellFormed() : value.toWellFormed();
	if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol")
		throw notJson(at, `a ${typeof value}`);
	if (typeof value === "number") return Number.isFinite(value) ? value : null;
	if (typeof value !== "object" || value === null) return value;
	if (value instanceof Uint8Array) {
		binary.push(at);
		return Buffer.from(value.buffer, value.byteOffset, value.length).toString("base64");
	}
	if (value instanceof Map || value instanceof Set) throw notJson(at, `a ${value.constructor.name}`);
	if (above.has(value)) throw notJson(at, "a cycle");
	const { toJSON } = value as { toJSON?: unknown };
	if (typeof toJSON === "function") return jsonOf(toJSON.call(value), at, walk);
	if (above.size === MAX_LEVELS) throw tooDeep(at);
	above.add(value);
	const isProxy = types.isProxy(value);
	const isList = Array.isArray(value);
	// The log takes no object of a class, since it would come back as another.
	let copy: Record<string, unknown> | unknown[] | undefined = isList || isPlain(value) ? undefined : { ...value };
	for (const key of isList ? Array.from(value, (_, i) => String(i)) : Object.keys(value)) {
		const name = (redact && !isList ? redact(key) : key).toWellFormed();
		const below = `${at}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
		walk.at = below;
		const field = (value as Readonly<Record<string, unknown>>)[key];
		const json = jsonOf(field, below, walk);
		const next = isList && json === undefined ? null : json;
		// A getter or a Proxy may return something else when it is read again for writing, so its value is copied.
		const isFixed = !isProxy && Object.getOwnPropertyDescriptor(value, key)?.get === undefined;
		// Redaction may give two fields the same name: the later one is kept.
		if (!copy && isFixed && next === field && name === key) continue;
		copy ??= isList ? [...value] : { ...value };
		if (name !== key) delete (copy as Record<string, unknown>)[key];
		(copy as Record<string, unknown>)[name] = next;
	}
	above.delete(value);
	return copy ?? value;
}

function isPlain(value: object): boolean {
	const prototype = Object.getPrototypeOf(value);
	return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function tooDeep(at: string): WalError {
	const path = at.length > 100 ? `${at.slice(0, 100)}…` : at;
	return new WalError(
		"WAL_TOO_LARGE",
		`the result of a step may be nested ${MAX_LEVELS} deep; found more at ${path}; flatten it, or give it as text`,
		{ path },
	);
}

function notJson(at: string, found: string): WalError {
	return new WalError(
		"WAL_NOT_JSON",
		`the result of a step has to be JSON or bytes; found ${found} at ${at || "its top"}`,
		{
			path: at,
		},
	);
}

function withBytes(json: unknown, binary: readonly string[]): unknown {
	const root = { value: json };
	for (const pointer of binary) {
		const keys = `/value${pointer}`.split("/").slice(1);
		const last = unescaped(keys.pop() as string);
		let parent: Record<string, unknown> | undefined = root;
		for (const key of keys) parent = parent?.[unescaped(key)] as Record<string, unknown> | undefined;
		if (parent && typeof parent[last] === "string") parent[last] = new Uint8Array(Buffer.from(parent[last], "base64"));
	}
	return root.value;
}

const unescaped = (key: string): string => key.replaceAll("~1", "/").replaceAll("~0", "~");
