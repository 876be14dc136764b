import { lstatSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { asFileName } from "@reyn/snapshot";
import { assertOwnDirectory, type Scope, scopeKey } from "@reyn/wal";

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
	/** The script runs. */
	readonly runs: string;
	/** The text, the arguments and the result of a script run. */
	run(id: string): string;
	/** The agents, a directory each. */
	readonly agents: string;
	/** Where an agent's plans keep their decompositions. */
	plans(scope: Scope): string;
	/** The same, by the agent's directory. */
	plansIn(agent: string): string;
	/** Where an agent's skills write. */
	workspace(scope: Scope): string;
}

export function layoutOf(root: string): Layout {
	const [runs, agents] = [join(root, "runs"), join(root, "agents")];
	const agent = (scope: Scope): string => join(agents, agentIn(agents, scope.agent ?? "default"));
	const plansIn = (directory: string): string => join(directory, "state", "plans");
	return {
		root,
		wal: join(root, "state"),
		snapshots: join(root, "state", "snapshots"),
		kept: join(root, "state", "kept"),
		results: join(root, "state", "results"),
		runs,
		run: (id) => join(runs, asFileName(id)),
		agents,
		plans: (scope) => plansIn(agent(scope)),
		plansIn,
		workspace: (scope) => workspaceIn(agent(scope)),
	};
}

const workspaceIn = (agent: string): string => join(agent, "workspace");

/** Refuses a state that a link, or what others may write to, is a directory of. @throws WalError `WAL_UNSAFE` */
export function assertOwnState({ root, wal, snapshots, kept, results, runs, agents, plansIn }: Layout): void {
	for (const directory of [root, wal, snapshots, kept, results, runs, agents]) assertOwnDirectory(directory);
	for (const name of namesIn(agents)) {
		const agent = join(agents, name);
		if (lstatSync(agent, { throwIfNoEntry: false })?.isFile()) continue;
		for (const directory of [agent, workspaceIn(agent), dirname(plansIn(agent)), plansIn(agent)])
			assertOwnDirectory(directory);
	}
}

/** The name of an agent's directory. Older versions have made others for names that are not plain, and those stay. */
function agentIn(agents: string, name: string): string {
	const [now, former] = [asFileName(name), scopeKey({ agent: name })];
	return former !== now && namesIn(agents).includes(former) ? former : now;
}

/** As they are written: a file system that folds case would find others too. */
export function namesIn(directory: string): readonly string[] {
	try {
		return readdirSync(directory);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
		throw error;
	}
}
