/** What the records of a script run tell, and what is left for the process that runs it to say. */
import { stepFailed } from "@reyn/journal";
import { eventOfRecord, scriptLane } from "@reyn/journal/internal";
import { type ScriptEvent, scriptRecords, scriptResumed, scriptRuns } from "@reyn/journal/script";
import { entryAt } from "@reyn/snapshot";
import type { WalRecord } from "@reyn/wal";
import type { TellContext } from "../../kernel/pump.ts";
import { sessionOf } from "../../kernel/sessions.ts";
import { kindsOf } from "../../kernel/work.ts";
import type { ScriptRunEvent } from "./events.ts";

const ofScripts = kindsOf(scriptRecords);

export async function tellScript(record: WalRecord, context: TellContext): Promise<readonly ScriptRunEvent[]> {
	const { run } = record.scope;
	const event = eventIn(record);
	if (run === undefined || !event) return [];
	// Whoever reads that a run goes on may not have read how it began.
	const name = scriptResumed.is(record) ? entryAt((await context.before()).get(scriptRuns), run)?.name : undefined;
	const told = name === undefined ? event : { ...event, name };
	return [{ type: "script", scope: sessionOf(record.scope), run, event: told }];
}

/** Steps of other work have records of the same kinds. */
function eventIn(record: WalRecord): ScriptEvent | undefined {
	const { run } = record.scope;
	const { lane } = record.data as { readonly lane?: unknown };
	if (run === undefined) return undefined;
	if (!ofScripts.includes(record.kind) && !`${lane}/`.startsWith(`${scriptLane(run)}/`)) return undefined;
	const event = eventOfRecord(record);
	if (event?.type !== "call" || !stepFailed.is(record)) return event;
	const { retryable, told, forgotten, attempt = 1, reason } = record.data;
	// The call is made again, and that is said then.
	if (forgotten) return undefined;
	return retryable && !told ? { ...event, state: "retrying", note: `try ${attempt} failed: ${reason.message}` } : event;
}

/** What a run says of itself: all but what its records tell. */
export class Unrecorded {
	readonly #tell: (event: ScriptEvent) => void;
	/** What was recorded before the run said it. */
	readonly #recorded = new Set<string>();
	/** What was said, and may be recorded yet: until something else is said of its lane. */
	readonly #held = new Map<string, ScriptEvent>();

	constructor(tell: (event: ScriptEvent) => void) {
		this.#tell = tell;
	}

	record(record: WalRecord): void {
		const event = eventIn(record);
		if (event && !this.#held.delete(nameOf(event))) this.#recorded.add(nameOf(event));
	}

	say(event: ScriptEvent): void {
		this.flush(laneOf(event));
		if (this.#recorded.delete(nameOf(event))) return;
		if (mayBeRecorded(event)) this.#held.set(nameOf(event), event);
		else this.#tell(event);
	}

	/** Of a lane or, at the end of the run, of all: no record says this. */
	flush(lane?: string): void {
		for (const [name, event] of this.#held) {
			if (lane !== undefined && laneOf(event) !== lane) continue;
			this.#held.delete(name);
			this.#tell(event);
		}
	}
}

/** A call tells how it has ended before it is recorded. */
const mayBeRecorded = (event: ScriptEvent): boolean =>
	event.type === "part" || (event.type === "call" && ["hit", "live", "failed"].includes(event.state));

const laneOf = (event: ScriptEvent): string => ("lane" in event ? event.lane : "");

function nameOf(event: ScriptEvent): string {
	const at = event.type === "call" ? event.at : "";
	return JSON.stringify([event.type, laneOf(event), at, "state" in event ? event.state : ""]);
}
