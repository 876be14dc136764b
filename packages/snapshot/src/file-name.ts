/** Makes file names from any names, such as those that people and models choose. */
import { hash } from "node:crypto";

/**
 * A name as one component of a path, valid on any file system. A plain name such as `default` or `p12` stays as it is; any other
 * becomes its readable characters and a hash. So it cannot lead elsewhere, is never too long, and no two names share one, even on a
 * file system that ignores case.
 *
 * @param name cannot be computed back from the result
 */
export function asFileName(name: string): string {
	if (plain.test(name) && !keptBack.test(name) && name.length <= MAX_BYTES) return name;
	const words = name
		.replace(/[^\w-]+/g, "-")
		.replace(/^-+/, "")
		.slice(0, MAX_WORDS);
	// Hashed as JSON, which tells names with different lone surrogates apart.
	return `${words}~${hash("sha256", JSON.stringify(name), "hex").slice(0, 32)}`;
}

/** Names that Windows keeps for devices, with any ending. */
const keptBack = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/;

/** Plain names have no upper case, since `A` and `a` are one name on many disks, and no dot at the end, which Windows drops. */
const plain = /^[a-z0-9._-]*[a-z0-9_-]$/;

/** The longest file name that every file system takes, in bytes. */
const MAX_BYTES = 255;
const MAX_WORDS = 48;
