/** Which files differ from what they held at a moment, and in which lines. */
import type { FileContent } from "@reyn/journal";
import type { ComparedFile, FileBetween, FileHistory, FilesSince, Runtime } from "@reyn/runtime";
import type { Seq } from "@reyn/wal";
import { patchOf } from "./patch.ts";

export interface ChangedFile extends Pick<ComparedFile, "by" | "others"> {
	readonly path: string;
	readonly change: "made" | "changed" | "removed" | "unknown";
	/** The permissions, where those differ. */
	readonly modes?: { readonly before: number; readonly now: number };
	/** As lines of a patch, and how many more there are. */
	readonly diff?: readonly string[];
	readonly more?: number;
	/** Why there is no diff. */
	readonly why?: string;
}

export interface ChangedFiles extends Pick<FilesSince, "since" | "through" | "uncovered"> {
	readonly files: readonly ChangedFile[];
	/** Paths of files that were changed, and hold what they held. */
	readonly asBefore: readonly string[];
}

/** @throws TimetravelError `TIMETRAVEL_OUT_OF_RANGE`, `TIMETRAVEL_PRUNED` */
export async function readChangedFiles({ files: history }: Runtime, since: Seq): Promise<ChangedFiles> {
	const { files: touched, ...found } = await history.since(since);
	const files: ChangedFile[] = [];
	const asBefore: string[] = [];
	// One after the other: each may be large.
	for (const file of touched) {
		const { path } = file;
		const { before, now, by, others } = await history.compare(file);
		const differs = await differenceOf(before, now);
		if (differs) files.push({ path, by, others, ...differs });
		else if (by.length > 0) asBefore.push(path);
	}
	return { ...found, files, asBefore };
}

/** A file that differs between two moments. */
export type DifferentFile = Difference & {
	readonly path: string;
	/** Somebody else has changed it since: what it held is not known, so it is what it holds now. */
	readonly others?: true;
};

/** Which files differ between two moments, as they were on disk then. @throws as {@link readChangedFiles} */
export async function readFilesBetween(
	{ files: history }: Runtime,
	from: Seq,
	to: Seq,
): Promise<Pick<FilesSince, "uncovered"> & { readonly files: readonly DifferentFile[] }> {
	const { files: changed, uncovered } = await history.between(from, to);
	const files: DifferentFile[] = [];
	for (const file of changed) files.push(...(await compared(history, file)));
	return { files, uncovered };
}

/** How one file differs; undefined: not at all. */
export async function readFileBetween({ files: history }: Runtime, path: string, from: Seq, to: Seq) {
	const { files } = await history.between(from, to);
	const file = files.find((each) => each.path === path);
	return file && (await compared(history, file))[0];
}

async function compared(history: FileHistory, file: FileBetween): Promise<readonly DifferentFile[]> {
	const { from, to, others } = await history.contents(file);
	const differs = await differenceOf(from, to);
	return differs ? [{ path: file.path, ...differs, ...(others && { others }) }] : [];
}

type Difference = Pick<ChangedFile, "change" | "modes" | "diff" | "more" | "why">;

/** Undefined: nothing differs. */
async function differenceOf(before: FileContent, now: FileContent): Promise<Difference | undefined> {
	if (before.kind === "unknown" || now.kind === "unknown") {
		const why = [
			...(before.kind === "unknown" ? [`what it held then is not known: ${before.why}`] : []),
			...(now.kind === "unknown" ? [`what it holds now is not known: ${now.why}`] : []),
		];
		return { change: "unknown", why: why.join("; ") };
	}
	const [was, is] = [before, now].map(bytesOf) as [Uint8Array, Uint8Array];
	if (before.kind === "none")
		return now.kind === "none" ? undefined : { change: "made", ...(await comparedIn(was, is)) };
	if (now.kind === "none") return { change: "removed", ...(await comparedIn(was, is)) };
	const modes = before.mode === now.mode ? {} : { modes: { before: before.mode, now: now.mode } };
	const isSame = Buffer.compare(was, is) === 0;
	if (isSame && !modes.modes) return undefined;
	return { change: "changed", ...modes, ...(isSame ? {} : await comparedIn(was, is)) };
}

const bytesOf = (content: FileContent): Uint8Array => (content.kind === "file" ? content.bytes : new Uint8Array());

async function comparedIn(before: Uint8Array, after: Uint8Array): Promise<Pick<ChangedFile, "diff" | "more" | "why">> {
	const [was, is] = [textOf(before), textOf(after)];
	if (was === undefined || is === undefined)
		return { why: `no text: ${before.length} bytes then, ${after.length} bytes now` };
	const found = await patchOf(was, is);
	if (!found) return { why: `too different: ${linesIn(was)} lines then, ${linesIn(is)} lines now` };
	const { lines: diff, more } = found;
	return { diff, ...(more > 0 && { more }) };
}

function textOf(bytes: Uint8Array): string | undefined {
	if (bytes.includes(0)) return undefined;
	try {
		return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
	} catch {
		return undefined;
	}
}

const linesIn = (text: string): number => text.split("\n").length;
