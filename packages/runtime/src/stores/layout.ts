import { lstatSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { asFileName } from "@reyn/snapshot";
import { assertOwnDirectory, logIdentityIn, type Scope, scopeKey, type WalError } from "@reyn/wal";

/** Every path under a state directory (`.reyn/`), once. */
export interface Layout {
	readonly root: string;
	/** The log: `wal.jsonl` and its lock. */
	readonly wal: string;
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
		results: join(root, "state", "results"),
		runs,
		run: (id) => join(runs, asFileName(id)),
		agents,
		plans: (scope) => plansIn(agent(scope)),
		plansIn,
		workspace: (scope) => workspaceIn(agent(scope)),
	};
}

/** Where the states of a log lie that were stored. */
export interface StoredStates {
	readonly snapshots: string;
	/** What outlives the records that `gc` takes away: the index of branches, and states. */
	readonly kept: string;
}

/**
 * Where the stored states lie of the log that is there now; of one that is about to be taken over, where they will. They are held
 * to a record of the log, which whoever the log came from knows too: so in one that was taken over they have a name that nobody
 * else knew, and what is put in later is not read.
 *
 * @throws WalError `WAL_UNSAFE` when the log is not this user's own
 */
export function storedStatesOf({ wal }: Layout, adopted = adoptedIn(wal)): StoredStates {
	const suffix = adopted === undefined ? "" : `-${adopted}`;
	return { snapshots: join(wal, SNAPSHOTS + suffix), kept: join(wal, KEPT + suffix) };
}

function adoptedIn(wal: string): string | undefined {
	try {
		return logIdentityIn(wal)?.adopted;
	} catch (error) {
		// Its opening tells what is damaged, and what to do.
		if ((error as WalError).code !== "WAL_CORRUPT") throw error;
		return undefined;
	}
}

/** All directories of stored states: those of the log, and those that it had before it was taken over. */
export const allStoredStates = ({ wal }: Layout): readonly string[] =>
	namesIn(wal)
		.filter((name) => isStoredStates.test(name))
		.map((name) => join(wal, name));

const [SNAPSHOTS, KEPT] = ["snapshots", "kept"];
const isStoredStates = new RegExp(`^(?:${SNAPSHOTS}|${KEPT})(?:-[0-9a-f]{32})?$`);

const workspaceIn = (agent: string): string => join(agent, "workspace");

/** Refuses a state that a link, or what others may write to, is a directory of. @throws WalError `WAL_UNSAFE` */
export function assertOwnState(layout: Layout): void {
	const { root, wal, results, runs, agents, plansIn } = layout;
	for (const directory of [root, wal]) assertOwnDirectory(directory);
	for (const directory of [...allStoredStates(layout), results, runs, agents]) assertOwnDirectory(directory);
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
