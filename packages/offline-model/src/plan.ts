/** Writes the arguments of the `plan` tool for a question that takes more than one look. */
import { comparing, type Part } from "./parts.ts";

/** The arguments of the `plan` tool. */
export interface PlanArgs {
	readonly goal: string;
	readonly steps: readonly PlanStep[];
}

export interface PlanStep {
	readonly id: string;
	readonly description: string;
	readonly tools: readonly string[];
	readonly depends_on: readonly string[];
}

/** Characters of a step's description: it stands on one line of progress in a terminal. */
const widest = 58;
/** As many steps as a plan may have. */
const mostSteps = 7;
/** Characters of the goal. */
const longestGoal = 1_000;

/** Look at everything side by side, then put it together: 4 to 7 steps, of which only the last waits for the others. */
export function planFor(question: string, parts: readonly Part[], tools: ReadonlySet<string>): PlanArgs {
	const goal = question.replace(/\s+/g, " ").trim().slice(0, longestGoal).toWellFormed();
	const allowed = (...names: readonly string[]) => names.filter((name) => tools.has(name));
	const looking = allowed("search", "read");
	const looks = [
		...(tools.has("list") ? [{ description: mapOf(parts), tools: allowed("list", "read") }] : []),
		...angles(goal, parts).map((description) => ({ description, tools: looking })),
	].slice(0, mostSteps - 1);
	const steps = looks.map((look, index) => ({ id: `s${index + 1}`, ...look, depends_on: [] }));
	const last: PlanStep = {
		id: `s${steps.length + 1}`,
		description: fit(
			comparing.test(goal) ? "Compare " : "Answer about ",
			parts.map(({ label }) => label).join(" and "),
			"",
		),
		tools: [],
		depends_on: steps.map(({ id }) => id),
	};
	return { goal, steps: [...steps, last] };
}

/** The same goal in fewer and plainer steps, for a plan that was refused. */
export function simplerPlan({ goal, steps }: PlanArgs): PlanArgs {
	const search = steps.find(({ tools }) => tools.includes("search"));
	const last = steps.at(-1);
	if (search === undefined || last === undefined) return { goal, steps };
	return {
		goal,
		steps: [
			{ ...search, id: "s1", tools: ["search"], depends_on: [] },
			{ ...last, id: "s2", depends_on: ["s1"] },
		],
	};
}

const mapOf = (parts: readonly Part[]): string => fit("List the files around ", parts[0]?.label ?? "the question", "");

/** What to look for: each part, then what the parts have in common; a single part from several sides. */
function angles(goal: string, parts: readonly Part[]): readonly string[] {
	const [first, second] = parts;
	if (first === undefined) return [];
	if (second === undefined) {
		return [
			fit("Find where “", first.label, "” is defined"),
			fit("Find where “", first.label, "” is used"),
			fit("Look up “", first.label, "” in the docs"),
			fit("See how tests cover “", first.label, "”"),
		];
	}
	const each = parts.map(({ label }) => fit("Find “", label, "” in the files"));
	if (parts.length > 3) return each;
	const all = parts.map(({ label }) => label).join(" and ");
	const tests = /\btest/i.test(goal) && !/\btest/i.test(all);
	return [
		...each,
		fit("Find “", all, "” together"),
		...(tests ? [fit("See how tests cover “", first.label, "”")] : []),
	];
}

/** A description of at most {@link widest} characters; where it is too long, the label is cut. */
function fit(before: string, label: string, after: string): string {
	const room = widest - before.length - after.length;
	if (label.length <= room) return before + label + after;
	const cut = label.slice(0, room - 1);
	const whole = cut.lastIndexOf(" ") > room / 2 ? cut.slice(0, cut.lastIndexOf(" ")) : cut;
	return `${before}${whole.toWellFormed()}…${after}`;
}
