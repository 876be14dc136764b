/** Random skills as data, and a naive model of them: what a run without a fault gives, phase by phase. */
import type { Purity } from "@reyn/journal";
import type { Random } from "../../../../tests/kit/seeded.ts";

export type Op =
	| {
			readonly kind: "step";
			readonly name: string;
			readonly purity: Purity;
			/** Can the far side be asked whether it has happened? */
			readonly asks: boolean;
			/** How often it fails before it succeeds. */
			readonly fails: number;
			/** Another text makes it another call. */
			readonly text: string;
	  }
	| { readonly kind: "model"; readonly name: string; readonly text: string }
	/** What a person is asked. */
	| { readonly kind: "ask"; readonly name: string; readonly text: string }
	/** A skill of one phase that this one runs. */
	| { readonly kind: "child"; readonly name: string; readonly text: string; readonly ops: readonly Op[] }
	/** Draws and the clock: what they say is no part of an outcome. Beside others, who draws first is known by records alone. */
	| { readonly kind: "draw"; readonly name: string; readonly isBeside: boolean }
	/** Branches that push what they find to one list. */
	| { readonly kind: "together"; readonly branches: readonly (readonly Op[])[] };

export interface PhaseForm {
	readonly ops: readonly Op[];
	/** Where it goes after each visit; after the last one of them always there. `done` is the end. */
	readonly ways: readonly string[];
	/** How its output is given: `loose` has what JSON has otherwise, or not at all; `mended` is first given as what is not JSON. */
	readonly gives: "text" | "loose" | "mended";
}

export interface Form {
	readonly phases: Readonly<Record<string, PhaseForm>>;
	readonly maxVisits: number;
}

/** A call, for ever: which one, in which visit of its phase. */
export const callId = (phase: string, visit: number, name: string, text: string): string =>
	`${phase}/${visit}/${name}:${text}`;

/** The call that runs the skill that a call is in; undefined: none. */
export const aroundOf = (id: string): string | undefined => /^(.*)\/1\/c\d+:[^/]*$/.exec(id)?.[1]?.match(/.*:.*/)?.[0];

/** Of those, the outermost. */
export const rootOf = (id: string): string | undefined => /^[^:]*:[^/]*(?=\/1\/c\d+:)/.exec(id)?.[0];

/** What a phase gives, by what came before it and what its calls said. */
export const outputOf = (phase: string, before: unknown, found: readonly string[]): string => {
	let hash = 7;
	for (const sign of `${JSON.stringify(before)}|${phase}|${found.join()}`)
		hash = (Math.imul(hash, 31) + sign.charCodeAt(0)) | 0;
	return `${phase}:${(hash >>> 0).toString(36)}`;
};

/** What a phase gives of its output, and what is kept of that. */
export const givenOf = ({ gives }: PhaseForm, output: string): unknown =>
	gives === "loose" ? { output: [`${output}\ud83d`, -0], gone: undefined } : output;

const keptOf = ({ gives }: PhaseForm, output: string): unknown =>
	gives === "loose" ? { output: [`${output}\ufffd`, 0] } : output;

export const wayOf = ({ ways }: PhaseForm, visit: number): string => ways[Math.min(visit, ways.length) - 1] as string;

/** Where a run stands before a phase, or at its end. */
export interface Stand {
	readonly phase: string;
	readonly visits: Readonly<Record<string, number>>;
	readonly before: unknown;
}

export const START: Stand = { phase: "p0", visits: {}, before: undefined };

/** All stands from one on; the last one is the end, or the phase that it would visit too often. */
export function trace(form: Form, from: Stand, said: (id: string) => string): readonly Stand[] {
	const stands = [from];
	for (let at = from; at.phase !== "done"; ) {
		const visit = (at.visits[at.phase] ?? 0) + 1;
		if (visit > form.maxVisits) return stands;
		const phase = form.phases[at.phase] as PhaseForm;
		const found = phase.ops.flatMap((op) => textsOf(op, at.phase, visit, said));
		at = {
			phase: wayOf(phase, visit),
			visits: { ...at.visits, [at.phase]: visit },
			before: keptOf(phase, outputOf(at.phase, at.before, found)),
		};
		stands.push(at);
	}
	return stands;
}

function textsOf(op: Op, phase: string, visit: number, said: (id: string) => string): readonly string[] {
	if (op.kind === "draw") return [];
	if (op.kind === "together")
		return op.branches.flatMap((branch) => branch.flatMap((each) => textsOf(each, phase, visit, said))).sort();
	const id = callId(phase, visit, op.name, op.text);
	return [op.kind === "child" ? childOutput(op, id, said) : said(id)];
}

/** What a child gives; its calls are of the call that runs it. */
function childOutput({ name, ops }: Extract<Op, { kind: "child" }>, id: string, said: (id: string) => string): string {
	return outputOf(
		name,
		id,
		ops.flatMap((op) => textsOf(op, id, 1, said)),
	);
}

/** @param withChildren may skills run others? */
export function randomForm(random: Random, withChildren: boolean): Form {
	const names = Array.from({ length: 1 + random.below(4) }, (_, i) => `p${i}`);
	let count = 0;
	const op = (depth: number, isBeside: boolean): Op => {
		const name = `c${count++}`;
		const kind = random.below(depth > 1 ? 8 : 10);
		if (kind === 9 && withChildren) return { kind: "child", name, text: "a", ops: ops(depth + 1, isBeside) };
		if (kind >= 8)
			return {
				kind: "together",
				branches: Array.from({ length: 2 + random.below(2) }, () => ops(depth + 1, true)),
			};
		if (kind === 6) return { kind: "draw", name, isBeside };
		if (kind === 4 || kind === 5) return { kind: "model", name, text: "a" };
		if (kind === 7) return { kind: "ask", name, text: "a" };
		const purity = random.pick(["side_effect", "side_effect", "external", "world", "pure"] as const);
		return { kind: "step", name, purity, asks: random.chance(0.3), fails: random.chance(0.12) ? 1 : 0, text: "a" };
	};
	const ops = (depth = 0, isBeside = false): readonly Op[] =>
		Array.from({ length: random.below(depth > 0 ? 3 : 4) }, () => op(depth, isBeside));
	const phases = names.map((name, i): [string, PhaseForm] => {
		// It may come round, and at last goes on.
		const last = names[i + 1] ?? "done";
		const ways = Array.from({ length: random.below(3) }, () => random.pick(names));
		const gives = random.pick(["text", "text", "loose", "mended"] as const);
		return [name, { ops: ops(), ways: [...ways, random.chance(0.05) ? name : last], gives }];
	});
	return { phases: Object.fromEntries(phases), maxVisits: 4 };
}

/** The same skill with another text in one of its calls. */
export function edited(form: Form, random: Random): Form {
	const changed = random.below(8);
	let at = 0;
	const edit = (op: Op): Op => {
		if (op.kind === "together") return { ...op, branches: op.branches.map((branch) => branch.map(edit)) };
		return op.kind === "draw" || at++ !== changed ? op : { ...op, text: `${op.text}+` };
	};
	const phases = Object.entries(form.phases).map(([name, phase]) => [name, { ...phase, ops: phase.ops.map(edit) }]);
	return { ...form, phases: Object.fromEntries(phases) };
}
