/** What must hold of a history: who was called how often, against what was asked, what was open at the cuts and what the rules let be tried again. */
import { idOf, type Made } from "./far-side.ts";
import type { Life } from "./life.ts";
import { type Call, callsOf, type Nested, type Program } from "./program.ts";

/**
 * `paid`: a call of a model or a question to a person that was made again; `effect`: likewise; `order`: answers that were recorded
 * are told in another order; `orphan`: an effect whose start is recorded is not asked for any more; `refused`: a program that was
 * not edited is not run; `result`: a run that is over ends otherwise when it is run again; `verify`: it is said to do so.
 */
export interface Wrong {
	readonly kind: "paid" | "effect" | "order" | "orphan" | "refused" | "stuck" | "result" | "verify";
	readonly what: string;
	readonly times: number;
}

/** A life, and how much of its log the next one found. */
export interface Cut {
	readonly life: Life;
	readonly at: number;
}

export interface Rules {
	readonly policy: "retry" | "skip";
	readonly forgets: "after a failure" | "always";
}

interface Told {
	readonly type: "asked" | "asked*" | "told" | "failed";
	readonly path: string;
	readonly kind: string;
	readonly key: string;
	/** Of what was told. */
	readonly token: string;
	readonly tip: number;
}

/**
 * Judges lives of one program that was not edited, the last of which was not cut.
 *
 * @param before what was made before the first of them, in other lives
 */
export async function judge(program: Program, cuts: readonly Cut[], rules: Rules): Promise<Wrong[]> {
	const wrong: Wrong[] = [];
	const last = cuts.at(-1)?.life as Life;
	if (last.status === "stuck") wrong.push({ kind: "stuck", what: last.why, times: 1 });
	const forgotten: string[] = [];
	const open: Made[] = [];
	for (const [i, { life, at }] of cuts.entries()) {
		const kept = await life.tokens(at);
		const all = await life.tokens(life.tip);
		const told = toldIn(life);
		if (i < cuts.length - 1) forgotten.push(...forgottenAfter(program, life, at, told, kept, rules));
		const here = life.made.filter((made) => made.life === life.number && made.tip <= at);
		for (const made of here) {
			if (kept.has(made.token) || !isCounted(made)) continue;
			// What the program was told has a record.
			const isTold = told.some(({ token, tip, type }) => type !== "asked" && token === made.token && tip <= at);
			if (isTold && !all.has(made.token)) continue;
			open.push(made);
		}
	}
	if (last.status === "refused") {
		const may = forgotten.length > 0 && last.why.includes("REPLAY_DIVERGENCE");
		if (!may) wrong.push({ kind: "refused", what: last.why, times: 1 });
	}
	if (last.status === "refused" || last.status === "stuck") return wrong;
	wrong.push(...tooMany(cuts, open, forgotten, rules));
	wrong.push(...(await outOfOrder(cuts, forgotten)));
	return wrong;
}

/** What was made more often than it may have been. */
function tooMany(
	cuts: readonly Cut[],
	open: readonly Made[],
	forgotten: readonly string[],
	{ policy }: Rules,
): Wrong[] {
	const made = cuts.flatMap(({ life, at }) =>
		life.made.filter((each) => each.life === life.number && each.tip <= at && isCounted(each)),
	);
	const asked = askedIn(cuts);
	const mayBeMade = new Map(asked);
	const allow = (key: string): void => void mayBeMade.set(key, (mayBeMade.get(key) ?? 0) + 1);
	for (const each of open) if (each.kind === "llm" || each.kind === "ask" || policy === "retry") allow(each.key);
	for (const each of made) if (each.followed) allow(each.key);
	for (const key of forgotten) allow(key);
	const wrong: Wrong[] = [];
	for (const [key, all] of Map.groupBy(made, (each) => each.key)) {
		const times = all.length - (mayBeMade.get(key) ?? 0);
		const [{ kind }] = all as [Made];
		const isEffect = kind === "mail" || kind === "post";
		if (times > 0) wrong.push({ kind: isEffect ? "effect" : "paid", what: `${kind} ${key}`, times });
		else if (isEffect && !asked.has(key)) wrong.push({ kind: "orphan", what: `${kind} ${key}`, times: 1 });
	}
	return wrong;
}

/** How often each call was asked for: in the last life; and what is inside a call, in the life that asked most. */
function askedIn(cuts: readonly Cut[]): Map<string, number> {
	const asked = new Map<string, number>();
	// A run that is over may give its result without following the program again.
	const last = cuts.findLastIndex(({ life }) => life.notes.length > 0);
	for (const [i, { life }] of cuts.entries()) {
		const here = Map.groupBy(toldIn(life), ({ type, key }) => `${type} ${key}`);
		for (const [name, all] of here) {
			const key = name.slice(name.indexOf(" ") + 1);
			const isInner = name.startsWith("asked* ");
			if (isInner || (i === last && name.startsWith("asked ")))
				asked.set(key, Math.max(asked.get(key) ?? 0, all.length));
		}
	}
	return asked;
}

/** The failures that the next life need not be told again: nothing that is recorded rests on them. */
function forgottenAfter(
	program: Program,
	life: Life,
	at: number,
	told: readonly Told[],
	kept: ReadonlySet<string>,
	{ forgets }: Rules,
): string[] {
	if (forgets === "after a failure" && !(life.status === "failed" && at === life.tip)) return [];
	const specs = new Map([...callsOf(program)].map((each) => [each.id, each]));
	return told.flatMap((failed, i) => {
		if (failed.type !== "failed" || !mayBeTriedAgain(specs.get(idOf(failed.key)))) return [];
		const later = told.slice(i + 1).filter(({ path, type }) => type === "asked" && isAround(path, failed.path));
		const rests = later.some(({ key }) => isRecorded(life, at, key, told, kept));
		return rests ? [] : [failed.key];
	});
}

const isAround = (path: string, inner: string): boolean => inner === path || inner.startsWith(`${path}/`);

const mayBeTriedAgain = (spec: Call | Nested | undefined): boolean =>
	spec === undefined || spec.type === "nested" || spec.retryable || spec.kind === "llm" || spec.kind === "look";

function isRecorded(life: Life, at: number, key: string, told: readonly Told[], kept: ReadonlySet<string>): boolean {
	const isStarted = ({ kind }: Made): boolean => kind === "mail" || kind === "post" || kind === "ask";
	return (
		life.made.some((made) => made.key === key && made.tip <= at && (isStarted(made) || kept.has(made.token))) ||
		told.some((each) => each.key === key && each.type !== "asked" && kept.has(each.token))
	);
}

/** What is recorded is told in the order in which it was told before. */
async function outOfOrder(cuts: readonly Cut[], forgotten: readonly string[]): Promise<Wrong[]> {
	const wrong: Wrong[] = [];
	for (const [i, { life, at }] of cuts.entries()) {
		const next = cuts[i + 1]?.life;
		if (!next) break;
		const kept = await life.tokens(at);
		const order = (all: readonly Told[]): string[] =>
			all
				.filter(({ type, token, key }) => !type.startsWith("asked") && kept.has(token) && !forgotten.includes(key))
				.map(({ token }) => token);
		const [before, after] = [order(toldIn(life)), order(toldIn(next))];
		const both = (one: readonly string[], other: readonly string[]): string =>
			one.filter((token) => other.includes(token)).join(" ");
		if (both(before, after) !== both(after, before))
			wrong.push({ kind: "order", what: `${both(before, after)} | ${both(after, before)}`, times: 1 });
	}
	return wrong;
}

/** What is not asked again lightly. */
const isCounted = ({ kind }: Made): boolean => kind !== "look" && kind !== "count";

function toldIn({ notes }: Life): readonly Told[] {
	return notes.flatMap(({ line, tip }) => {
		const [type, path = "", kind = "", key = "", said = ""] = line.split(" ");
		if (type !== "asked" && type !== "asked*" && type !== "told" && type !== "failed") return [];
		return [{ type, path, kind, key, token: said.split(":")[0] as string, tip }];
	});
}
