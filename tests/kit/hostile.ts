/** Characters that act on a terminal, on its reader, or that nobody sees: written out here, apart from what takes them away. */
const points: readonly (readonly [from: number, to?: number])[] = [
	[0x00, 0x08],
	[0x0b, 0x1f],
	[0x7f, 0x9f],
	[0xad],
	[0x034f],
	[0x0378],
	[0x061c],
	[0x200b],
	[0x200e, 0x200f],
	[0x2028, 0x202e],
	[0x115f, 0x1160],
	[0x2060, 0x206f],
	[0x2800],
	[0x3164],
	[0xfeff],
	[0xffa0],
	[0xfdd0, 0xfdef],
	[0xfff9, 0xfffc],
	[0xfffe, 0xffff],
	[0x13430, 0x1343f],
	[0x13441, 0x13442],
	[0x16fe4],
	[0x1bc9d],
	[0x1bca0, 0x1bca3],
	[0x1d159],
	[0x1d173, 0x1d17a],
	[0x1da9b, 0x1da9f],
	[0x1daa1, 0x1daaf],
	[0xe0000, 0xe007f],
	[0xe0100, 0xe01ef],
];

const isBad = (point: number): boolean =>
	(point >= 0xd800 && point <= 0xdfff) || points.some(([from, to = from]) => from <= point && point <= to);

/** The hostile characters of a text, as `u+001b`. */
export function raw(text: string): readonly string[] {
	const found = new Set<string>();
	for (const character of text) {
		const point = character.codePointAt(0) ?? 0;
		if (isBad(point)) found.add(`u+${point.toString(16).padStart(4, "0")}`);
	}
	return [...found];
}

/** One of each sort, in sequences that terminals know. A half of a character stands last. */
export const HOSTILE =
	"\u001b]8;;\u0007\u009b\u0000\r\u007f\u0085\u00ad\u061c\u200b\u200f\u202e\u2066\u2028\u2029\u2060\u2800\u0378\u3164\ufeff\ufffa\ufffc\u{16fe4}\u{1d159}\u{1da9b}\u{e0041}\u{e007f}\u{e0101}\ud800";
