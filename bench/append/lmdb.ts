/** lmdb with a synced commit. It makes one commit of a turn's writes by itself. */
import { join } from "node:path";
import { open } from "lmdb";
import { recordOf } from "../entry.ts";
import type { Open } from "./store.ts";

export const openLmdb: Open = async (directory) => {
	// With `overlappingSync` a write resolves before it is synced.
	const store = open<string, number>({ path: join(directory, "lmdb"), encoding: "string", overlappingSync: false });
	return {
		append: (entry) => store.put(entry.version + 1, JSON.stringify(recordOf(entry))),
		close: () => store.close(),
	};
};
