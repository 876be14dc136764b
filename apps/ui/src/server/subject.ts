/** What a page is of, as whoever serves it gives it. */
import type { BegunAnywhere, HolderOf, WorkVerb, WriteVerb } from "@reyn/operator";
import type { Runtime, SessionScope } from "@reyn/runtime";

export interface Subject {
	/** What is worked on, as the page names it: a directory. */
	readonly name: string;
	/** The session that the page is about first. */
	readonly session: SessionScope;
	/** The directory of the log, for what looks at its files. */
	readonly log: string;
	/** Opens the state `readOnly`. The page keeps it, moves it along with the log, and closes it. */
	open(): Promise<Runtime>;
	/** Looks as a process that went on would find it; what looks so runs scripts. Absent: such verbs are not offered. */
	ahead?<T>(use: (runtime: Runtime) => Promise<T>): Promise<T>;
	/** Does what was confirmed, wherever the log is: `act` of `@reyn/operator`. Absent: the page changes nothing. */
	act?(verb: WriteVerb, seen: object): Promise<object>;
	/** Begins work, wherever the log is: `beginAnywhere` of `@reyn/operator`. Absent: the page begins nothing. */
	begin?(verb: WorkVerb, given: Readonly<Record<string, unknown>>): Promise<BegunAnywhere>;
	/** The process that has the log, if it hears others: `holderOf` of `@reyn/operator`. Absent: who has it is not shown. */
	readonly holder?: HolderOf;
	/** Files that tools have changed: do they go along with a move where nobody has said so, or are never offered? Default: `ask`, and they stay. */
	readonly files?: "ask" | "never" | "always";
	/** Why it changes nothing, in words for its header. */
	readonly readOnly?: string;
}
