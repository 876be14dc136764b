/** The sessions of the current line of history: finds and makes them, and holds prompts while a rewind is under way. */
import type { View } from "@reyn/snapshot";
import { type Coverage, openSession, reset, type Timeline } from "@reyn/timetravel";
import { type Scope, scopeKey, type WalRecord } from "@reyn/wal";
import { RuntimeError } from "./errors.ts";
import { sessionOpened } from "./records.ts";
import { Session, type SessionScope } from "./session.ts";
import { type Classes, isCovered } from "./work.ts";

export const mainSession: SessionScope = { agent: "default", session: "main" };

/** The session that a scope lies in; the main session for a wider scope. */
export const sessionOf = ({ agent, session }: Scope): SessionScope =>
	agent !== undefined && session !== undefined ? { agent, session } : mainSession;

export interface SessionsPorts {
	readonly timeline: Timeline;
	/** The kinds of record that begin something. */
	readonly begins: readonly string[];
	/** @throws when nothing may begin any more */
	assertOpen(): void;
}

export class Sessions implements Iterable<Session> {
	readonly #ports: SessionsPorts;
	readonly #sessions = new Map<string, Session>();
	/** The opening record of each session, abandoned ones included. */
	readonly #opened: WalRecord[] = [];
	/** Has another process opened a session, or moved, since the line was followed? */
	#isBehind = false;
	/** The rewind under way. Before its coverage is known it may cover anything; `over` resolves then when the coverage is known. */
	#rewind: { covers(work: Classes): boolean; readonly over: Promise<void> } | undefined;
	#planned: (() => void) | undefined;

	constructor(ports: SessionsPorts) {
		this.#ports = ports;
	}

	/** Finds the sessions in the log. Called once, when the timeline is open. */
	async open(): Promise<void> {
		this.#opened.push(...(await this.#ports.timeline.records()).filter(sessionOpened.is));
		await this.follow();
	}

	/** Takes records that another process wrote. {@link catchUp} then opens and closes what they open and close. */
	took(records: readonly WalRecord[]): void {
		const opened = records.filter(sessionOpened.is);
		this.#opened.push(...opened);
		this.#isBehind ||= opened.length > 0 || records.some(reset.is);
	}

	async catchUp(): Promise<void> {
		if (!this.#isBehind) return;
		await this.follow();
		this.#isBehind = false;
	}

	/** All sessions; the main one is always among them. */
	[Symbol.iterator](): Iterator<Session> {
		return this.#sessions.values();
	}

	find(scope: Scope): Session | undefined {
		return this.#sessions.get(scopeKey(scope));
	}

	/** @throws RuntimeError `RUNTIME_UNKNOWN_SESSION` */
	at(scope: SessionScope): Session {
		const session = this.find(scope);
		if (session) return session;
		const [name, known] = [scopeKey(scope), [...this.#sessions.keys()].join(", ")];
		const isGone = this.everOpened().some((each) => scopeKey(each) === name);
		const advice = isGone ? ". It was opened, and a rewind took it away: undo that, or check out a seq of it" : "";
		throw new RuntimeError("RUNTIME_UNKNOWN_SESSION", `no session ${name}; there are ${known}${advice}`, { scope });
	}

	/** The session whose state passes a test; if none does, the main session, whose own check then names what there is. */
	ownerOf(has: (view: View) => boolean): Session {
		return [...this].find(({ view }) => has(view)) ?? this.at(mainSession);
	}

	/** The session of a scope, made if it does not exist. Waits while a rewind of it is under way. */
	async ensure(scope: SessionScope): Promise<Session> {
		for (;;) {
			await this.rewound(scope);
			const session = this.find(scope) ?? (await this.#load(scope, { isNew: true }));
			if (!this.#isRewinding(scope)) return session;
		}
	}

	/** All sessions that were ever opened, those of abandoned branches included. */
	everOpened(): readonly SessionScope[] {
		return scopesOf(this.#opened);
	}

	/** Closes the sessions that the current line of history does not have, and opens those that it has. */
	async follow(): Promise<void> {
		const { lineage } = this.#ports.timeline;
		const known = new Map(
			// In any class: a partial rewind may have dropped the opening record and kept the conversation.
			scopesOf(this.#opened.filter(({ seq, scope }) => lineage.isAncestorInAny(seq, scope))).map((scope) => [
				scopeKey(scope),
				scope,
			]),
		);
		for (const [key, session] of this.#sessions) {
			if (known.has(key)) continue;
			session.leave();
			this.#sessions.delete(key);
		}
		for (const [key, scope] of known) if (!this.#sessions.has(key)) await this.#load(scope);
	}

	/** Announces a move whose coverage is not known yet: requests for a session wait until it turns out to cover others, or is over. */
	begin(move: Promise<unknown>): void {
		if (this.#rewind) return;
		const { promise, resolve } = Promise.withResolvers<void>();
		const rewind = { covers: () => true, over: promise };
		this.#rewind = rewind;
		this.#planned = resolve;
		const ended = (): void => {
			if (this.#rewind === rewind) this.#rewind = undefined;
			resolve();
		};
		move.then(ended, ended);
	}

	/** Lets requests for covered sessions wait until a rewind is over. @returns a function that ends the wait */
	hold(coverage: Coverage): () => void {
		const { promise: over, resolve } = Promise.withResolvers<void>();
		this.#rewind = { covers: (work) => isCovered(work, coverage), over };
		this.#planned?.();
		void over.then(() => {
			this.#rewind = undefined;
		});
		return resolve;
	}

	/** Resolves when the rewind under way is over; undefined: there is none. */
	get rewinding(): Promise<void> | undefined {
		return this.#rewind?.over;
	}

	/** Resolves when no rewind is under way that covers what a person begins in a session. */
	async rewound(scope: SessionScope): Promise<void> {
		while (this.#isRewinding(scope)) await this.rewinding;
	}

	#isRewinding(scope: SessionScope): boolean {
		return this.#rewind?.covers({ scope, kinds: this.#ports.begins }) === true;
	}

	async #load(scope: SessionScope, { isNew = false } = {}): Promise<Session> {
		const key = scopeKey(scope);
		const timeline = this.#ports.timeline;
		for (;;) {
			if (isNew) await this.rewound(scope);
			const line = await openSession(timeline, scope);
			const known = this.#sessions.get(key);
			if (known) return known;
			if (isNew && this.#isRewinding(scope)) continue;
			if (isNew) this.#ports.assertOpen();
			const session = new Session(scope, line);
			this.#sessions.set(key, session);
			if (isNew) this.#opened.push(session.log.append(sessionOpened({}), scope).record);
			return session;
		}
	}
}

/** The sessions whose states have to survive `gc`, from the records that do. */
export const keptScopes = (kept: readonly WalRecord[]): readonly SessionScope[] =>
	scopesOf(kept.filter(sessionOpened.is));

/** The sessions that were opened, and the main one. */
export function scopesOf(opened: readonly WalRecord[]): readonly SessionScope[] {
	const scopes = new Map([[scopeKey(mainSession), mainSession]]);
	for (const { scope } of opened) {
		const { agent, session } = scope;
		if (agent !== undefined && session !== undefined) scopes.set(scopeKey(scope), { agent, session });
	}
	return [...scopes.values()];
}
