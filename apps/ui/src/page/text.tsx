/** Text of the log: what acts on the order of letters, or draws nothing, is shown as a mark. Never HTML, never a link. */

/**
 * Control codes, bidi controls, tags, fillers, line ends that are no `\n`, halves of characters, and blanks that are none. Joiners
 * are let be behind the letters and emoji that are spelt with them; so are the selectors of emoji.
 */
const hidden =
	/[[\p{Cc}\p{Cf}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc]--[\n\t\u200c\u200d\u0600-\u0605\u06dd\u070f\ufe00-\ufe0f\u180b-\u180f]]|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f[[\p{L}\p{M}]--\p{Script=Latin}]])[\u200c\u200d]/gv;

/** Most texts have nothing else, and are looked through fast. */
const usual = /^[\n\t\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027]*$/;

export function Text({ of }: { readonly of: string }) {
	return <span class="text">{usual.test(of) ? of : marked(of)}</span>;
}

/** The same where there can be no element: in names for screen readers. */
export const plain = (of: string): string => (usual.test(of) ? of : of.replace(hidden, nameOf));

function marked(of: string) {
	const parts = [];
	let from = 0;
	for (const { 0: found, index } of of.matchAll(hidden)) {
		parts.push(of.slice(from, index), <span class="mark">{nameOf(found)}</span>);
		from = index + found.length;
	}
	return [...parts, of.slice(from)];
}

const nameOf = (found: string): string =>
	`⟨U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
