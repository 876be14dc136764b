/** Patterns of subjects: `*` and `?` stand for a part of a name, `**` for any number of names. */

/**
 * Does a pattern match a subject?
 *
 * @param inside also what lies in a directory that it matches, and in capitals and small letters alike: for what forbids, since some
 * systems know a file by any of its spellings
 */
export function matches(pattern: string, subject: string, inside: boolean): boolean {
	const [parts, names] = inside ? [loose(pattern), loose(subject)] : [namesOf(pattern), namesOf(subject)];
	/** How many names the parts so far may stand for. */
	let reached = new Set([0]);
	for (const part of parts) {
		const next = new Set<number>();
		for (const at of reached) {
			if (part === "**") for (let to = at; to <= names.length; to++) next.add(to);
			else if (at < names.length && matchesName(part, names[at] as string)) next.add(at + 1);
		}
		reached = next;
	}
	return inside ? reached.size > 0 : reached.has(names.length);
}

/** `./a//b/` is `a/b`. */
const namesOf = (text: string): readonly string[] => text.split("/").filter((name) => name !== "" && name !== ".");

// Each name by itself: some characters are made of others, of which one may be a slash.
const loose = (text: string): readonly string[] =>
	namesOf(text).map((name) => name.normalize("NFKC").toLowerCase().normalize("NFKC"));

/** Goes back to the last `*` at most once for each character, so no pattern is slow. */
function matchesName(part: string, name: string): boolean {
	let [at, star, from] = [0, -1, 0];
	for (let i = 0; i < name.length; ) {
		if (part[at] === "*") [star, from, at] = [at, i, at + 1];
		else if (at < part.length && (part[at] === "?" || part[at] === name[i])) {
			at++;
			i++;
		} else if (star >= 0) {
			at = star + 1;
			i = ++from;
		} else return false;
	}
	while (part[at] === "*") at++;
	return at === part.length;
}
