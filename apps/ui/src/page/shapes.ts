/** What the server says, as far as the page looks at it. The schemas are in `@reyn/operator`; importing them would need Node's types. */

export interface ServerState {
	readonly directory: string;
	/** Of which the page is first, and all that there are on this line of history. */
	readonly session: string;
	readonly sessions: readonly string[];
	/** Why nothing can be changed. null: it can. */
	readonly readOnly: string | null;
	/** Do files go along with a move where nobody has said so, or are they never offered? */
	readonly files: "ask" | "never" | "always";
	readonly tip: number;
	/** How many bytes at its end are no record. */
	readonly wal: { readonly torn: number | null };
	readonly verbs: readonly string[];
	/** Who has the log, if it hears others. null: nobody who does. Absent: not known. */
	readonly holder?: { readonly pid: number; readonly isHere: boolean } | null;
	/** Why work that was begun here could not go on. */
	readonly failed?: string;
	/** What keeps it from recording now. */
	readonly waiting?: { readonly for: "space" | "log"; readonly text: string };
}

export interface Entry {
	readonly seq: number;
	readonly ts: number;
	/** `record` is the page's own: a moment that the history does not list, and that somebody looks at. */
	readonly type: "checkpoint" | "reset" | "note" | "label" | "genesis" | "record";
	readonly title: string;
	readonly branch: string;
	readonly active: boolean;
	readonly labels?: readonly string[];
	/** A collection took it away: one cannot go there any more. */
	readonly gone?: true;
}

export interface Branch {
	/** The seq that it begins at. */
	readonly id: number;
	readonly name: string;
	readonly parent?: string;
	readonly forkedAt: number;
	readonly last: number;
	readonly active: boolean;
	readonly labels?: readonly string[];
	/** Its end was taken away. */
	readonly gone?: true;
}

export interface History {
	readonly tip: number;
	/** The first record that is left. */
	readonly retainedFrom: number;
	readonly entries: readonly Entry[];
	readonly branches: readonly Branch[];
}

export interface Message {
	readonly seq: number;
	readonly who: string;
	readonly text: string;
}

export interface Transcript {
	readonly seq: number;
	/** The newest. */
	readonly messages: readonly Message[];
	readonly more?: true;
}

export type Change =
	| { readonly path: readonly (string | number)[]; readonly kind: "added"; readonly after: unknown }
	| { readonly path: readonly (string | number)[]; readonly kind: "removed"; readonly before: unknown }
	| {
			readonly path: readonly (string | number)[];
			readonly kind: "changed";
			readonly before: unknown;
			readonly after: unknown;
	  }
	| {
			readonly path: readonly (string | number)[];
			readonly kind: "spliced";
			readonly at: number;
			readonly before: readonly unknown[];
			readonly after: readonly unknown[];
	  };

export interface Diff {
	readonly from: number;
	readonly to: number;
	readonly projections: Readonly<Record<string, readonly Change[]>>;
	/** How many changes of each were left out. */
	readonly more?: Readonly<Record<string, number>>;
}

export interface Extent {
	/** Absent: unknown, since a collection took records away; then there are the messages of the kept states. */
	readonly records?: number;
	readonly turns?: number;
	readonly messages?: number;
}

/** What would happen. Nothing was written. */
export interface Look {
	/** Goes back as it came: what is done is what was shown. */
	readonly seen: unknown;
	/** The same as a value. */
	readonly document?: {
		readonly blastRadius?: { readonly leaves: Extent; readonly returns: Extent };
		readonly moves?: readonly Move[];
		/** How many could go along, where they stay. Absent: unknown. */
		readonly filesSince?: number;
		/** Absent: they stay. */
		readonly files?: { readonly kept: readonly { readonly path: string; readonly isTheirs?: true }[] };
		/** The steps of a plan, where it is amended. */
		readonly before?: readonly ProposedStep[];
		readonly after?: readonly ProposedStep[];
	};
	/** What there is now, and would be then. */
	readonly sides: readonly { readonly name: string; readonly before: string; readonly after: string }[];
	readonly shown: readonly string[];
	readonly question: string | null;
	/** Why there is nothing to do. */
	readonly nothing: readonly string[] | null;
}

export interface Move {
	readonly seq: number;
	readonly what: string;
	readonly ts?: number;
}

/** A step of a plan, as a proposal and an amendment have it. */
export interface ProposedStep {
	readonly id: string;
	readonly description: string;
	readonly tools: readonly string[];
	readonly depends_on: readonly string[];
	readonly model?: string;
	readonly max_tokens?: number;
}

export interface Plan {
	readonly plan: string;
	readonly goal: string;
	readonly status: string;
	/** Why it is paused. Absent: a rewind went back into it. */
	readonly why?: string;
	readonly finished: number;
	readonly failed: number;
	readonly size: number;
	readonly tokens: number;
}

export interface ScriptRun {
	readonly run: string;
	readonly name: string;
	readonly script: string;
	readonly status: string;
	readonly started: number;
	readonly questions: readonly unknown[];
}

export interface OpenQuestion {
	readonly seq: number;
	readonly from: { readonly kind: string; readonly id: string };
	readonly question: string;
	/** What has to be seen to answer it. */
	readonly lines?: readonly string[];
	readonly choices?: readonly string[];
	/** The choice that words may follow, or the choices. */
	readonly explained?: string | readonly string[];
}

export interface SkillRun {
	readonly run: string;
	readonly skill: string;
	readonly phase?: string;
	readonly status: string;
	/** Why it is paused. */
	readonly why?: string;
	/** The step of a plan, or the phase of a run, that it is a child of, and goes on with. */
	readonly parent?: { readonly kind: string; readonly id: string; readonly step: string };
}

/** All that is unfinished. */
export interface Status {
	/** Questions that have no answer yet. */
	readonly turns: readonly {
		readonly scope: { readonly agent: string; readonly session: string };
		readonly turn: number;
	}[];
	readonly plans: readonly Plan[];
	readonly scripts: readonly ScriptRun[];
	readonly skills: readonly SkillRun[];
	readonly questions: readonly OpenQuestion[];
}

export interface Records {
	/** What is older comes before this seq. Absent: nothing is. */
	readonly next?: number;
	readonly records: readonly {
		readonly seq: number;
		readonly ts: number;
		readonly kind: string;
		readonly scope: { readonly agent?: string; readonly session?: string; readonly run?: string };
		readonly active: boolean;
		readonly data: string;
	}[];
}

export interface Total {
	readonly calls: number;
	readonly inputTokens: number;
	readonly outputTokens: number;
	readonly cost: Cost;
}

/** In dollars; of so many more calls it is unknown. */
export interface Cost {
	readonly usd: string;
	readonly unknown: number;
}

interface Costs {
	readonly paid: Total;
	readonly left: Total;
	readonly recalled: Total;
	readonly failed: number;
}

export interface Spend extends Costs {
	readonly since: number;
	readonly by: readonly (Costs & { readonly kind: string; readonly name: string })[];
}

/** A piece of an answer that is not whole yet. */
export interface Piece {
	readonly turn: number;
	/** How many characters come before it. */
	readonly from: number;
	readonly text: string;
}

export interface PlanSteps {
	readonly steps: readonly {
		readonly id: string;
		readonly description: string;
		readonly tools: readonly string[];
		readonly needs: readonly string[];
		/** The class of models that does it. Absent: the model of the plan. */
		readonly model?: string;
		/** The most tokens, after which it fails. Absent: any number. */
		readonly max_tokens?: number;
		/** The steps that run again where the plan is resumed from this one. */
		readonly again: readonly string[];
		readonly status: string;
		/** From 0. */
		readonly attempt: number;
		readonly reason?: string;
		/** The beginning of what it has found. */
		readonly beginning?: string;
		/** What its last attempt took. Absent: unknown. */
		readonly tokens?: number;
		/** What is recorded of one that is not over. Absent: nothing is. */
		readonly atLeast?: number;
		/** What those of `again` took. Absent: of one it is unknown. */
		readonly againTokens?: number;
		/** The skill runs that it has called. */
		readonly children?: readonly { readonly run: string; readonly skill: string; readonly status: string }[];
	}[];
}

export interface ScriptCall {
	readonly lane: string;
	readonly at: number;
	readonly kind: string;
	readonly label: string;
	readonly state: string;
	readonly tokens?: number;
}

export interface RunView {
	readonly calls: readonly ScriptCall[];
}

export interface Explanation {
	readonly calls: readonly (ScriptCall & { readonly seq?: number; readonly saved: number; readonly toPay?: number })[];
	readonly saved: number;
	readonly guessed: number;
	readonly toPay: number;
	readonly unknown: number;
	readonly percentFree?: number;
	readonly isWhole: boolean;
	readonly unreached: readonly { readonly seq: number; readonly label: string }[];
}
