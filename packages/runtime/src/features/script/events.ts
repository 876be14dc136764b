/** What script runs say. */
import type { ScriptEvent } from "@reyn/journal/script";
import type { Scope } from "@reyn/wal";

/** What script runs say while they work. */
export interface ScriptRunEvent {
	readonly type: "script";
	readonly scope: Scope;
	readonly run: string;
	readonly event: ScriptEvent;
}
