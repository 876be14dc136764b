/** `write`, `edit` and `remove`: what they are about to do is known, by hashes, before they do it, so that after a crash it can be told whether they did. */
import {
	type BeforeImage,
	defineTool,
	fileChangeSchema,
	type Json,
	type Keeping,
	type Reconciled,
	type Tool,
	type ToolContext,
	type Want,
} from "@reyn/journal";
import { codeOf } from "@reyn/wal";
import { z } from "zod";
import { ToolError } from "./errors.ts";
import type { Workspace } from "./file-tools.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import { maxPathLength, parsePath, placeOf, showPath } from "./root-directory.ts";
import { showBytes, showCount, splitLines, versionOf } from "./text-file.ts";
import { assertSize, contentAt, missingOn } from "./work-files.ts";

/** A text that a file can hold, and that is found in it again. */
const text = z
	.string()
	.refine((given) => given.isWellFormed(), "it has half a character in it")
	.refine((given) => !given.includes("\0"), "it has a NUL character in it");
const path = text
	.min(1)
	.max(maxPathLength)
	.refine((given) => !acting.test(given), "it has a control character in it, which nobody sees who is asked")
	.describe("The file, relative to the root, such as src/index.ts");
const version = z.string().describe("The version of the file as `read` has shown it: it has to be that still");

/** What would begin a line, act on a terminal, or turn letters round, in the name of a file. */
const acting = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** What is known before a file is changed. */
const plannedSchema = fileChangeSchema.extend({
	/** What the model is told once it is so. */
	says: z.string(),
});

type Planned = z.infer<typeof plannedSchema>;

export function writeTools(workspace: Workspace): readonly Tool[] {
	const changes = new OneAtATime();
	return [writeFile, editFile, removeFile].map((toolOf) => toolOf(workspace, changes));
}

function writeFile(workspace: Workspace, changes: OneAtATime): Tool {
	const input = z.strictObject({
		path,
		text: text.describe("All that the file shall hold"),
		version: version
			.optional()
			.describe("To replace a file: its version as `read` has shown it. Without one it must not be there"),
	});
	const textFor = (text: string, present: Uint8Array | undefined): Buffer =>
		Buffer.from(
			(hasMark(present) && !text.startsWith(MARK) ? MARK : "") + (isOfWindows(present) ? toCrlf(text) : text),
		);
	return defineTool({
		name: "write",
		description: "Write a whole text file: a new one, or one that you have read. For a small change take `edit`.",
		input,
		...changing(workspace, changes, {
			async plan({ path, text, version }: z.infer<typeof input>, present) {
				const name = showPath(path);
				if (present === undefined && version !== undefined)
					throw new ToolError("TOOL_CHANGED", `${name} is not there any more; leave "version" out to make it`);
				if (present !== undefined) assertSeen(name, present, version);
				const after = textFor(text, present);
				assertSize(name, after.length, workspace.maxFileBytes, "would have");
				const lines = showCount(splitLines(text).length, "line");
				return {
					after,
					says: `${name} ${present === undefined ? "is made" : "is replaced"}: ${lines}, version ${versionOf(after)}`,
					shows: [
						present === undefined ? `a new file: ${lines}` : `in place of ${sizeOf(present)}: ${lines}`,
						...linesOf("+ ", text),
					],
				};
			},
			isOf: ({ version = null }, before) => before === version,
		}),
	});
}

function editFile(workspace: Workspace, changes: OneAtATime): Tool {
	const input = z.strictObject({
		path,
		old: text.min(1).describe("The text as it stands there now, with enough around it to be there once"),
		new: text.describe("What takes its place"),
		all: z.boolean().default(false).describe("Change each place where it stands"),
	});
	const edited = (
		args: z.infer<typeof input>,
		present: Uint8Array | undefined,
	): { readonly bytes: Buffer; readonly places: number; readonly where: string } => {
		const name = showPath(args.path);
		if (present === undefined) throw new ToolError("TOOL_NOT_FOUND", `no such file: ${name}; write makes one`);
		const text = textOf(name, present);
		if (args.old.includes("\n") && hasBothEnds(present))
			throw new ToolError(
				"TOOL_NO_MATCH",
				`${name} has line ends of both kinds, so change it line by line: "old" without a line end`,
			);
		const fit = (part: string): string => (isOfWindows(present) ? toCrlf(part) : part);
		const [old, now] = [fit(args.old), fit(args.new)];
		const parts = text.split(old);
		const places = parts.length - 1;
		if (places === 0)
			throw new ToolError(
				"TOOL_NO_MATCH",
				`"old" is not in ${name} as it is now; read it, and give the text to the letter`,
			);
		if (placesOf(text, old) > (args.all ? places : 1))
			throw new ToolError(
				"TOOL_NO_MATCH",
				`"old" is in ${name} ${placesOf(text, old)} times${args.all ? ", which lie over each other" : ""}; give more of what is around it${args.all ? "" : ', or "all"'}`,
			);
		// No text has fewer bytes than units; one that is too large is not made.
		assertSize(name, text.length + places * (now.length - old.length), workspace.maxFileBytes, "would have");
		const line = (parts[0] ?? "").split("\n").length;
		const where =
			places === 1 ? `at line ${showCount(line)}` : `in ${showCount(places, "place")}, from line ${showCount(line)}`;
		return { bytes: Buffer.from(parts.join(now)), places, where: `${where} of version ${versionOf(present)}:` };
	};
	return defineTool({
		name: "edit",
		description: "Change a part of a text file: the text `old`, which must stand there once, becomes `new`.",
		input,
		...changing(workspace, changes, {
			async plan(args: z.infer<typeof input>, present) {
				const { bytes, places, where } = edited(args, present);
				const name = showPath(args.path);
				assertSize(name, bytes.length, workspace.maxFileBytes, "would have");
				// With the version: where the file changes while somebody decides, another place may be meant.
				const shows = [where, ...linesOf("- ", args.old), ...linesOf("+ ", args.new)];
				if (present && bytes.equals(present))
					return { after: bytes, says: `${name} is as it was: "new" is what stands there`, shows };
				return {
					after: bytes,
					says: `${name} is changed in ${showCount(places, "place")}, version ${versionOf(bytes)}`,
					shows,
				};
			},
		}),
	});
}

function removeFile(workspace: Workspace, changes: OneAtATime): Tool {
	const input = z.strictObject({ path, version });
	return defineTool({
		name: "remove",
		description: "Remove a file that you have read.",
		input,
		...changing(workspace, changes, {
			async plan({ path, version }: z.infer<typeof input>, present) {
				const name = showPath(path);
				if (present === undefined) throw new ToolError("TOOL_NOT_FOUND", `no such file: ${name}`);
				assertSeen(name, present, version);
				return { after: undefined, says: `${name} is removed`, shows: [`it has ${sizeOf(present)}`] };
			},
			isOf: ({ version }, before) => before === version,
		}),
	});
}

interface Change<Args> {
	/** @throws ToolError where that cannot be */
	plan(args: Args, present: Uint8Array | undefined): Promise<Intended>;
	/** Is it what was asked for, where a file of this version was there? Default: of any. */
	isOf?(args: Args, before: string | null): boolean;
}

/** What a change comes to. */
interface Intended {
	/** What shall be there; undefined: nothing. */
	readonly after: Uint8Array | undefined;
	/** What the model is told. */
	readonly says: string;
	/** What a person is shown who decides on it. */
	readonly shows: readonly string[];
}

/**
 * The parts of a tool that changes one file: planned, done and found again by what the file holds.
 *
 * @param changes those of one file are made one after the other: each looks at what the one before has left
 */
function changing<Args extends { readonly path: string }>(
	workspace: Workspace,
	changes: OneAtATime,
	change: Change<Args>,
) {
	const foundAt = async (at: string) => contentAt(await workspace.root(), at, workspace.maxFileBytes);
	const presentAt = async (at: string): Promise<Uint8Array | undefined> => (await foundAt(at))?.bytes;
	const versionAt = async (at: string): Promise<string | null> => {
		const present = await presentAt(at);
		return present === undefined ? null : versionOf(present);
	};
	const prepare = async (args: Args, { keep }: Keeping = {}): Promise<Planned> => {
		const found = await foundAt(args.path);
		const { after, says } = await change.plan(args, found?.bytes);
		const makes = found ? undefined : await missingOn(await workspace.root(), args.path);
		return {
			path: nameOf(args.path),
			...(makes !== undefined && { makes }),
			before: found ? versionOf(found.bytes) : null,
			after: after === undefined ? null : versionOf(after),
			...(found && keep && { image: await imageOf(args.path, found, keep) }),
			says,
		};
	};
	return {
		purity: "side_effect" as const,
		async wants(args: Args): Promise<readonly Want[]> {
			const { shows } = await change.plan(args, await presentAt(args.path));
			return [{ action: "write", ...placeOf(args.path), shows }];
		},
		prepare: async (args: Args, keeping: Keeping): Promise<Json> => ({ ...(await prepare(args, keeping)) }),
		async call(args: Args, { signal, prepared, idempotencyKey: token = "" }: ToolContext): Promise<string> {
			const planned = prepared === undefined ? await prepare(args) : plannedFrom(prepared);
			if (nameOf(planned.path) !== nameOf(args.path) || change.isOf?.(args, planned.before) === false)
				throw otherCall(args.path);
			return changes.run(nameOf(planned.path), async () => {
				const present = await presentAt(args.path);
				const found = present === undefined ? null : versionOf(present);
				if (found === planned.after) return planned.says;
				if (found !== planned.before)
					throw new ToolError(
						"TOOL_CHANGED",
						`${showPath(args.path)} has changed meanwhile: read it again, and decide anew; nothing was written`,
					);
				const { after } = await change.plan(args, present);
				if ((after === undefined ? null : versionOf(after)) !== planned.after) throw otherCall(args.path);
				const root = await workspace.root();
				signal.throwIfAborted();
				await root.change(parsePath(args.path), after, { token, isNew: present === undefined });
				return planned.says;
			});
		},
		/** What the file holds tells it: as after, it was done; as before, it was not; anything else was somebody else, and nobody knows. */
		async reconcile(key: string, prepared?: Json): Promise<Reconciled<string>> {
			const planned = plannedFrom(prepared);
			const root = await workspace.root();
			await root.forget(parsePath(planned.path), key);
			const found = await versionAt(planned.path);
			if (found === planned.after) return { kind: "done", result: planned.says };
			return { kind: found === planned.before ? "not_done" : "unknown" };
		},
	};
}

/** The lines of a text for people, behind a mark; of a long one, its beginning. */
function linesOf(mark: string, text: string): readonly string[] {
	const lines = splitLines(text);
	const shown = lines.slice(0, MOST_SHOWN).map((line) => `${mark}${line.slice(0, 200)}`);
	const left = lines.length - shown.length;
	return left > 0 ? [...shown, `… ${showCount(left, "more line")}`] : shown;
}

const MOST_SHOWN = 40;

const sizeOf = (bytes: Uint8Array): string => showBytes(bytes.length);

/** A file is replaced or removed by who has seen it as it is. */
function assertSeen(name: string, present: Uint8Array, version: string | undefined): void {
	if (version === undefined)
		throw new ToolError(
			"TOOL_CHANGED",
			`${name} is there already; read it, and give the "version" that read shows to replace it`,
		);
	if (version !== versionOf(present))
		throw new ToolError(
			"TOOL_CHANGED",
			`${name} is not as it was when it was read (version ${version}); read it again`,
		);
}

/** A file has one name, however its path is spelt. */
const nameOf = (path: string): string => parsePath(path).join("/");

/** @throws ToolError `TOOL_UNWRITABLE`: what cannot be kept is not replaced */
async function imageOf(
	path: string,
	{ bytes, mode }: { readonly bytes: Uint8Array; readonly mode: number },
	keep: NonNullable<Keeping["keep"]>,
): Promise<BeforeImage> {
	try {
		return { ...(await keep(bytes)), mode };
	} catch (error) {
		throw new ToolError(
			"TOOL_UNWRITABLE",
			`${showPath(path)} is not changed: what it holds could not be kept before (${codeOf(error) ?? String(error)})`,
			{},
			{ cause: error },
		);
	}
}

/** What a log says was prepared: it may be a stranger's. */
function plannedFrom(prepared: Json | undefined): Planned {
	const found = plannedSchema.safeParse(prepared);
	if (found.success) return found.data;
	throw new ToolError("TOOL_INVALID_ARGS", "what was prepared for this call cannot be read");
}

const otherCall = (path: string): ToolError =>
	new ToolError(
		"TOOL_CHANGED",
		`what was prepared for ${showPath(path)} is not what this call asks for; nothing was written`,
	);

/** The whole text, with a mark of byte order where there is one. */
function textOf(name: string, bytes: Uint8Array): string {
	try {
		if (bytes.includes(0)) throw new Error();
		return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
	} catch {
		throw new ToolError("TOOL_NOT_TEXT", `${name} is no text in UTF-8`);
	}
}

/** The mark of byte order. */
const MARK = "\ufeff";

const latin1 = (bytes: Uint8Array): string =>
	Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");

const hasMark = (bytes: Uint8Array | undefined): boolean =>
	bytes !== undefined && latin1(bytes.subarray(0, 3)) === "\xef\xbb\xbf";

/** Which line ends it has. */
function endsOf(bytes: Uint8Array): { readonly hasCrlf: boolean; readonly hasLf: boolean } {
	const text = latin1(bytes);
	return { hasCrlf: text.includes("\r\n"), hasLf: /(?<!\r)\n/.test(text) };
}

/** Does each of its lines end as Windows has it? */
function isOfWindows(bytes: Uint8Array | undefined): boolean {
	const { hasCrlf = false, hasLf = false } = bytes ? endsOf(bytes) : {};
	return hasCrlf && !hasLf;
}

function hasBothEnds(bytes: Uint8Array): boolean {
	const { hasCrlf, hasLf } = endsOf(bytes);
	return hasCrlf && hasLf;
}

/** Also where they lie over each other. */
function placesOf(text: string, part: string): number {
	let count = 0;
	for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) count++;
	return count;
}

const toCrlf = (text: string): string => text.replace(/\r?\n/g, "\r\n");
