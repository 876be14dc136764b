/** What the agent says: pieces of text of 1 KiB, none like another, since what repeats packs better than what people write. */
import { randomBytes } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { constants, zstdCompressSync } from "node:zlib";
import { randomFrom } from "../random.ts";
import type { Message } from "./agent.ts";

export const MESSAGE_BYTES = 1024;
export type MessageKind = "prose" | "random";

const root = join(import.meta.dirname, "../..");
const seed = 5;
const packed = 64 * 1024;

/** The prose of this repository's documents: no code, tables or headings. */
export function documents(): string {
	const paths = globSync(["*.md", "docs/**/*.md", "packages/*/README.md", "apps/*/README.md"], { cwd: root });
	return paths
		.sort()
		.map((path) => readFileSync(join(root, path), "utf8").replace(/^```[\s\S]*?^```/gm, ""))
		.flatMap((text) => text.split("\n").filter((line) => !/^\s*(\||#| {4})/.test(line)))
		.join("\n");
}

/** Messages of words as often as they are there, in any order: what people write in order packs better. */
export function proseMessages(text: string, count: number): Message[] {
	const words = text.match(/[\x21-\x7e]+/g) ?? [];
	const random = randomFrom(seed);
	const next = (): string => words[Math.floor(random() * words.length)] ?? "";
	return Array.from({ length: count }, () => {
		let piece = next();
		while (piece.length < MESSAGE_BYTES) piece += ` ${next()}`;
		return message(piece.slice(0, MESSAGE_BYTES));
	});
}

/** Base64 of random bytes: of such messages no packing leaves less than three quarters. */
export const randomMessages = (count: number): Message[] =>
	Array.from({ length: count }, () => message(randomBytes((MESSAGE_BYTES * 3) / 4).toString("base64")));

/** What zstd of level 3 leaves of a text, in pieces of 64 KiB; what is over is left out. */
export function packedShare(text: string): number {
	const bytes = Buffer.from(text);
	const whole = Math.max(packed, bytes.length - (bytes.length % packed));
	let left = 0;
	for (let at = 0; at < whole; at += packed) {
		const params = { [constants.ZSTD_c_compressionLevel]: 3 };
		left += zstdCompressSync(bytes.subarray(at, at + packed), { params }).length;
	}
	return left / Math.min(whole, bytes.length);
}

const message = (text: string): Message => ({ role: "assistant", text });
