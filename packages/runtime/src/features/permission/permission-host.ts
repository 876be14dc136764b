/** Lets calls of tools pass, denies them, or asks a person, whose lasting answers are recorded. */
import { hash } from "node:crypto";
import type { GatedCall, Verdict, Want } from "@reyn/journal";
import { canonicalJson, type Seq } from "@reyn/wal";
import { RuntimeError } from "../../kernel/errors.ts";
import type { FeatureHost, Kernel } from "../../kernel/feature.ts";
import { asker } from "../../kernel/services.ts";
import type { Session } from "../../kernel/session.ts";
import { mainSession } from "../../kernel/sessions.ts";
import { type Decision, decide, type PermissionMode, type PermissionRule, textOf } from "./decide.ts";
import { type Grant, grants } from "./grants.ts";
import { assertPermissions } from "./options.ts";
import { permissionGranted, permissionRevoked } from "./records.ts";

export interface PermissionOptions {
	/** Default: `ask`. */
	readonly mode?: PermissionMode | undefined;
	/** Default: none. */
	readonly rules?: readonly PermissionRule[] | undefined;
}

/** What may be done without a question, and what may not be done. */
export interface Permissions {
	/** Absent: every call is made, since the runtime was opened without `permissions`. */
	readonly mode?: PermissionMode;
	readonly rules: readonly PermissionRule[];
	/** Oldest first. */
	readonly grants: readonly Grant[];
}

export class PermissionHost implements FeatureHost {
	readonly #kernel: Kernel;
	readonly #rules: readonly PermissionRule[];
	#mode: PermissionMode | undefined;
	readonly gate: FeatureHost["gate"];

	constructor(kernel: Kernel, options: PermissionOptions | undefined) {
		const { mode = "ask", rules = [] } = options ?? {};
		this.#kernel = kernel;
		this.#rules = rules;
		this.#mode = options && mode;
		this.gate = options && ((session, call) => this.#decide(session, call));
	}

	/** Absent: every call is made. */
	get mode(): PermissionMode | undefined {
		return this.#mode;
	}

	/** @throws RuntimeError `RUNTIME_PERMISSIONS` */
	change(mode: PermissionMode): void {
		if (this.#mode === undefined)
			throw new RuntimeError("RUNTIME_PERMISSIONS", "this runtime was opened without permissions: it has no mode", {});
		assertPermissions({ mode });
		this.#mode = mode;
	}

	async permissions(): Promise<Permissions> {
		return { ...(this.#mode && { mode: this.#mode }), rules: this.#rules, grants: await this.#grants() };
	}

	/** @throws RuntimeError `RUNTIME_UNKNOWN_GRANT` */
	async revoke(grant: Seq, by: string): Promise<void> {
		const known = await this.#grants();
		if (!known.some(({ seq }) => seq === grant))
			throw new RuntimeError(
				"RUNTIME_UNKNOWN_GRANT",
				`nothing was granted in #${grant}, or it was revoked; there are ${known.map(({ seq }) => `#${seq}`).join(", ") || "none"}`,
				{ grant, known: known.map(({ seq }) => seq) },
			);
		const { log, scope } = this.#kernel.sessions.at(mainSession);
		await log.append(permissionRevoked({ grant, by }), scope).durable;
	}

	async #decide(session: Session, call: GatedCall): Promise<Verdict> {
		if (call.type !== "tool") return { kind: "pass" };
		const decision = await this.#decisionOn(session, call);
		if (decision.kind === "allow") return { kind: "pass" };
		if (decision.kind === "deny") return denied(decision.why);
		const [kind = "", id = ""] = call.lane.split("/");
		const answer = await this.#kernel.get(asker).ask(
			session,
			{
				key: call.key,
				terms: hash("sha256", canonicalJson(decision.wants)),
				isAgain: call.inDoubt ?? false,
				from: { kind, id },
				question: `${decision.wants.map(textOf).join(", ")}?${call.inDoubt ? " It was begun before, and nobody knows whether it happened" : ""}`,
				lines: decision.wants.flatMap(linesOf),
				choices,
				explained: "no",
			},
			call.signal,
		);
		switch (answer.kind) {
			case "nobody":
				return denied(`${decision.wants.map(textOf).join(", ")}: nobody is here who could allow it`);
			case "later":
				return { kind: "wait", for: `an answer to #${answer.seq}` };
			case "answered": {
				// The mode may have changed since it was asked.
				const now = await this.#decisionOn(session, call);
				return now.kind === "deny" ? denied(now.why) : this.#follow(session, decision.wants, answer);
			}
		}
	}

	async #decisionOn({ scope }: Session, { name: tool, purity, wants }: GatedCall): Promise<Decision> {
		const { mode = "ask" } = this;
		return decide({ tool, purity, wants, ...scope }, { mode, rules: this.#rules, granted: await this.#grants() });
	}

	/** Does as a person has said. What they grant for good is durable before the call is made. */
	async #follow(
		session: Session,
		wants: readonly Want[],
		{ text, by }: { readonly text: string; readonly by: string },
	): Promise<Verdict> {
		const [, choice, why] = /^(\w+)(?:: (.*))?$/s.exec(text) ?? [];
		if (choice === "once") return { kind: "pass" };
		if (choice !== "session" && choice !== "always")
			return denied(`${wants.map(textOf).join(", ")}: ${by} says no${why ? `: ${why}` : ""}`);
		const { agent, session: name } = session.scope;
		const known = await this.#grants();
		for (const { action, subject, covers } of wants) {
			const on = covers ?? subject;
			// Without its secret it would be another one.
			if ((this.#kernel.redact?.(on) ?? on) !== on) continue;
			const exact = covers === undefined && { exact: true as const };
			const draft = { action, on, ...exact, agent, ...(choice === "session" && { session: name }) };
			// It was granted, and the process died before the call was made.
			if (
				known.some(
					(each) => each.action === action && each.on === on && each.agent === agent && each.session === draft.session,
				)
			)
				continue;
			await session.log.append(permissionGranted({ ...draft, by }), session.scope).durable;
		}
		return { kind: "pass" };
	}

	async #grants(): Promise<readonly Grant[]> {
		const { view } = await this.#kernel.timeline.wholeLog.live();
		return view.get(grants);
	}
}

const choices = ["once", "session", "always", "no"];

const denied = (why: string): Verdict => ({ kind: "deny", code: "PERMISSION_DENIED", reason: `denied: ${why}` });

/** What would be done, and what an answer for good would cover. */
const linesOf = (want: Want): readonly string[] => [
	...(want.shows ?? []),
	`session, always: ${textOf({ action: want.action, subject: want.covers ?? want.subject })}`,
];
