/** What is more than a line: the start, what was sent, a plan and its steps, what went wrong. For a screen and for a pipe. */

import { questionLines } from "@reyn/operator";
import { clean, oneLine } from "@reyn/operator/text";
import type { OpenQuestion, PlanEntry, RuntimeEvent, StepOfPlan } from "@reyn/runtime";
import { spentText } from "../event-lines.ts";
import { slash } from "../suggest.ts";
import type { Paper } from "./markdown.ts";
import { wrap } from "./text.ts";

/** A longer text that was sent is shown by its first lines. */
const [MANY_LETTERS, MANY_LINES, FIRST_LINES] = [2000, 12, 8];

/** What was sent, as it stays in the terminal. */
export function echoOf(text: string, { columns, look }: Paper): readonly string[] {
	const lines = text.split("\n");
	const isLong = text.length > MANY_LETTERS || lines.length > MANY_LINES;
	const seen = isLong ? lines.slice(0, FIRST_LINES).map((line) => oneLine(line, 200)) : lines;
	const size = lines.length > 1 ? `${lines.length} lines` : `${text.length} characters`;
	const all = isLong ? [...seen, `… (${size})`] : seen;
	const rows = all.flatMap((line) => wrap(clean(line).replaceAll("\t", "    "), columns - 2));
	return ["", ...rows.map((row, at) => look.bold((at === 0 ? "› " : "  ") + row)), ""];
}

export interface Start {
	readonly version: string;
	readonly cwd: string;
	readonly home: string | undefined;
	readonly model: string;
	readonly session: string;
	readonly tip: number;
	readonly turns: number;
	/** When the newest checkpoint was made; undefined: never. */
	readonly last: number | undefined;
	readonly now: number;
	/** The newest question, and what was said to it. */
	readonly exchange: { readonly asked: string; readonly answered: string | undefined } | undefined;
	readonly found: readonly string[];
	/** Who answers where nobody has chosen, and how to choose. */
	readonly hint?: string | undefined;
}

/** Where one is, what was said last, and what was found. */
export function startLines(start: Start): readonly string[] {
	const { version, cwd, home, model, session, tip, turns, last, now, exchange, found, hint } = start;
	const where = home !== undefined && (cwd === home || cwd.startsWith(`${home}/`)) ? `~${cwd.slice(home.length)}` : cwd;
	const when = last === undefined ? "" : `, ${ageOf(now - last)} ago`;
	const said = turns === 0 ? "a new conversation" : `${turns} turn${turns === 1 ? "" : "s"}${when}`;
	return [
		`Reyn ${version} · ${where} · ${model}`,
		`session ${session} · #${tip} · ${said}`,
		...(exchange ? [`  you   ${oneLine(exchange.asked, 100)}`] : []),
		...(exchange?.answered === undefined ? [] : [`  reyn  ${oneLine(exchange.answered, 100)}`]),
		...(found.length > 0 ? found : ["nothing was in flight"]),
		...(hint === undefined ? [] : [hint]),
	];
}

/** In the greatest unit that it has one of. */
export function ageOf(milliseconds: number): string {
	const minutes = Math.floor(milliseconds / 60_000);
	if (minutes < 1) return "a moment";
	if (minutes < 60) return `${minutes} min`;
	if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h`;
	return `${Math.floor(minutes / 60 / 24)} days`;
}

interface Step {
	readonly id: string;
	readonly description: string;
	readonly status: "waits" | "running" | "completed" | "failed";
	readonly note: string;
}

export interface PlanCard {
	readonly plan: string;
	readonly goal: string;
	readonly done: number;
	readonly steps: readonly Step[];
}

/** The plans that were told of, the newest last, as far as they have come. */
export function toldPlans(plans: readonly PlanCard[], event: RuntimeEvent): readonly PlanCard[] {
	switch (event.type) {
		case "plan_started": {
			const { plan, goal, steps, finished } = event;
			const all = steps.map((step) => ({ ...step, status: "waits" as const, note: "" }));
			return [...plans.filter((each) => each.plan !== plan), { plan, goal, done: finished, steps: all }];
		}
		case "plan_amended":
			return plans.map((card) => (card.plan === event.plan ? withSteps(card, event.steps) : card));
		case "plan_step":
			return plans.map((card) => (card.plan === event.plan ? toldStep(card, event) : card));
		case "plan_end":
			return plans.filter(({ plan }) => plan !== event.plan);
		case "moved":
			return [];
		default:
			return plans;
	}
}

/** What became of a step stays, whatever it is called now. */
const withSteps = (card: PlanCard, steps: readonly Pick<Step, "id" | "description">[]): PlanCard => ({
	...card,
	steps: steps.map(({ id, description }) => ({
		...(card.steps.find((each) => each.id === id) ?? { id, status: "waits", note: "" }),
		description,
	})),
});

function toldStep(card: PlanCard, { step, done, change }: Extract<RuntimeEvent, { type: "plan_step" }>): PlanCard {
	const now = (): Pick<Step, "status" | "note"> => {
		switch (change.status) {
			case "running":
				return { status: "running", note: "" };
			case "resumed":
				return { status: "running", note: "goes on where it was cut" };
			case "retrying":
				return { status: "running", note: `retry ${change.retry} of ${change.limit}` };
			case "completed":
				return { status: "completed", note: spentText(change) };
			case "failed":
				return { status: "failed", note: change.reason };
			case "again":
				return { status: "waits", note: change.reason };
		}
	};
	const steps = card.steps.map((each) => (each.id === step ? { ...each, ...now() } : each));
	return { ...card, done, steps };
}

/** A plan in flight as it is recorded, whoever was told of it; what is told of a step that runs is known to this process alone. */
export function recordedPlan(
	{ plan, goal, status, finished, failed }: Pick<PlanEntry, "plan" | "goal" | "status" | "finished" | "failed">,
	steps: readonly StepOfPlan[],
	told: PlanCard | undefined,
): PlanCard {
	const how = (step: StepOfPlan): Pick<Step, "status" | "note"> => {
		switch (step.status) {
			case "pending":
				return { status: "waits", note: "" };
			case "running":
				if (status === "paused") return { status: "waits", note: "begun" };
				return { status: "running", note: told?.steps.find(({ id }) => id === step.id)?.note ?? "not in this process" };
			case "completed":
				return { status: "completed", note: spentText(step) };
			case "failed":
				return { status: "failed", note: step.reason };
		}
	};
	return {
		plan,
		goal,
		done: finished + failed,
		steps: steps.map((step) => ({ id: step.id, description: step.description, ...how(step) })),
	};
}

/** What went wrong before this process began, and what was asked then: both wait for somebody. */
export function waitingLines(plans: readonly PlanCard[], questions: readonly OpenQuestion[]): readonly string[] {
	return [
		...plans.flatMap(({ plan, steps }) =>
			steps.flatMap(({ id, status, note }) => (status === "failed" ? [failedLine(plan, id, note)] : [])),
		),
		...questions.flatMap((each) => questionLines(each, slash)),
	];
}

const marks: Readonly<Record<Step["status"], string>> = { waits: "·", running: "▸", completed: "✓", failed: "✗" };

/** The steps of a plan, each with a sign and a word for how it is. */
export function planLines({ goal, done, steps }: PlanCard): readonly string[] {
	return [
		`${oneLine(goal, 100)}   ${done}/${steps.length}`,
		...steps.map(({ id, description, status, note }) => {
			const how = note === "" ? status : `${status}, ${oneLine(note, 60)}`;
			return `${marks[status]} ${id}  ${oneLine(description, 60)}  (${how})`;
		}),
	];
}

/** What went wrong, and what can be done; undefined where nothing did. */
export function errorLine(event: RuntimeEvent): string | undefined {
	switch (event.type) {
		case "model_retry":
			return `✗ the model gave no answer: ${oneLine(event.reason, 80)}. Try ${event.attempt} of ${event.limit} failed; the next is in ${Math.ceil(event.pauseMs / 1000)} s`;
		case "plan_step": {
			if (event.change.status !== "failed") return undefined;
			return failedLine(event.plan, event.step, event.change.reason);
		}
		case "turn_end":
			if (event.outcome !== "stopped") return undefined;
			return `✗ no answer yet: ${oneLine(event.reason ?? "", 100)}. What is done is kept, and is not paid again · /resume goes on`;
		default:
			return undefined;
	}
}

const failedLine = (plan: string, step: string, reason: string): string =>
	`✗ step ${step} of plan ${plan} failed: ${oneLine(reason, 100)} · ${slash`plan retry ${plan} ${step}`}`;
