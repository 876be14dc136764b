import { readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { atomicWrite, type Scope, type Seq, scopeKey } from "@reyn/wal";
import type { SnapshotStore } from "./store.ts";

/** Snapshots in files: `<directory>/<scope>/<20-digit seq>.json`, each written whole or not at all. */
export function fileSnapshots(directory: string): SnapshotStore {
	// `@` cannot start a part of a scope's key, so the process has a folder of its own beside the agents'.
	const folder = (scope: Scope): string => join(directory, ...(scopeKey(scope) || "@process").split("/"));
	const path = (scope: Scope, seq: Seq): string => join(folder(scope), `${String(seq).padStart(20, "0")}.json`);
	return {
		put: (scope, seq, text) => atomicWrite(path(scope, seq), text),
		async list(scope) {
			const names = await unlessMissing(readdir(folder(scope)));
			return (names ?? [])
				.filter((name) => /^\d{20}\.json$/.test(name))
				.map((name) => Number(name.slice(0, 20)))
				.sort((a, b) => b - a);
		},
		get: (scope, seq) => unlessMissing(readFile(path(scope, seq), "utf8")),
		setAside: (scope, seq) => rename(path(scope, seq), `${path(scope, seq)}.broken`),
	};
}

async function unlessMissing<T>(read: Promise<T>): Promise<T | undefined> {
	try {
		return await read;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}
