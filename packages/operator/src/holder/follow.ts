/** Tells what becomes of work that was begun in another process, from the log alone, until it is over. */
import { planRuns, plansOf } from "@reyn/plan";
import {
	type BackgroundMessage,
	type ConversationItem,
	conversation,
	mainSession,
	type Restored,
	type Runtime,
	type RuntimeEvent,
	type SessionScope,
	sessionOf,
} from "@reyn/runtime";
import { skillRuns, skillRunsOf } from "@reyn/skill-resume";
import { type Seq, scopeKey } from "@reyn/wal";

/** An event of the work, the answer of a turn, or a text from the background. */
export type Followed =
	| RuntimeEvent
	| { readonly type: "reply"; readonly scope: SessionScope; readonly turn: Seq; readonly text: string }
	| { readonly type: "message"; readonly message: BackgroundMessage };

export interface FollowOptions {
	/** The tip of the log before the work was begun. */
	readonly after: Seq;
	/** Ends it before the work is over. */
	readonly signal: AbortSignal;
}

/**
 * @param runtime a reader that was opened before the work was begun: it moves along with the log
 * @param begun as the verb gave it: a turn, a plan, a run, or all that was in flight
 * @returns is it over? Else the signal has ended it, or a rewind has taken the work away
 */
export async function* followWork(
	runtime: Runtime,
	begun: object,
	{ after, signal }: FollowOptions,
): AsyncGenerator<Followed, "over" | "taken back" | "left"> {
	const events = runtime.subscribe({ after, signal });
	const inFlight = runtime.restored();
	await runtime.refresh();
	const open = await openWork(runtime, begun, inFlight);
	if (open.isOver) return "over";
	let told = after;
	for await (const event of events) {
		if (event.type === "moved") {
			await runtime.refresh();
			if (await open.keep(runtime)) continue;
			return "taken back";
		}
		if (!open.takes(event)) continue;
		if (ends(event)) {
			// Its texts are recorded before its end.
			await runtime.refresh();
			for (const text of textsOf(runtime, told, open)) yield text;
			told = runtime.wal.tip;
		}
		yield event;
		if (open.isOver) return "over";
	}
	return "left";
}

const ends = (event: RuntimeEvent): boolean =>
	event.type.endsWith("_end") || (event.type === "script" && event.event.type === "ended");

/** What was begun, and what that has led to: of each whether it is still open. */
class OpenWork {
	/** The session of each turn. */
	readonly #turns = new Map<Seq, string>();
	/** Plans and runs, by their ids. */
	readonly #background = new Set<string>();
	/** All that it ever was. */
	readonly #had = new Set<Seq | string>();

	addTurn(turn: Seq, scope: SessionScope): void {
		this.#turns.set(turn, scopeKey(scope));
		this.#had.add(turn);
	}

	add(id: string): void {
		this.#background.add(id);
		this.#had.add(id);
	}

	has(id: Seq | string): boolean {
		return this.#had.has(id);
	}

	get isOver(): boolean {
		return this.#turns.size + this.#background.size === 0;
	}

	/** Is this event of the work? One that ends a part of it closes that. */
	takes(event: RuntimeEvent): boolean {
		switch (event.type) {
			case "tool":
				return this.#isTurnIn(event.scope);
			case "plan_started":
				if (this.#isTurnIn(event.scope)) this.add(event.plan);
				return this.has(event.plan);
			case "plan_amended":
			case "plan_step":
				return this.has(event.plan);
			case "plan_end":
				return this.#background.delete(event.plan);
			case "compacted":
				return this.has(event.turn);
			case "turn_end":
				return this.#turns.delete(event.turn);
			case "question":
				return this.has(event.from.kind === TURN ? Number(event.from.id) : event.from.id);
			case "skill_end":
				return this.#background.delete(event.run);
			case "script":
				if (!this.has(event.run)) return false;
				if (event.event.type === "ended") this.#background.delete(event.run);
				return true;
			default:
				return false;
		}
	}

	/** Forgets what a rewind has taken away: it is not in the history any more, which what has ended meanwhile is. @returns is anything left? */
	async keep(runtime: Runtime): Promise<boolean> {
		const { lineage } = runtime.timeline;
		for (const turn of this.#turns.keys()) {
			const record = await runtime.timeline.record(turn);
			if (!record || !lineage.isActive(record)) this.#turns.delete(turn);
		}
		const views = runtime.sessions().map((scope) => runtime.view(scope));
		const there = new Set([
			...views.flatMap((view) => [
				...plansOf(view.get(planRuns)).map(([id]) => id),
				...skillRunsOf(view.get(skillRuns)).map(([id]) => id),
			]),
			...runtime.scripts.list().map(({ run }) => run),
		]);
		for (const id of this.#background) if (!there.has(id)) this.#background.delete(id);
		return !this.isOver;
	}

	/** One turn of a session is under way at a time, so what happens there is of that one. */
	#isTurnIn(scope: Parameters<typeof sessionOf>[0]): boolean {
		const key = scopeKey(sessionOf(scope));
		return this.#turns.values().some((each) => each === key);
	}
}

interface Begun {
	readonly turn?: Seq;
	readonly plan?: string;
	readonly run?: string;
}

const TURN = "turn";

/** The work that goes on with an answer. */
function askerOf(begun: object): Begun {
	const { from } = begun as { readonly from?: { readonly kind: string; readonly id: string } };
	if (!from) return {};
	return from.kind === TURN ? { turn: Number(from.id) } : { run: from.id };
}

async function openWork(runtime: Runtime, begun: object, inFlight: Restored): Promise<OpenWork> {
	const { turn, plan, run } = { ...begun, ...askerOf(begun) } as Begun;
	const open = new OpenWork();
	if (turn !== undefined) {
		const record = await runtime.timeline.record(turn);
		open.addTurn(turn, record ? sessionOf(record.scope) : mainSession);
	} else if (plan !== undefined || run !== undefined) open.add((plan ?? run) as string);
	else {
		const { turns, plans, runs } = inFlight;
		for (const each of turns) open.addTurn(each.turn, each.scope);
		for (const { plan, status } of plans) if (status === "running") open.add(plan);
		// A child ends with its plan.
		for (const { run, status, parent } of runs) if (status === "running" && !parent) open.add(run);
	}
	return open;
}

/** The texts of the work that were recorded since a seq. */
function* textsOf(runtime: Runtime, since: Seq, open: OpenWork): Generator<Followed> {
	for (const scope of runtime.sessions()) {
		const { items } = runtime.view(scope).get(conversation);
		const texts: Followed[] = [];
		for (let at = items.length - 1; at >= 0; at--) {
			const item = items.at(at) as ConversationItem;
			if (item.seq <= since) break;
			const { seq } = item;
			if (item.type === "reply" && open.has(item.turn))
				texts.push({ type: "reply", scope, turn: item.turn, text: item.text });
			if (item.type === "message" && open.has(item.from))
				texts.push({ type: "message", message: { seq, scope, from: item.from, text: item.text } });
		}
		yield* texts.reverse();
	}
}
