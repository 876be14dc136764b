/** Random histories: a program, its lives and where they are cut; then edits of it. */
import fc from "fast-check";
import { type Cut, judge, type Wrong } from "./judge.ts";
import type { Form, Life, Setting } from "./life.ts";
import { anyProgram, bodiesOf, type Call, mapParts, type Part, type Program, plainCall } from "./program.ts";

export interface History {
	readonly program: Program;
	/** How long calls take, in each life. */
	readonly delays: readonly (readonly number[])[];
	readonly policy: "retry" | "skip";
	/** Where the first two lives are cut, as a part of their records; or the first one behind each of its records. */
	readonly cuts: readonly [number, number];
	readonly everywhere: boolean;
	readonly lives: 2 | 3;
	/** Is there nobody to be asked in the first life? */
	readonly absent: boolean;
	/** What the text of a script has got in each life: the same, a comment, a statement that does nothing, or the first one again. */
	readonly additions: readonly [string, string, string];
	readonly edit: "none" | "append" | "front" | "branch";
}

const delays = fc.array(fc.nat(12), { minLength: 1, maxLength: 7 });

export const anyHistory: fc.Arbitrary<History> = fc.record({
	program: anyProgram,
	delays: fc.tuple(delays, delays, delays),
	policy: fc.constantFrom("retry" as const, "retry" as const, "skip" as const),
	cuts: fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
	everywhere: fc.constantFrom(false, false, false, false, false, true),
	lives: fc.constantFrom(2 as const, 3 as const),
	absent: fc.constantFrom(false, false, false, false, true),
	additions: fc.constantFrom(
		["", "", ""] as const,
		["", "", ""] as const,
		["", "void 1", "void 1"] as const,
		["", "void 1", "void 2"] as const,
		["", "void 1", ""] as const,
		["", "", "void 1"] as const,
		["", "// a", "// b"] as const,
	),
	edit: fc.constantFrom("none" as const, "none" as const, "append" as const, "front" as const, "branch" as const),
});

/** What was seen of a history. */
export interface Seen {
	readonly lives: number;
	readonly wrong: readonly Wrong[];
}

/** Lives of one program over one log, each of which goes on where the one before was cut. */
class Lives<State> {
	readonly #form: Form<State>;
	readonly #history: History;
	#state: State;
	readonly cuts: Cut[] = [];

	constructor(form: Form<State>, history: History, state = form.fresh(), cuts: readonly Cut[] = []) {
		this.#form = form;
		this.#history = history;
		this.#state = state;
		this.cuts = [...cuts];
	}

	get last(): Life {
		return (this.cuts.at(-1) as Cut).life;
	}

	async live(program: Program, more: Partial<Setting> = {}): Promise<Life> {
		const number = this.cuts.length + 1;
		const { life: before, at = 0 } = this.cuts.at(-1) ?? {};
		const { delays, policy, additions } = this.#history;
		// A run that is over is run once more with the text that it has.
		const addition = additions[Math.min(number, this.#history.lives) - 1] ?? "";
		const ms = delays[(number - 1) % delays.length] as number[];
		const setting: Setting = { number, delays: ms, policy, addition, ...more };
		// What was made when the log was so long is made.
		const made = (before?.made ?? []).filter((each) => each.life < number - 1 || each.tip <= at);
		const life = await this.#form.live(this.#state, program, setting, made, before?.now ?? 1_000_000);
		this.cuts.push({ life, at: life.tip });
		return life;
	}

	/** The same lives, the last of which ended behind so many records. */
	async cut(at: number): Promise<Lives<State>> {
		const copy = await this.#form.cut(this.#state, at);
		return new Lives(this.#form, this.#history, copy, [...this.cuts.slice(0, -1), { life: this.last, at }]);
	}

	judge(program: Program, { from = 0 } = {}): Promise<Wrong[]> {
		const { policy, additions } = this.#history;
		const isEdited = additions.some((each) => each.startsWith("void"));
		return judge(program, this.cuts.slice(from), { policy, forgets: this.#form.forgets, isEdited });
	}
}

/** Runs a history, and says what was wrong with it. */
export async function run<State>(form: Form<State>, history: History): Promise<Seen> {
	const { program, absent, everywhere, cuts, lives } = history;
	const wrong: Wrong[] = [];
	const first = new Lives(form, history);
	const begun = await first.live(program, { absent });
	let count = 1;
	if (begun.status === "refused" || begun.status === "stuck") return { lives: 1, wrong: await first.judge(program) };
	const points = everywhere
		? Array.from({ length: begun.tip - begun.from }, (_, i) => begun.from + 1 + i)
		: [behind(begun, cuts[0])];
	for (const at of points) {
		let all = await first.cut(at);
		await all.live(program);
		if (lives === 3 && (!everywhere || at % 3 === 0)) {
			all = await all.cut(behind(all.last, cuts[1]));
			await all.live(program);
		}
		const here = await all.judge(program);
		if (here.length === 0) here.push(...(await whenOver(form, all, program)));
		count += all.cuts.length;
		wrong.push(...here.map((each) => ({ ...each, what: `cut ${all.cuts.map(({ at }) => at)}: ${each.what}` })));
		if (isWrong(wrong)) break;
	}
	if (isWrong(wrong)) return { lives: count, wrong };
	const more = await edited(form, history);
	return { lives: count + more.lives, wrong: [...wrong, ...more.wrong] };
}

export const isWrong = (seen: readonly Wrong[]): boolean => seen.some(({ kind }) => kind !== "shaken");

/** Behind which record of a life, for a part of them. */
const behind = ({ from, tip }: Life, part: number): number => Math.min(tip, from + 1 + Math.floor(part * (tip - from)));

/** A run that is over ends so when it is run again, and calls nothing. */
async function whenOver<State>(form: Form<State>, all: Lives<State>, program: Program): Promise<Wrong[]> {
	const ended = all.last;
	const wrong: Wrong[] = [];
	if (ended.status === "completed") {
		const divergences = (await ended.verify?.(program)) ?? [];
		if (divergences.length > 0) wrong.push({ kind: "verify", what: JSON.stringify(divergences), times: 1 });
	}
	const again = await all.cut(ended.tip);
	const { status, result, why } = await again.live(program);
	wrong.push(...(await again.judge(program)));
	// Where a failure that nothing rests on is tried again, the program may hear something else at its end.
	const mayChange = form.forgets === "always" && ended.notes.some(({ line }) => line.startsWith("failed "));
	if (ended.status === "completed" && (status !== "completed" || (result !== ended.result && !mayChange)))
		wrong.push({ kind: "result", what: `${ended.result} | ${status} ${result ?? why}`, times: 1 });
	return wrong;
}

/**
 * A run that is over goes on with another program: a call more at its end, which touches nothing; or one at its front, or a branch
 * more, by content. For the last two nothing rests on the new call, there are model calls only, and all of them are found again.
 */
async function edited<State>(form: Form<State>, history: History): Promise<Seen> {
	const { edit, cuts } = history;
	if (edit === "none") return { lives: 0, wrong: [] };
	const before = edit === "append" ? history.program : ofModelsOnly(history.program);
	const after = editedProgram(before, edit);
	if (!after) return { lives: 0, wrong: [] };
	const reuse = edit === "append" ? {} : { reuse: "content" as const };
	const all = new Lives(form, history);
	const begun = await all.live(before, reuse);
	if (begun.status !== "completed") return { lives: 1, wrong: [] };
	await all.live(after, reuse);
	const wrong = await all.judge(after);
	if (wrong.length > 0) return { lives: 2, wrong: marked(wrong, edit) };
	// What was adopted is recorded in its new place, and cut there.
	const third = await all.cut(behind(all.last, cuts[1]));
	await third.live(after, reuse);
	return { lives: 3, wrong: marked(await third.judge(after), `${edit}, cut`) };
}

const marked = (wrong: readonly Wrong[], edit: string): Wrong[] =>
	wrong.map((each) => ({ ...each, what: `edit ${edit}: ${each.what}` }));

function editedProgram(program: Program, edit: "append" | "front" | "branch"): Program | undefined {
	const added: Call = plainCall("llm", "nothing", "n0");
	switch (edit) {
		case "append":
			return [...program, added];
		case "front":
			return [added, ...program];
		case "branch": {
			// Nothing else goes on beside it: what comes after the new call could else be told later than before.
			const at = program.findIndex((part) => part.type === "all" && part.form === "lanes");
			const found = program[at];
			if (found?.type !== "all" || hasLosers(program)) return undefined;
			return program.with(at, { ...found, branches: [...found.branches, [added]] });
		}
	}
}

/** Does a part of it go on while the program does? */
const hasLosers = (program: Program): boolean =>
	program.some(
		(part) =>
			part.type === "first" ||
			part.type === "early" ||
			(part.type === "all" && part.form === "fast") ||
			bodiesOf(part).some(hasLosers),
	);

/** The same program without effects, failures and the world, and with nothing that rests on the answer before it alone. */
function ofModelsOnly(program: Program): Program {
	const calm = (call: Call): Call => ({
		...call,
		kind: call.kind === "count" ? "count" : "llm",
		uses: call.uses === "last" ? "nothing" : call.uses,
		fails: "never",
	});
	return mapParts(program, (part): Part => {
		switch (part.type) {
			case "call":
				return calm(part);
			case "loop":
				return { ...part, call: calm(part.call) };
			// Of equal calls each takes the oldest answer that is left, whichever branch it was of: so of those that look at the clock.
			case "now":
			case "sleep":
				return { type: "ticks", count: 1 };
			case "pipeline":
				return { ...part, items: part.items.slice(0, 1) };
			case "nested": {
				const body = part.body.map((each) => ({ ...calm(each), kind: "count" as const }));
				return { ...part, kind: "llm", uses: part.uses === "last" ? "nothing" : part.uses, body };
			}
			// Who loses is told while the program waits for the new call, so what comes after may rest on both.
			case "first":
				return { type: "all", form: "lanes", branches: part.branches };
			default:
				return part;
		}
	});
}
