/** The layout of a state directory (`.reyn/`): every path below it is made here. */
import { lstatSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { asFileName } from "@reyn/snapshot/internal";
import { codeOf, type Scope, scopeKey } from "@reyn/wal";
import { assertOwnDirectory, logIdentityIn } from "@reyn/wal/internal";

export interface Layout {
	readonly root: string;
	/** The directory of the log, `wal.jsonl` and its lock, and of the blob areas. */
	readonly wal: string;
	/** The directory where older versions put the texts of script runs. */
	readonly runs: string;
	/** The directory of the agents, each with a directory of its own. */
	readonly agents: string;
	/** The directory where it is recorded what commands have printed, and how they ended. */
	readonly commands: string;
	/** The directory of the audit trail. */
	readonly events: string;
	/** The directory of configuration files. */
	readonly config: string;
	/** The directory of the tasks that live beside the log. */
	readonly tasks: string;
	/** The directory that an agent's skills write to. */
	workspace(scope: Scope): string;
}

export function layoutOf(root: string): Layout {
	const agents = join(root, "agents");
	return {
		root,
		wal: join(root, "state"),
		runs: join(root, "runs"),
		agents,
		commands: join(root, "state", "commands"),
		events: join(root, "events"),
		config: join(root, "config"),
		tasks: join(root, "tasks"),
		workspace: ({ agent = "default" }) => workspaceIn(join(agents, agentIn(agents, agent))),
	};
}

/**
 * The directory of the blobs of an area. Stored states need protection in a log that was taken over from elsewhere: they are only
 * checked against a record of the log, which its former owner knows too. So their directory has a random part in its name that the
 * former owner does not know, and states that are put in later are not read.
 *
 * @param adopted that random part; for a log that is about to be taken over, the one that it will have
 * @throws WalError `WAL_UNSAFE` when the log is not this user's own
 */
export function areaIn({ wal }: Layout, area: string, adopted = isOfLog(area) ? adoptedIn(wal) : undefined): string {
	return join(wal, adopted === undefined ? area : `${area}-${adopted}`);
}

/** The areas of stored states: snapshots, and what outlives the records that `gc` removes. */
const OF_LOG: readonly string[] = ["snapshots", "kept"];

const isOfLog = (area: string): boolean => OF_LOG.includes(area);

/** The areas whose blobs are named by their hash, so that it does not matter who put them there. */
const HASHED: readonly string[] = ["results", "images", "scripts", "plans"];

function adoptedIn(wal: string): string | undefined {
	try {
		return logIdentityIn(wal)?.adopted;
	} catch (error) {
		// A damaged log is reported when it is opened.
		if (codeOf(error) !== "WAL_CORRUPT") throw error;
		return undefined;
	}
}

/** The directories of blobs that exist or may exist. `isFormer`: stored states from before the log was taken over. */
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

/** The directories where older versions put decompositions: `state/plans` of each agent. */
export const formerPlansIn = ({ agents }: Layout): readonly string[] =>
	agentsIn(agents).map((agent) => join(agent, "state", "plans"));

/** Refuses a state if one of its directories is a link, or others may write to it. @throws WalError `WAL_UNSAFE` */
export function assertOwnState(layout: Layout): void {
	const { root, wal, runs, agents, commands, config, tasks } = layout;
	for (const directory of [root, wal, commands, config, tasks]) assertOwnDirectory(directory);
	for (const { directory } of areasIn(layout)) assertOwnDirectory(directory);
	for (const directory of [runs, agents]) assertOwnDirectory(directory);
	for (const agent of agentsIn(agents)) {
		assertOwnDirectory(agent);
		assertOwnDirectory(workspaceIn(agent));
	}
	for (const plans of formerPlansIn(layout)) assertOwnWay(agents, plans);
}

/** Checks the root, a directory below it, and all directories between. @throws WalError `WAL_UNSAFE` */
export function assertOwnWay(root: string, directory: string): void {
	const parts = relative(root, directory).split(sep);
	for (let i = 0; i <= parts.length; i++) assertOwnDirectory(join(root, ...parts.slice(0, i)));
}

const agentsIn = (agents: string): readonly string[] =>
	namesIn(agents)
		.map((name) => join(agents, name))
		.filter((path) => !lstatSync(path, { throwIfNoEntry: false })?.isFile());

/** The name of an agent's directory. Older versions named some in another way; an existing directory stays in use. */
function agentIn(agents: string, name: string): string {
	const [now, former] = [asFileName(name), scopeKey({ agent: name })];
	return former !== now && namesIn(agents).includes(former) ? former : now;
}

/** The names in a directory. Compare them exactly: a file system that ignores case would find others too. */
export function namesIn(directory: string): readonly string[] {
	try {
		return readdirSync(directory);
	} catch (error) {
		if (codeOf(error) === "ENOENT") return [];
		throw error;
	}
}
