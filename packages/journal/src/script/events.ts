/** The events of a script run, and the view that they add up to: the same for a live run and for one read back from the log. */
import type { WalRecord } from "@reyn/wal";
import { type Dict, emptyDict, entriesIn, getIn, setIn } from "../dict.ts";
import type { Identity } from "../entry.ts";
import type { Reason } from "../errors.ts";
import type { Usage } from "../ports.ts";
import { stepCompleted, stepFailed, stepStarted } from "../records.ts";
import type { StepEvent } from "../step.ts";
import { isInner } from "./branches.ts";
import { scriptCompleted, scriptFailed, scriptResumed, scriptStarted } from "./records.ts";

export type ScriptEvent =
	| {
			readonly type: "begun";
			readonly name?: string;
			readonly isResumed: boolean;
			/** It is read from the log: most of what it recalls leaves no record, and is not told. */
			readonly isReadBack?: true;
	  }
	| CallEvent
	/** A model's answer inside a call was recalled, or paid; the call itself says what it cost in all its lives. */
	| { readonly type: "part"; readonly lane: string; readonly state: "hit" | "live"; readonly tokens: number }
	| { readonly type: "printed"; readonly line: string }
	| {
			readonly type: "ended";
			readonly status: EndStatus;
			readonly reason?: string;
			/** The tokens that this attempt recalled. Absent: they were counted call by call, or are not known. */
			readonly recalled?: number;
	  };

/** How an attempt ended. After `stopped` and `waiting` the run stays open, and can be resumed. */
export type EndStatus = "completed" | "failed" | "stopped" | "waiting";

export interface CallEvent {
	readonly type: "call";
	readonly lane: string;
	/** The position of the call in its lane, from 0. */
	readonly at: number;
	readonly kind: string;
	readonly label: string;
	readonly state: CallState;
	readonly tokens?: number;
	/** Why the call failed or is tried again, or what was decided about it in doubt. */
	readonly note?: string;
}

/** The state of a call. `kept` and `cut` are of an earlier attempt, not asked for again yet: recorded, or under way when it ended. */
export type CallState = "calling" | "hit" | "live" | "failed" | "retrying" | "in_doubt" | "kept" | "cut";

/** The script event of a step event; for an inner step, only what it cost. */
export function eventOfStep(event: StepEvent): ScriptEvent | undefined {
	const { lane, kind, at, label = event.name } = event;
	if (isInner(lane)) return partOfStep(event);
	if (at === undefined) return undefined;
	const call = { type: "call", lane, at, kind, label } as const;
	switch (event.type) {
		case "calling":
			return { ...call, state: "calling" };
		case "ghost":
			return { ...call, state: "hit", ...tokensOf(event.usage) };
		case "live":
			return { ...call, state: "live", ...tokensOf(event.usage) };
		case "retrying":
			return { ...call, state: "retrying", note: `try ${event.attempt} failed: ${event.reason}` };
		case "failed":
			return { ...call, state: "failed", note: event.reason };
		case "in_doubt":
			// Not for questions to a person: an unanswered one is simply asked again.
			if (kind === "ask") return undefined;
			return { ...call, state: "in_doubt", note: event.reason ?? event.decision };
		case "world_kept":
			return { ...call, state: "hit", note: "the world may have moved, but later effects rest on this answer" };
		case "lost":
			return { ...call, state: "calling", note: event.reason };
		case "no_space":
		case "unread":
			return undefined;
	}
}

function partOfStep(event: StepEvent): ScriptEvent | undefined {
	const { lane, type } = event;
	if (type === "ghost") return partOf(lane, "hit", event.usage);
	// The inner steps have told their cost one by one.
	return type === "live" && !event.inner ? partOf(lane, "live", event.usage) : undefined;
}

const partOf = (lane: string, state: "hit" | "live", usage: Usage | undefined): ScriptEvent | undefined =>
	usage && { type: "part", lane, state, tokens: usage.inputTokens + usage.outputTokens };

/** The event that a record stands for, if it does for one. */
export function eventOfRecord(record: WalRecord): ScriptEvent | undefined {
	if (scriptStarted.is(record)) return { type: "begun", name: record.data.name, isResumed: false };
	if (scriptResumed.is(record)) return { type: "begun", isResumed: true, isReadBack: true };
	if (scriptCompleted.is(record)) return { type: "ended", status: "completed", ...recalledIn(record.data) };
	if (scriptFailed.is(record)) {
		const { reason } = record.data;
		return { type: "ended", status: "failed", reason: reason.message, ...recalledIn(record.data) };
	}
	const { lane, kind, name, place, usage, reason, adopts } = record.data as Partial<Identity> & {
		usage?: Usage;
		reason?: Reason;
		adopts?: number;
	};
	if (lane === undefined) return undefined;
	if (isInner(lane))
		return kind === "model" && stepCompleted.is(record)
			? partOf(lane, adopts === undefined ? "live" : "hit", usage)
			: undefined;
	if (!place) return undefined;
	const call = { type: "call", lane, at: place.at, kind: kind ?? "step", label: place.label || (name ?? "") } as const;
	switch (record.kind) {
		case stepStarted.kind:
			return { ...call, state: "calling" };
		case stepCompleted.kind:
			return { ...call, state: adopts === undefined ? "live" : "hit", ...tokensOf(usage) };
		case stepFailed.kind:
			return { ...call, state: "failed", ...(reason ? { note: reason.message } : {}) };
	}
	return undefined;
}

/** A run as a person sees it. */
export interface RunView {
	readonly name: string;
	readonly status: "open" | EndStatus;
	readonly reason?: string;
	/** By lane and position; {@link callsOf} has them in order. */
	readonly calls: Dict<ShownCall>;
	/** How many calls it has. */
	readonly size: number;
	/** Tokens that this life of the run recalled; undefined where that is not known, since it is read back and not over. */
	readonly saved: number | undefined;
	/** Tokens that this life of the run paid. */
	readonly paid: number;
}

interface ShownCall extends CallEvent {
	/** The number of the call in the order in which calls were first seen. */
	readonly order: number;
}

export const emptyRunView: RunView = { name: "", status: "open", calls: emptyDict, size: 0, saved: 0, paid: 0 };

/** The calls of a run, in the order in which they were first seen. */
export const callsOf = ({ calls }: RunView): readonly CallEvent[] =>
	[...entriesIn(calls)].map(([, call]) => call).sort((a, b) => a.order - b.order);

/** The view after one more event. */
export function nextRunView(view: RunView, event: ScriptEvent): RunView {
	switch (event.type) {
		case "begun": {
			const { reason, ...before } = view;
			let calls: Dict<ShownCall> = emptyDict;
			for (const [key, call] of entriesIn(view.calls))
				calls = setIn(calls, key, { ...call, state: isEnded(call) ? "kept" : "cut" });
			const saved = event.isReadBack ? undefined : 0;
			return { ...before, name: event.name ?? view.name, status: "open", calls, saved, paid: 0 };
		}
		case "call": {
			const key = `${event.lane} ${event.at}`;
			const { order = view.size } = getIn(view.calls, key) ?? {};
			const calls = setIn(view.calls, key, { ...event, order });
			const size = Math.max(view.size, order + 1);
			const saved = event.state === "hit" ? more(view.saved, event.tokens) : view.saved;
			return { ...view, calls, size, saved };
		}
		case "part":
			return event.state === "hit"
				? { ...view, saved: more(view.saved, event.tokens) }
				: { ...view, paid: view.paid + event.tokens };
		case "printed":
			return view;
		case "ended":
			return {
				...view,
				status: event.status,
				saved: event.recalled ?? view.saved,
				...(event.reason === undefined ? {} : { reason: event.reason }),
			};
	}
}

const more = (saved: number | undefined, tokens = 0): number | undefined =>
	saved === undefined ? undefined : saved + tokens;

const recalledIn = ({ recalled }: { readonly recalled?: number | undefined }): { recalled?: number } =>
	recalled === undefined ? {} : { recalled };

const isEnded = ({ state }: CallEvent): boolean =>
	state === "hit" || state === "live" || state === "failed" || state === "kept";

const tokensOf = (usage: Usage | undefined): { tokens?: number } =>
	usage ? { tokens: usage.inputTokens + usage.outputTokens } : {};
