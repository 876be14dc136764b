/** The events of script runs. */
import type { ScriptEvent } from "@reyn/journal/script";
import type { Scope } from "@reyn/wal";

/** An event of a script run. */
export interface ScriptRunEvent {
	readonly type: "script";
	readonly scope: Scope;
	readonly run: string;
	readonly event: ScriptEvent;
}
