import { join } from "node:path";
import { type Scope, scopeKey } from "@reyn/wal";

/** Every path under a state directory (`.reyn/`), once. */
export interface Layout {
	readonly root: string;
	/** The log: `wal.jsonl` and its lock. */
	readonly wal: string;
	readonly snapshots: string;
	/** What outlives the records that `gc` takes away: the index of branches, and states. */
	readonly kept: string;
	/** Results of steps that are too large for a record. */
	readonly results: string;
	/** The text, the arguments and the result of a script run. */
	run(id: string): string;
	/** Where an agent's plans keep their decompositions. */
	plans(scope: Scope): string;
	/** Where an agent's skills write. */
	workspace(scope: Scope): string;
}

export function layoutOf(root: string): Layout {
	const agent = (scope: Scope): string => join(root, "agents", scopeKey({ agent: scope.agent ?? "default" }));
	return {
		root,
		wal: join(root, "state"),
		snapshots: join(root, "state", "snapshots"),
		kept: join(root, "state", "kept"),
		results: join(root, "state", "results"),
		run: (id) => join(root, "runs", scopeKey({ run: id })),
		plans: (scope) => join(agent(scope), "state", "plans"),
		workspace: (scope) => join(agent(scope), "workspace"),
	};
}
