/** Searches a text for many others at once (Aho-Corasick): the time grows with the text alone, not with the number of texts looked for. */

/** A part of a text that was found, and the kind of secret it is. */
export interface Part {
	readonly from: number;
	readonly to: number;
	readonly kind: string;
}

/** Characters of a text that are in the search table. A longer text is found by these, and compared from there on. */
const LONGEST = 256;

/** A state of the automaton: the characters read so far that begin one of the texts. */
class Node {
	readonly next = new Map<number, Node>();
	readonly depth: number;
	/** The failure link: the state of the longest proper suffix that begins a text. */
	shorter: Node | undefined;
	/** The kind of the text that ends here; undefined: none does. */
	kind: string | undefined;
	/** The texts whose first {@link LONGEST} characters end here. */
	longer: { readonly text: string; readonly kind: string }[] = [];
	/** The longest text that ends here, including those that began later. */
	ends: Node | undefined;

	constructor(depth: number) {
		this.depth = depth;
	}
}

export class Texts {
	readonly #root = new Node(0);

	/** @param kinds the kind of each text */
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

	/** The parts found in a text, in order. Of two that overlap, the first one counts; of two that begin together, the longer one. */
	in(text: string): readonly Part[] {
		const parts: Part[] = [];
		const root = this.#root;
		if (root.next.size === 0) return parts;
		let node = root;
		let from = 0;
		let found: Node | undefined;
		for (let at = 0; at <= text.length; at++) {
			node = at < text.length ? this.#after(node, text.charCodeAt(at)) : root;
			// No text that may still be found began as early as this one.
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

/** The longest part of the texts that were found at a state. */
function longest(text: string, from: number, { depth, kind, longer }: Node): Part {
	let part: Part = { from, to: from + depth, kind: kind ?? longer[0]?.kind ?? "" };
	for (const each of longer) {
		let length = depth;
		while (length < each.text.length && text.charCodeAt(from + length) === each.text.charCodeAt(length)) length++;
		if (from + length > part.to) part = { from, to: from + length, kind: each.kind };
	}
	return part;
}

/** A line break within base64, as it is or escaped in JSON, with the indentation of the next line. */
const LINE_BREAK = /(?<=[\w+/-])(?:\r?\n|(?:\\{1,2}r)?\\{1,2}n)[ \t]{0,64}(?=[\w+/-])/g;

/** Finds texts, also when line breaks divide them. */
export function partsAcrossLines(texts: Texts, text: string): readonly Part[] {
	/** The position of each line break in the text without them, and the number of characters removed so far. */
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

/** The text with each part replaced by `[redacted …]`. */
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
