/** Decides whether a call may be made, by rules, by what a person has granted, and by the mode. */
import type { Purity, Want } from "@reyn/journal";
import { isPlain, matchesCommand, namesPath } from "./command.ts";
import { matches } from "./pattern.ts";

/**
 * What is done without a question where no rule says so. `ask`: what only looks. `edits`: that, and changes of files. `all`:
 * everything. `read-only`: what only looks, and nothing else is asked about: it is denied.
 */
export type PermissionMode = "ask" | "edits" | "all" | "read-only";

export const permissionModes = ["ask", "edits", "all", "read-only"] as const satisfies readonly PermissionMode[];

/** A rule for calls of tools. */
export interface PermissionRule {
	readonly effect: "allow" | "ask" | "deny";
	/** What would be done, such as `write`, which is what `edit` and `remove` do too; or the name of a tool; or `*`. */
	readonly action: string;
	/** Where: a pattern of paths, such as `src/**`; of commands (`run`), the words that they begin with. Absent: anywhere. */
	readonly on?: string | undefined;
	/** Only for calls of this agent. Default: of all. */
	readonly agent?: string | undefined;
}

/** What a person has allowed for good. */
export interface Granted {
	readonly action: string;
	readonly on: string;
	/** `on` is the very subject, and no pattern. */
	readonly exact?: true | undefined;
	readonly agent: string;
	/** Only in this session. */
	readonly session?: string | undefined;
}

/** A call that is decided on. */
export interface WantedCall {
	readonly tool: string;
	readonly purity: Purity;
	readonly agent: string;
	readonly session: string;
	/** Absent: the tool does not say. */
	readonly wants?: readonly Want[] | undefined;
}

export type Decision =
	| { readonly kind: "allow" }
	| { readonly kind: "deny"; readonly why: string }
	/** A person has to be asked about these. */
	| { readonly kind: "ask"; readonly wants: readonly Want[] };

export interface Policy {
	readonly mode: PermissionMode;
	readonly rules: readonly PermissionRule[];
	readonly granted: readonly Granted[];
}

/**
 * What denies comes first, then what a person has granted, then what asks, then what allows, then the mode. A call that touches
 * several things needs all of them.
 */
export function decide(call: WantedCall, policy: Policy): Decision {
	// What touches nothing is known by its name alone.
	const wants = call.wants?.length === 0 || !call.wants ? [{ action: call.tool, subject: "" }] : call.wants;
	const decided = wants.map((want) => ({ want, by: decideOn(want, call, policy) }));
	for (const { want, by } of decided)
		if (by.kind === "deny") return { kind: "deny", why: `${textOf(want)}: ${by.why}` };
	const asked = decided.filter(({ by }) => by.kind === "ask").map(({ want }) => want);
	return asked.length > 0 ? { kind: "ask", wants: asked } : { kind: "allow" };
}

type One = { readonly kind: "allow" | "ask" } | { readonly kind: "deny"; readonly why: string };

function decideOn({ action, subject }: Want, call: WantedCall, { mode, rules, granted }: Policy): One {
	const touchesNothing = call.wants?.length === 0;
	const own = rules.filter(({ agent }) => agent === undefined || agent === call.agent);
	const has = (effect: PermissionRule["effect"]): PermissionRule | undefined =>
		own.find(
			(rule) =>
				rule.effect === effect &&
				(rule.action === action ||
					rule.action === call.tool ||
					(rule.action === "*" && !(touchesNothing && effect === "ask"))) &&
				(rule.on === undefined || isOn(rule.on, action, subject, effect !== "allow")),
		);
	// A command reads and writes whatever files it likes.
	const closes = action === RUN ? own.filter(isOfFiles) : [];
	const named = closes.filter(({ on }) => on !== undefined && namesPath(on, subject));
	const denied = has("deny") ?? named.find((rule) => rule.action !== "write");
	if (denied) return { kind: "deny", why: `a rule denies it (${ruleText(denied)})` };
	const looks = touchesNothing || (call.wants ? action === "read" : call.purity === "pure" || call.purity === "world");
	if (mode === "read-only" && !looks) return { kind: "deny", why: "what is here is only looked at (mode read-only)" };
	const isGranted = granted.some(
		(each) =>
			each.action === action &&
			each.agent === call.agent &&
			(each.session === undefined || each.session === call.session) &&
			(each.exact ? each.on === subject : isOn(each.on, action, subject, false)),
	);
	if (isGranted) return { kind: "allow" };
	// Another command may hide in it, or be put together by it.
	const mayHide = action === RUN && !isPlain(subject) && own.some((rule) => rule.effect === "deny" && isOfRuns(rule));
	if (has("ask") || mayHide || named.length > 0) return { kind: "ask" };
	const isFree =
		looks ||
		(mode === "all" && closes.length === 0) ||
		(mode === "edits" && call.wants !== undefined && action === "write");
	return { kind: isFree || has("allow") ? "allow" : "ask" };
}

/** What a tool does that runs a command: its subject is the command. */
const RUN = "run";

const isOfRuns = ({ action }: PermissionRule): boolean => action === RUN || action === "shell" || action === "*";

/** Does it close files to somebody? */
const isOfFiles = ({ effect, action, on }: PermissionRule): boolean =>
	effect === "deny" && (ofFiles.includes(action) || (action === "*" && on !== undefined));

const ofFiles: readonly string[] = ["read", "list", "search", "write", "edit", "remove"];

const isOn = (pattern: string, action: string, subject: string, forbids: boolean): boolean =>
	action === RUN ? matchesCommand(pattern, subject, forbids) : matches(pattern, subject, forbids);

/** Does a rule say of everybody that what lies at a path is not read? For tools that show what they were not asked for by name. */
export const isUnreadable = (rules: readonly PermissionRule[], path: string): boolean =>
	rules.some(
		({ effect, action, on, agent }) =>
			effect === "deny" &&
			(action === "*" || action === "read") &&
			agent === undefined &&
			(on === undefined || matches(on, path, true)),
	);

/** What is wanted, in words: `write src/a.ts`. */
export const textOf = ({ action, subject }: Pick<Want, "action" | "subject">): string =>
	subject === "" ? action : `${action} ${subject}`;

/** A rule in words: `deny read on .env`. */
const ruleText = ({ effect, action, on, agent }: PermissionRule): string =>
	`${effect} ${action}${on === undefined ? "" : ` on ${on}`}${agent === undefined ? "" : ` for ${agent}`}`;
