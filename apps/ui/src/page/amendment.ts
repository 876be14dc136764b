/** Steps of a plan as a person types them: what of it is a change, and which of them an error is about. Pure. */
import type { PlanSteps } from "./shapes.ts";

type Step = PlanSteps["steps"][number];

/** A step as it is typed: texts, whatever they say. */
export interface Typed {
	readonly id: string;
	readonly description: string;
	/** Ids and names, with commas between them. */
	readonly needs: string;
	readonly tools: string;
	readonly model: string;
	readonly most: string;
}

export type Field = keyof Typed;

export interface Draft extends Typed {
	/** Tells it from all others, whatever is typed. */
	readonly key: string;
	/** How it was before. Absent: it is new. */
	readonly was?: Step;
	readonly isDropped: boolean;
}

/** Has it not begun? Else it stays as it is. */
export const isOpen = ({ was }: Draft): boolean => was === undefined || was.status === "pending";

export const draftOf = (step: Step): Draft => ({ key: step.id, was: step, isDropped: false, ...typedOf(step) });

export const newDraft = (key: string): Draft => ({
	...{ key, isDropped: false },
	...{ id: "", description: "", needs: "", tools: "", model: "", most: "" },
});

const typedOf = ({ id, description, needs, tools, model = "", max_tokens }: Step): Typed => ({
	...{ id, description, model },
	...{ needs: needs.join(", "), tools: tools.join(", "), most: max_tokens === undefined ? "" : String(max_tokens) },
});

/** What `plan amend` takes, as JSON of a page has it. */
export type Amendment = Readonly<Record<"put", readonly object[]> & Record<"drop", readonly string[]>>;

/** What is other than before, and nothing else: what somebody else changes meanwhile stays. */
export function amendmentOf(drafts: readonly Draft[]): Amendment {
	const open = drafts.filter(isOpen);
	return {
		put: open.filter((draft) => !draft.isDropped && isChanged(draft)).map(stepOf),
		drop: open.flatMap(({ isDropped, was }) => (isDropped && was ? [was.id] : [])),
	};
}

const isChanged = (draft: Draft): boolean =>
	!draft.was || Object.entries(typedOf(draft.was)).some(([field, text]) => draft[field as Field] !== text);

function stepOf({ id, description, needs, tools, model, most }: Draft): object {
	const limit = most.trim().replaceAll(",", "");
	return {
		...{ id: id.trim(), description, tools: names(tools), depends_on: names(needs) },
		...(model.trim() !== "" && { model: model.trim() }),
		// What is no number is sent as it is: the answer says what is expected.
		...(limit !== "" && { max_tokens: /^\d+$/.test(limit) ? Number(limit) : most }),
	};
}

const names = (typed: string): readonly string[] => typed.split(/[\s,]+/).filter((name) => name !== "");

/** What is wrong, where it was typed; the rest is about all of it. */
export interface Wrong {
	readonly all: readonly string[];
	/** By the key of a draft and a field of it: `step-s2-needs`. */
	readonly at: ReadonlyMap<string, string>;
}

export const placeOf = ({ key }: Draft, field: Field): string => `step-${key}-${field}`;

/** What two steps of one name would hide: the one would take the place of the other. */
export function doubled(drafts: readonly Draft[]): Wrong {
	const at = new Map(
		drafts.flatMap((draft) => {
			const isTaken = !draft.was && drafts.some((other) => other !== draft && other.id.trim() === draft.id.trim());
			return isTaken ? [[placeOf(draft, "id"), `there is a step "${draft.id.trim()}" already`] as const] : [];
		}),
	);
	return { all: [], at };
}

/** @param problems as `PLAN_INVALID` has them: `steps.2.description: …`, `step "s3" wants the tool …` */
export function placed(problems: readonly string[], drafts: readonly Draft[]): Wrong {
	const all: string[] = [];
	const at = new Map<string, string>();
	for (const problem of problems) {
		const place = placeIn(problem, drafts);
		if (place === undefined) all.push(problem);
		else at.set(place.at, [at.get(place.at), place.says].filter(Boolean).join("; "));
	}
	return { all, at };
}

function placeIn(
	problem: string,
	drafts: readonly Draft[],
): { readonly at: string; readonly says: string } | undefined {
	const counted = /^steps\.(\d+)\.([a-z_]+)[\w.]*: (.*)$/s.exec(problem);
	if (counted) {
		const [, index, name = "", says = ""] = counted;
		const draft = drafts.filter(({ isDropped }) => !isDropped)[Number(index)];
		const field = fields[name];
		return draft && isOpen(draft) && field ? { at: placeOf(draft, field), says } : undefined;
	}
	const named = /^step "([^"]*)" (?:(wants the tool|wants the model|depends on)|is )/.exec(problem);
	const draft = named && drafts.find(({ id, isDropped }) => id.trim() === named[1] && !isDropped);
	if (!draft || !isOpen(draft)) return undefined;
	return { at: placeOf(draft, about[named[2] ?? ""] ?? "description"), says: problem };
}

const fields: Readonly<Record<string, Field>> = {
	...{ id: "id", description: "description", depends_on: "needs", tools: "tools", model: "model", max_tokens: "most" },
};

const about: Readonly<Record<string, Field>> = {
	...{ "wants the tool": "tools", "wants the model": "model", "depends on": "needs" },
};
