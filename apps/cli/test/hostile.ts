/** Characters that act on a terminal, on its reader, or that nobody sees: written out here, apart from what takes them away. */
const points: readonly (readonly [from: number, to?: number])[] = [
	[0x00, 0x08],
	[0x0b, 0x1f],
	[0x7f, 0x9f],
	[0xad],
	[0x034f],
	[0x061c],
	[0x200b],
	[0x200e, 0x200f],
	[0x2028, 0x202e],
	[0x2060, 0x206f],
	[0x3164],
	[0xfeff],
	[0xffa0],
	[0xfff9, 0xfffb],
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
	"\u001b]8;;\u0007\u009b\u0000\r\u007f\u0085\u00ad\u061c\u200b\u200f\u202e\u2066\u2028\u2029\u2060\u3164\ufeff\ufffa\u{e0041}\u{e007f}\u{e0101}\ud800";
