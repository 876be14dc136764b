/** Every path under a state directory (`.reyn/`), once. */
import { lstatSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { asFileName } from "@reyn/snapshot/internal";
import { codeOf, type Scope, scopeKey } from "@reyn/wal";
import { assertOwnDirectory, logIdentityIn } from "@reyn/wal/internal";

export interface Layout {
	readonly root: string;
	/** The log: `wal.jsonl` and its lock; and what lies beside it, by area. */
	readonly wal: string;
	/** Where older versions put what script runs are made of. */
	readonly runs: string;
	/** The agents, a directory each. */
	readonly agents: string;
	/** Where an agent's skills write. */
	workspace(scope: Scope): string;
}

export function layoutOf(root: string): Layout {
	const agents = join(root, "agents");
	return {
		root,
		wal: join(root, "state"),
		runs: join(root, "runs"),
		agents,
		workspace: ({ agent = "default" }) => workspaceIn(join(agents, agentIn(agents, agent))),
	};
}

/**
 * Where the blobs of an area lie. The stored states are those of the log that is there now: they are held to a record of the log,
 * which whoever the log came from knows too, so in one that was taken over they have a name that nobody else knew, and what is put
 * in later is not read.
 *
 * @param adopted the name that the log was taken over by; of one that is about to be, the one that it will have
 * @throws WalError `WAL_UNSAFE` when the log is not this user's own
 */
export function areaIn({ wal }: Layout, area: string, adopted = isOfLog(area) ? adoptedIn(wal) : undefined): string {
	return join(wal, adopted === undefined ? area : `${area}-${adopted}`);
}

/** The stored states: the snapshots, and what outlives the records that `gc` takes away. */
const OF_LOG: readonly string[] = ["snapshots", "kept"];

const isOfLog = (area: string): boolean => OF_LOG.includes(area);

/** The areas whose blobs are what their names say, whoever put them there. */
const HASHED: readonly string[] = ["results", "scripts", "plans"];

function adoptedIn(wal: string): string | undefined {
	try {
		return logIdentityIn(wal)?.adopted;
	} catch (error) {
		// Its opening tells what is damaged, and what to do.
		if (codeOf(error) !== "WAL_CORRUPT") throw error;
		return undefined;
	}
}

/** The directories of blobs that there are, or may be. `former`: stored states that the log had before it was taken over. */
export function areasIn(layout: Layout): readonly { readonly directory: string; readonly isFormer: boolean }[] {
	const { wal } = layout;
	const today = OF_LOG.map((area) => areaIn(layout, area));
	const stored = namesIn(wal)
		.filter((name) => isStoredStates.test(name))
		.map((name) => join(wal, name));
	return [
		...stored.map((directory) => ({ directory, isFormer: !today.includes(directory) })),
		...HASHED.map((area) => ({ directory: areaIn(layout, area), isFormer: false })),
	];
}

const isStoredStates = new RegExp(`^(?:${OF_LOG.join("|")})(?:-[0-9a-f]{32})?$`);

const workspaceIn = (agent: string): string => join(agent, "workspace");

/** Where older versions put decompositions: `state/plans` of each agent. */
export const formerPlansIn = ({ agents }: Layout): readonly string[] =>
	agentsIn(agents).map((agent) => join(agent, "state", "plans"));

/** Refuses a state that a link, or what others may write to, is a directory of. @throws WalError `WAL_UNSAFE` */
export function assertOwnState(layout: Layout): void {
	const { root, wal, runs, agents } = layout;
	for (const directory of [root, wal]) assertOwnDirectory(directory);
	for (const { directory } of areasIn(layout)) assertOwnDirectory(directory);
	for (const directory of [runs, agents]) assertOwnDirectory(directory);
	for (const agent of agentsIn(agents)) {
		assertOwnDirectory(agent);
		assertOwnDirectory(workspaceIn(agent));
	}
	for (const plans of formerPlansIn(layout)) assertOwnWay(agents, plans);
}

/** Looks at the root, at a directory below it, and at those between. @throws WalError `WAL_UNSAFE` */
export function assertOwnWay(root: string, directory: string): void {
	const parts = relative(root, directory).split(sep);
	for (let i = 0; i <= parts.length; i++) assertOwnDirectory(join(root, ...parts.slice(0, i)));
}

const agentsIn = (agents: string): readonly string[] =>
	namesIn(agents)
		.map((name) => join(agents, name))
		.filter((path) => !lstatSync(path, { throwIfNoEntry: false })?.isFile());

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
		if (codeOf(error) === "ENOENT") return [];
		throw error;
	}
}
