/** Files that a model is shown beside a text: images and PDFs. Messages and results name them; their bytes lie beside the log, under their hash. */
import { hash } from "node:crypto";
import { type BlobStore, isReynError } from "@reyn/wal";
import { z } from "zod";
import { nameOf } from "./blob-name.ts";
import { JournalError } from "./errors.ts";

/** A file as records and requests name it. */
export const attachedFileSchema = z.object({
	/** For people: `shot.png`. */
	name: z.string(),
	/** As its bytes say: `image/png`. */
	mediaType: z.string(),
	bytes: z.int().positive(),
	/** Of the bytes. */
	sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

export interface AttachedFile extends Readonly<z.infer<typeof attachedFileSchema>> {
	/** The bytes. A model that is asked has them of each file; in a record, and elsewhere, nobody has. */
	readonly data?: Uint8Array;
}

/** Providers take 5 MB of an image, in base64. */
export const MOST_FILE_BYTES = 3_750_000;

/** What files begin with, as Latin-1; of a WebP its size is left out. */
const beginnings: readonly (readonly [begin: string, mediaType: string])[] = [
	["\x89PNG\r\n\x1a\n", "image/png"],
	["\xff\xd8\xff", "image/jpeg"],
	["GIF87a", "image/gif"],
	["GIF89a", "image/gif"],
	["RIFFWEBP", "image/webp"],
	["%PDF-", "application/pdf"],
];

/** The types of files that can be attached. */
export const attachable: readonly string[] = [...new Set(beginnings.map(([, mediaType]) => mediaType))];

/** The type of a file by how it begins, whatever its name says; undefined: none that can be attached. */
export function mediaTypeOf(bytes: Uint8Array): string | undefined {
	const begin = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
	const parts = begin.startsWith("RIFF") ? begin.slice(0, 4) + begin.slice(8) : begin;
	return beginnings.find(([begins]) => parts.startsWith(begins))?.[1];
}

/**
 * Keeps a file as a blob; it is durable when the promise resolves. No secret is taken out of its bytes.
 *
 * @param name for people
 * @throws JournalError `FILE_REFUSED`
 */
export async function attach(name: string, bytes: Uint8Array, files: BlobStore): Promise<AttachedFile> {
	const file = attachedAs(name, bytes);
	await files.put(nameOf(file.sha256), bytes);
	return file;
}

/** How a file would be named; nothing is kept. @throws JournalError `FILE_REFUSED` for one that cannot be attached */
export function attachedAs(given: string, bytes: Uint8Array): AttachedFile {
	const name = shownName(given);
	assertSize(name, bytes.length);
	const mediaType = mediaTypeOf(bytes);
	if (mediaType === undefined)
		throw refused(name, "is neither an image (PNG, JPEG, GIF, WebP) nor a PDF, by what it holds; give a text as text");
	return { name, mediaType, bytes: bytes.length, sha256: hash("sha256", bytes, "hex") };
}

/** @throws JournalError `FILE_REFUSED` for a file of so many bytes */
export function assertSize(name: string, bytes: number): void {
	if (bytes > MOST_FILE_BYTES)
		throw refused(name, `has ${showSize(bytes)}, and up to ${showSize(MOST_FILE_BYTES)} can be attached`);
}

/** @throws JournalError `FILE_REFUSED` for a file that the model does not take */
export function assertTaken(
	{ name, mediaType }: AttachedFile,
	model: { readonly id: string; readonly accepts?: readonly string[] | undefined },
): void {
	const { id, accepts = [] } = model;
	if (!accepts.includes(mediaType)) throw refused(name, `is ${mediaType}, and ${notTaken(id, accepts)}`);
}

/** Providers take 32 MB in a request, in base64, and of images no more than these. */
export const MOST_FILES = 20;
export const MOST_BYTES_OF_FILES = 20_000_000;

/** @throws JournalError `FILE_REFUSED` for more files than fit a request */
export function assertShown(files: readonly AttachedFile[]): void {
	const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
	const most = `up to ${MOST_FILES} files of ${showSize(MOST_BYTES_OF_FILES)} together can be attached`;
	if (files.length > MOST_FILES || bytes > MOST_BYTES_OF_FILES)
		throw new JournalError("FILE_REFUSED", `${most}; found ${files.length} of ${showSize(bytes)}`);
}

/** What a model takes, where it is asked for something else. */
export const notTaken = (id: string, accepts: readonly string[] = []): string =>
	accepts.length === 0 ? `${id} takes texts alone` : `${id} takes ${accepts.join(", ")}`;

export type ReadFile =
	| { readonly kind: "sound"; readonly data: Uint8Array }
	| { readonly kind: "lost"; readonly why: string };

/** Reads the bytes of a file, or says that they are lost. @throws any other failure to read, which may pass */
export async function readAttached({ sha256, bytes }: AttachedFile, files?: BlobStore): Promise<ReadFile> {
	if (!files) return { kind: "lost", why: "cannot be read, since no store of files is given here" };
	const data = await files.get(nameOf(sha256), bytes).catch((error: unknown) => {
		if (isReynError(error, "WAL_TOO_LARGE")) return new Uint8Array();
		throw error;
	});
	if (!data) return { kind: "lost", why: `is missing (${nameOf(sha256)})` };
	if (hash("sha256", data, "hex") === sha256) return { kind: "sound", data };
	return { kind: "lost", why: `is damaged (${nameOf(sha256)})` };
}

/** A file in a line: `[image shot.png, 34 KB]`. */
export const labelOf = ({ name, mediaType, bytes }: AttachedFile): string =>
	`[${mediaType === "application/pdf" ? "PDF" : "image"} ${name}, ${showSize(bytes)}]`;

/** A text with the files that stand behind it: what everybody is shown of them. */
export const labelled = (text: string, files: readonly AttachedFile[]): string =>
	files.length === 0 ? text : [...(text === "" ? [] : [text]), ...files.map(labelOf)].join("\n");

const answerWithFiles = z.object({ files: z.array(attachedFileSchema) });

/** The files that the result of a tool names. */
export const filesOf = (result: unknown): readonly AttachedFile[] =>
	typeof result === "object" ? (answerWithFiles.safeParse(result).data?.files ?? []) : [];

/** What would break the line that it is shown in is taken out. */
const shownName = (name: string): string =>
	name
		.replace(/[\p{C}[\]]/gu, "_")
		.slice(-200)
		.toWellFormed();

function showSize(bytes: number): string {
	if (bytes < 1000) return `${bytes} B`;
	return bytes < 999_500 ? `${Math.round(bytes / 1000)} KB` : `${Number((bytes / 1e6).toFixed(2))} MB`;
}

const refused = (name: string, why: string): JournalError =>
	new JournalError("FILE_REFUSED", `the file ${name} ${why}`, { name });
