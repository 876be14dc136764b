/** Derives events from the records of script runs, and holds back the events of the running process that a record will tell. */
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
	// A reader may have begun after the start of the run, so its name is looked up.
	const name = scriptResumed.is(record) ? entryAt((await context.before()).get(scriptRuns), run)?.name : undefined;
	const told = name === undefined ? event : { ...event, name };
	return [{ type: "script", scope: sessionOf(record.scope), run, event: told }];
}

/** The event of a record; undefined for steps of other work, whose records have the same kinds. */
function eventIn(record: WalRecord): ScriptEvent | undefined {
	const { run } = record.scope;
	const { lane } = record.data as { readonly lane?: unknown };
	if (run === undefined) return undefined;
	if (!ofScripts.includes(record.kind) && !`${lane}/`.startsWith(`${scriptLane(run)}/`)) return undefined;
	const event = eventOfRecord(record);
	if (event?.type !== "call" || !stepFailed.is(record)) return event;
	const { retryable, told, forgotten, attempt = 1, reason } = record.data;
	// The call is made again, and tells so itself.
	if (forgotten) return undefined;
	return retryable && !told ? { ...event, state: "retrying", note: `try ${attempt} failed: ${reason.message}` } : event;
}

/** Passes on the events of a run in this process, except those that its records tell. */
export class Unrecorded {
	readonly #tell: (event: ScriptEvent) => void;
	/** Events whose record came before the event. */
	readonly #recorded = new Set<string>();
	/** Events that a record may still tell, by lane: held until the next event of the lane. */
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

	/** Tells the held events of a lane, or at the end of the run all of them: no record has told them. */
	flush(lane?: string): void {
		for (const [name, event] of this.#held) {
			if (lane !== undefined && laneOf(event) !== lane) continue;
			this.#held.delete(name);
			this.#tell(event);
		}
	}
}

/** May a record tell this event too? A call tells its end before the record is written. */
const mayBeRecorded = (event: ScriptEvent): boolean =>
	event.type === "part" || (event.type === "call" && ["hit", "live", "failed"].includes(event.state));

const laneOf = (event: ScriptEvent): string => ("lane" in event ? event.lane : "");

function nameOf(event: ScriptEvent): string {
	const at = event.type === "call" ? event.at : "";
	return JSON.stringify([event.type, laneOf(event), at, "state" in event ? event.state : ""]);
}
