/** What runs in a session, by the records that it writes: so a rewind stops what it covers, and nothing else. */
import { journalRecords } from "@reyn/journal";
import { scriptRecords } from "@reyn/journal/script";
import { planRecords } from "@reyn/plan";
import { skillRecords } from "@reyn/skill-resume";
import type { Coverage } from "@reyn/timetravel";
import { type AnyRecordKind, type Scope, within } from "@reyn/wal";
import {
	assistantMessage,
	messageDelivered,
	toolFailed,
	turnCompleted,
	turnInterrupted,
	userPrompt,
} from "../features/conversation/records.ts";

/** The classes of records that a piece of work writes. */
export interface Classes {
	readonly scope: Scope;
	readonly kinds: readonly string[];
}

export interface Work extends Classes {
	/** For people: `turn`, `plan p12`, `skill s3f…`. One of a name runs at a time in a session. */
	readonly name: string;
}

const kindsOf = (records: readonly AnyRecordKind[]): readonly string[] => records.map(({ kind }) => kind);

const kindsOfTurn = kindsOf([
	userPrompt,
	assistantMessage,
	toolFailed,
	turnCompleted,
	turnInterrupted,
	...journalRecords,
]);
const kindsOfPlan = kindsOf([...planRecords, ...journalRecords]);
const kindsOfSkill = kindsOf([...skillRecords, ...journalRecords]);
const kindsOfScript = kindsOf([...scriptRecords, ...journalRecords]);

export const turnWork = (session: Scope): Work => ({ name: "turn", scope: session, kinds: kindsOfTurn });

export const planWork = (session: Scope, plan: string): Work => ({
	name: `plan ${plan}`,
	scope: { ...session, run: plan },
	kinds: kindsOfPlan,
});

export const skillWork = (session: Scope, run: string): Work => ({
	name: `skill ${run}`,
	scope: { ...session, run },
	kinds: kindsOfSkill,
});

export const scriptWork = (session: Scope, run: string): Work => ({
	name: `script ${run}`,
	scope: { ...session, run },
	kinds: kindsOfScript,
});

export const deliveryWork = (session: Scope): Work => ({
	name: "deliver",
	scope: session,
	kinds: [messageDelivered.kind],
});

/** Does a reset of this coverage take any of these classes back? */
export const isCovered = ({ scope, kinds }: Classes, reset: Coverage): boolean =>
	within(scope, reset.scope) && kinds.some((kind) => reset.drop?.includes(kind) !== false);
