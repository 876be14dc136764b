/** Scripts: programs of a person's own, over durable calls. */
import { scriptFailed, scriptRecords, scriptResumed, scriptRuns, scriptStarted } from "@reyn/journal/script";
import type { Feature, FeatureHost } from "../../kernel/feature.ts";
import { auditScript } from "./audit.ts";
import { scriptRunsIn } from "./pieces.ts";
import { scriptsArea } from "./script-files.ts";
import { type ScriptOptions, Scripts } from "./scripts.ts";
import { tellScript } from "./tell.ts";

export interface ScriptHost extends FeatureHost {
	readonly scripts: Scripts;
}

export const scriptFeature = (options: ScriptOptions = {}): Feature<ScriptHost> => ({
	name: "script",
	records: { code: scriptRecords },
	projections: [scriptRuns],
	begins: [scriptStarted, scriptResumed],
	blobs: [scriptsArea],
	pieces: scriptRunsIn,
	end: ({ id }, message) => [scriptFailed({ run: id, reason: { message } })],
	tell: tellScript,
	audit: auditScript,
	start: (kernel) => ({ scripts: new Scripts(kernel, options) }),
});
