/** The script runs of a session as pieces of work, for the kernel. */
import { journalRecords } from "@reyn/journal";
import { scriptRecords, scriptRuns } from "@reyn/journal/script";
import type { View } from "@reyn/snapshot";
import type { Scope } from "@reyn/wal";
import type { Piece } from "../../kernel/feature.ts";
import { kindsOf, type Work } from "../../kernel/work.ts";

export const SCRIPT = "script";

const kindsOfScript = kindsOf([...scriptRecords, ...journalRecords]);

export const scriptWork = (session: Scope, run: string): Work => ({
	name: `${SCRIPT} ${run}`,
	scope: { ...session, run },
	kinds: kindsOfScript,
});

/** The script runs of a state. None goes on by itself: a person resumes each by name. */
export const scriptRunsIn = (view: View): readonly Piece[] =>
	Object.entries(view.get(scriptRuns))
		.sort(([, a], [, b]) => a.started - b.started)
		.map(([id, { name, status, started }]) => ({
			kind: SCRIPT,
			id,
			work: scriptWork(view.scope, id),
			status: status === "open" ? "waiting" : "over",
			title: name,
			since: started,
		}));
