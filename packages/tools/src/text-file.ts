/** The text of one open file, and how texts, sizes and counts are shown. */
import type { FileHandle } from "node:fs/promises";
import { fileVersion } from "@reyn/journal";
import type { OpenFile } from "./root-directory.ts";

export type TextFile =
	| { readonly kind: "text"; readonly text: string; readonly bytes: Uint8Array }
	| { readonly kind: "binary" }
	| { readonly kind: "tooLarge"; readonly bytes: number };

/** Everything in an open file, or how it begins, unless it is too large or binary (a NUL byte in its first 8 KB). Closes it. */
export async function readText(
	{ handle, bytes }: OpenFile,
	maxBytes: number,
	part: "all" | "begin" = "all",
): Promise<TextFile> {
	try {
		if (bytes > maxBytes && part === "all") return { kind: "tooLarge", bytes };
		const read = await beginningOf(handle, Math.min(bytes, maxBytes));
		if (read.subarray(0, 8192).includes(0)) return { kind: "binary" };
		return { kind: "text", text: new TextDecoder().decode(read), bytes: read };
	} finally {
		await handle.close();
	}
}

/** So many bytes of a file, or as many as it has. */
export async function beginningOf(handle: FileHandle, size: number): Promise<Buffer> {
	const buffer = Buffer.allocUnsafe(size);
	let length = 0;
	while (length < size) {
		const { bytesRead } = await handle.read(buffer, length, size - length, length);
		if (bytesRead === 0) break;
		length += bytesRead;
	}
	return buffer.subarray(0, length);
}

/** A file, by its content: `read` shows it, and who replaces a file has to name it. */
export const versionOf = fileVersion;

/** The lines of a text, without their ends; a final newline opens no further line. */
export function splitLines(text: string): readonly string[] {
	const lines = text.split("\n");
	if (lines.at(-1) === "") lines.pop();
	return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

export function showBytes(bytes: number): string {
	if (bytes < 1000) return `${bytes} B`;
	const [value, unit] = bytes < 999_500 ? [bytes / 1000, "KB"] : [bytes / 1e6, "MB"];
	return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** `1234` → `1,234`, the same in every locale. */
export function showCount(count: number, noun?: string): string {
	const digits = String(count).replace(/\B(?=(\d{3})+$)/g, ",");
	return noun === undefined ? digits : `${digits} ${noun}${count === 1 ? "" : "s"}`;
}

/** A line cut to a width around the place that matters, with `…` where something is missing. */
export function excerpt(line: string, width: number, at = 0): string {
	const text = line.trim();
	if (text.length <= width) return text.toWellFormed();
	const centre = Math.max(0, at - (line.length - line.trimStart().length));
	const from = Math.max(0, Math.min(centre - Math.floor(width / 4), text.length - width));
	// A cut may halve a surrogate pair: the half becomes U+FFFD.
	const cut = text
		.slice(from, from + width)
		.trim()
		.toWellFormed();
	return `${from > 0 ? "…" : ""}${cut}${from + width < text.length ? "…" : ""}`;
}

/** The same text in memory of its own. A slice holds on to the whole text that it was cut from. */
export const copyText = (text: string): string => Buffer.from(text.toWellFormed()).toString();
