import { type Scope, type Seq, scopeKey } from "@reyn/wal";
import type { SnapshotStore } from "./store.ts";

/** Snapshots in memory; they end with the process. */
export function memorySnapshots(): SnapshotStore {
	const scopes = new Map<string, Map<Seq, string>>();
	const of = (scope: Scope): Map<Seq, string> => scopes.get(scopeKey(scope)) ?? new Map();
	return {
		async put(scope, seq, text) {
			scopes.set(scopeKey(scope), of(scope).set(seq, text));
		},
		list: async (scope) => [...of(scope).keys()].sort((a, b) => b - a),
		get: async (scope, seq) => of(scope).get(seq),
		async setAside(scope, seq) {
			of(scope).delete(seq);
		},
	};
}
