/** Who is compared. One more engine is one more entry. */
import { join } from "node:path";
import type { Open } from "./store.ts";

export interface Contender {
	readonly name: string;
	/** The goals are for ours. */
	readonly ours?: true;
	/** What cannot be loaded is skipped. */
	load(): Promise<Open>;
}

/** The unit of all ratios; it comes first in each round. */
export const RAW = "raw";

export const contenders: readonly Contender[] = [
	{ name: RAW, load: async () => (await import("./raw.ts")).openRaw },
	{ name: "appendFile + fsync", load: async () => (await import("./naive.ts")).openNaive },
	{ name: "better-sqlite3", load: async () => (await import("./sqlite.ts")).openSqlite },
	{ name: "classic-level", load: async () => (await import("./level.ts")).openLevel },
	{ name: "lmdb", load: async () => (await import("./lmdb.ts")).openLmdb },
	{ name: "reyn file", ours: true, load: async () => (await import("./reyn.ts")).reynOver((directory) => directory) },
	{
		name: "reyn file, no thread of its own",
		load: async () => {
			const [{ reynOver }, { fileEngine, nodeDisk }] = [await import("./reyn.ts"), await import("@reyn/wal")];
			return reynOver((directory) => fileEngine(directory, { disk: nodeDisk }));
		},
	},
	{
		name: "reyn sqlite",
		load: async () => {
			const [{ reynOver }, { sqliteEngine }] = [await import("./reyn.ts"), await import("@reyn/wal/sqlite")];
			return reynOver((directory) => sqliteEngine(join(directory, "log.db")));
		},
	},
];
