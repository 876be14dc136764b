/** Names of people, models and logs as names of files. */
import { hash } from "node:crypto";

/**
 * A name of anything as one component of a path, on any file system: itself where it is plain, as `default` and `p12` are, else
 * what can be read of it and a hash. So it leads nowhere else, is never too long, and no two names share one, also where case is
 * folded.
 *
 * @param name is found again in no other way than by asking for the same one
 */
export function asFileName(name: string): string {
	if (plain.test(name) && !keptBack.test(name) && name.length <= MAX_BYTES) return name;
	const words = name
		.replace(/[^\w-]+/g, "-")
		.replace(/^-+/, "")
		.slice(0, MAX_WORDS);
	// As JSON: what is no whole character is still told apart.
	return `${words}~${hash("sha256", JSON.stringify(name), "hex").slice(0, 32)}`;
}

/** Names that Windows keeps for devices, with any ending. */
const keptBack = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/;

/** Upper case is none: `A` and `a` are one name on many disks. Windows drops a dot at the end. */
const plain = /^[a-z0-9._-]*[a-z0-9_-]$/;

/** What every file system takes. */
const MAX_BYTES = 255;
const MAX_WORDS = 48;
