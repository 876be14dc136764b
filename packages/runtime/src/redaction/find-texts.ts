/** Finds many texts at once (Aho and Corasick): how often a character is read does not grow with what is searched, nor with what is looked for. */

/** Where something was found, and what it is. */
export interface Part {
	readonly from: number;
	readonly to: number;
	readonly kind: string;
}

/** So much of a longer text is looked for. From there it goes as far as it goes on. */
const LONGEST = 256;

/** Where one is in the texts. */
class Node {
	readonly next = new Map<number, Node>();
	readonly depth: number;
	/** Where one is without the first characters, as few of them as possible. */
	shorter: Node | undefined;
	/** Of the text that ends here. */
	kind: string | undefined;
	/** The texts that go on from here though nothing more of them is in the table. */
	longer: { readonly text: string; readonly kind: string }[] = [];
	/** The longest text that ends here, also where it began later. */
	ends: Node | undefined;

	constructor(depth: number) {
		this.depth = depth;
	}
}

export class Texts {
	readonly #root = new Node(0);

	/** @param kinds of each text what it is */
	constructor(kinds: ReadonlyMap<string, string>) {
		for (const [text, kind] of kinds) this.#add(text, kind);
		const row = [this.#root];
		for (const node of row) {
			node.ends = node.kind !== undefined || node.longer.length > 0 ? node : node.shorter?.ends;
			for (const [code, next] of node.next) {
				next.shorter = node.shorter ? this.#after(node.shorter, code) : this.#root;
				row.push(next);
			}
		}
	}

	#add(text: string, kind: string): void {
		let node = this.#root;
		for (let i = 0; i < Math.min(text.length, LONGEST); i++) {
			const code = text.charCodeAt(i);
			const next: Node = node.next.get(code) ?? new Node(i + 1);
			node.next.set(code, next);
			node = next;
		}
		if (text.length > LONGEST) node.longer.push({ text, kind });
		else node.kind = kind;
	}

	#after(from: Node, code: number): Node {
		for (let node: Node | undefined = from; node; node = node.shorter) {
			const next = node.next.get(code);
			if (next) return next;
		}
		return this.#root;
	}

	/** The parts of a text, one behind another. Of two that overlap it is the first; of those that begin together, the longest. */
	in(text: string): readonly Part[] {
		const parts: Part[] = [];
		const root = this.#root;
		if (root.next.size === 0) return parts;
		let node = root;
		let from = 0;
		let found: Node | undefined;
		for (let at = 0; at <= text.length; at++) {
			node = at < text.length ? this.#after(node, text.charCodeAt(at)) : root;
			// Nothing that is under way began as early.
			if (found && at - node.depth + 1 > from) {
				const part = longest(text, from, found);
				parts.push(part);
				at = part.to - 1;
				node = root;
				found = undefined;
			} else if (node.ends && (!found || at + 1 - node.ends.depth <= from)) {
				found = node.ends;
				from = at + 1 - found.depth;
			}
		}
		return parts;
	}
}

/** As far as one of the texts that are found here goes. */
function longest(text: string, from: number, { depth, kind, longer }: Node): Part {
	let part: Part = { from, to: from + depth, kind: kind ?? longer[0]?.kind ?? "" };
	for (const each of longer) {
		let length = depth;
		while (length < each.text.length && text.charCodeAt(from + length) === each.text.charCodeAt(length)) length++;
		if (from + length > part.to) part = { from, to: from + length, kind: each.kind };
	}
	return part;
}

/** Line breaks within base64, as they are and as JSON has them, with what may stand before the next line. */
const LINE_BREAK = /(?<=[\w+/-])(?:\r?\n|(?:\\{1,2}r)?\\{1,2}n)[ \t]{0,64}(?=[\w+/-])/g;

/** Finds texts, past line breaks also in the middle of one. */
export function partsAcrossLines(texts: Texts, text: string): readonly Part[] {
	/** Where there is one in what is left without them, and the length of all so far. */
	const breaks: { readonly at: number; readonly removed: number }[] = [];
	let removed = 0;
	const joined = text.replace(LINE_BREAK, (each: string, at: number) => {
		breaks.push({ at: at - removed, removed: removed + each.length });
		removed += each.length;
		return "";
	});
	const parts = texts.in(joined);
	let passed = 0;
	const before = (at: number): number => {
		while ((breaks[passed]?.at ?? at) < at) passed++;
		return breaks[passed - 1]?.removed ?? 0;
	};
	return parts.map(({ from, to, kind }) => ({ from: from + before(from + 1), to: to + before(to), kind }));
}

/** What is left of a text, with what was there said instead of each part. */
export function withoutParts(text: string, parts: readonly Part[]): string {
	if (parts.length === 0) return text;
	const left: string[] = [];
	let kept = 0;
	for (const { from, to, kind } of parts) {
		left.push(text.slice(kept, from), `[redacted ${kind}]`);
		kept = to;
	}
	return left.join("") + text.slice(kept);
}
