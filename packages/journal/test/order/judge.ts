/** What must hold of a history: who was called how often, against what was asked, what was open at the cuts and what the rules let be tried again. */
import { idOf, type Made } from "./far-side.ts";
import type { Life } from "./life.ts";
import { type Call, callsOf, type Nested, type Program } from "./program.ts";

/**
 * `paid`: a call of a model or a question to a person that was made again; `effect`: likewise; `order`: answers that were recorded
 * are told in another order; `orphan`: an effect whose start is recorded is not asked for any more; `refused`: a program that was
 * not edited is not run; `result`: a run that is over ends otherwise when it is run again; `verify`: it is said to do so.
 * `shaken` is no wrong: a failure was forgotten, since nothing in its lane rests on it, and calls of other lanes did.
 */
export interface Wrong {
	readonly kind: "paid" | "effect" | "order" | "orphan" | "refused" | "stuck" | "result" | "verify" | "shaken";
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
	/** Has a script got another text in between? What rests on a call that ends otherwise is then made again, and not refused. */
	readonly isEdited?: boolean;
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
	const untold = new Map<string, string>();
	let isShaken = false;
	const open: Made[] = [];
	for (const [i, { life, at }] of cuts.entries()) {
		const kept = await life.tokens(at);
		const all = await life.tokens(life.tip);
		const told = toldIn(life);
		if (i < cuts.length - 1) {
			const here = forgottenAfter(program, life, at, told, kept, rules);
			forgotten.push(...here.told);
			for (const { token, key } of here.untold) untold.set(token, key);
			isShaken ||= here.isShaken;
		}
		const here = life.made.filter((made) => made.life === life.number && made.tip <= at);
		for (const made of here) {
			if (kept.has(made.token) || !isCounted(made)) continue;
			// What the program was told has a record.
			const isTold = told.some(({ token, tip, type }) => type !== "asked" && token === made.token && tip <= at);
			if (isTold && !all.has(made.token)) continue;
			open.push(made);
		}
	}
	forgotten.push(...untold.values());
	if (last.status === "refused") wrong.push({ kind: "refused", what: last.why, times: 1 });
	if (last.status !== "refused" && last.status !== "stuck") {
		wrong.push(...tooMany(cuts, open, forgotten, rules));
		wrong.push(...(await outOfOrder(cuts, forgotten)));
	}
	if (!isShaken) return wrong;
	const mayBe: readonly Wrong["kind"][] = ["paid", "order", "orphan", ...(rules.isEdited ? (["effect"] as const) : [])];
	const isStop = ({ kind, what }: Wrong): boolean => kind === "refused" && what.includes("REPLAY_DIVERGENCE");
	return wrong.map((each) => (mayBe.includes(each.kind) || isStop(each) ? { ...each, kind: "shaken" } : each));
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
	for (const each of made) if (each.followed && !open.includes(each)) allow(each.key);
	for (const key of forgotten) allow(key);
	const wrong: Wrong[] = [];
	for (const [key, all] of Map.groupBy(made, (each) => each.key)) {
		const times = all.length - (mayBeMade.get(key) ?? 0);
		const [{ kind }] = all as [Made];
		const isEffect = kind === "mail" || kind === "post";
		// Made once, or once again as it may be, and not asked for any more: nothing is doubled.
		if (isEffect && !asked.has(key) && (all.length === 1 || times === 1))
			wrong.push({ kind: "orphan", what: `${kind} ${key}`, times: 1 });
		// What was made once was not made again, though a later run ends before it asks for it.
		else if (times > 0 && all.length > 1)
			wrong.push({ kind: isEffect ? "effect" : "paid", what: `${kind} ${key}`, times });
	}
	return wrong;
}

/** How often each call was asked for: in the last life; and inside each call, in the life that asked most. */
function askedIn(cuts: readonly Cut[]): Map<string, number> {
	// A run that is over may give its result without following the program again.
	const last = cuts.findLast(({ life }) => life.notes.length > 0)?.life;
	const outside = last ? toldIn(last).filter(({ type }) => type === "asked") : [];
	const asked = new Map([...Map.groupBy(outside, ({ key }) => key)].map(([key, all]) => [key, all.length]));
	const inside = new Map<string, number>();
	for (const { life } of cuts) {
		const here = toldIn(life).filter(({ type }) => type === "asked*");
		for (const [what, all] of Map.groupBy(here, ({ path, key }) => `${path} ${key}`))
			inside.set(what, Math.max(inside.get(what) ?? 0, all.length));
	}
	for (const [what, times] of inside) {
		const key = what.split(" ")[1] as string;
		asked.set(key, (asked.get(key) ?? 0) + times);
	}
	return asked;
}

/**
 * The failures that the next life need not be told again: no call that is recorded in their lane, or one around it, was asked for later; or the program was ended by it. One of
 * another lane may rest on them all the same, through what branches share.
 */
function forgottenAfter(
	program: Program,
	life: Life,
	at: number,
	told: readonly Told[],
	kept: ReadonlySet<string>,
	{ forgets }: Rules,
): { readonly told: readonly string[]; readonly untold: readonly Made[]; readonly isShaken: boolean } {
	const hasFailed = life.failed !== undefined && life.failed <= at;
	if (forgets === "after a failure" && !hasFailed) return { told: [], untold: [], isShaken: false };
	const specs = new Map([...callsOf(program)].map((each) => [each.id, each]));
	// On what the program was never told, since it had ended, nothing rests.
	const untold = life.made.filter(
		({ key, token, failed, followed }) =>
			failed &&
			!followed &&
			kept.has(token) &&
			(hasFailed || mayBeTriedAgain(specs.get(idOf(key)))) &&
			!told.some((each) => each.token === token),
	);
	let isShaken = false;
	const heard = told.flatMap((failed, i) => {
		if (failed.type !== "failed") return [];
		// Its branch has ended by it, and the others have not seen it.
		const later = told.flatMap((each, n) => (n > i && each.type === "asked" ? [{ ...each, n }] : []));
		const recorded = later.filter(({ n }) => isRecorded(n, life, at, told, kept));
		// Its branch has ended by it; what else has seen it may go another way now.
		const spec = specs.get(idOf(failed.key));
		// Of branches within branches, the first alone is named; of `Promise.any`, none.
		const isUncaught = !(spec && "caught" in spec && spec.caught);
		const isLast = life.why.includes("SCRIPT_BRANCH_FAILED") && !later.some(({ path }) => path === failed.path);
		const isGathered = isUncaught && (isLast || life.why.includes("All promises were rejected"));
		if (hasFailed && (isGathered || life.why.includes(`${failed.token}:`))) {
			isShaken ||= told.some(({ type }, n) => n > i && type.startsWith("asked"));
			return [failed.key];
		}
		// It may have ended by it, whatever it threw in its place: nothing was asked for later, so nothing rests on it.
		const isHeardLast = !told.some(({ type, kind }, n) => n > i && type.startsWith("asked") && kind !== "count");
		if (hasFailed && isHeardLast) return [failed.key];
		if (!mayBeTriedAgain(spec)) return [];
		// What the world says is the same to all who ask, so the ledger does not know whose answer is recorded.
		const isSure = ({ kind, key, path }: Told): boolean =>
			kind !== "look" || !told.some((each) => each.key === key && each.path !== path);
		if (recorded.some((each) => isSure(each) && isAround(each.path, failed.path))) return [];
		// Of a call that is made of calls the ledger knows no start, of an effect none before it is made, of a model tries that failed.
		const mayHaveBegun = ({ key, kind, tip }: Told): boolean =>
			specs.get(idOf(key))?.type === "nested" ||
			((kind === "mail" || kind === "post") && tip < at) ||
			life.made.some((each) => each.key === key && each.followed && each.tip < at);
		isShaken ||= recorded.length > 0 || later.some(mayHaveBegun);
		return [failed.key];
	});
	return { told: heard, untold, isShaken };
}

/** Is a lane around the other, or the same? */
const isAround = (outer: string, lane: string): boolean => `${lane}/`.startsWith(`${outer}/`);

const mayBeTriedAgain = (spec: Call | Nested | undefined): boolean =>
	spec === undefined || spec.type === "nested" || spec.retryable || spec.kind === "llm" || spec.kind === "look";

/** Is a call recorded that was asked for then: by its outcome, or as an effect by its start? Of equal ones the first are. */
function isRecorded(n: number, life: Life, at: number, told: readonly Told[], kept: ReadonlySet<string>): boolean {
	const { key, path, kind } = told[n] as Told;
	// A pure call leaves no record, although what it said may stand in the arguments of others.
	if (kind === "count") return false;
	const same = told.filter((each) => each.key === key && each.path === path);
	const isInOneLane = same.length === told.filter((each) => each.key === key).length;
	const isStarted = ({ kind, tip }: Made): boolean => kind !== "llm" && tip <= at;
	// Which of several lanes a call was made for, the ledger does not know. Tries of one call are one.
	const made = life.made.filter(
		(each) =>
			isInOneLane && each.key === key && isCounted(each) && !each.followed && (isStarted(each) || kept.has(each.token)),
	);
	const heard = same.filter(({ type, token }) => type !== "asked" && kept.has(token));
	const recorded = new Set([...made, ...heard].map(({ token }) => token));
	const before = same.filter((each) => each.type === "asked" && told.indexOf(each) < n);
	return before.length < recorded.size;
}

/** What is recorded is told in the order in which it was told before: to the program, and to each call that is made of calls. */
async function outOfOrder(cuts: readonly Cut[], forgotten: readonly string[]): Promise<Wrong[]> {
	const wrong: Wrong[] = [];
	for (const [i, { life, at }] of cuts.entries()) {
		const next = cuts[i + 1]?.life;
		if (!next) break;
		const [kept, inside] = [await life.tokens(at, false), await life.tokens(at)];
		// What the world says again does not tell whose answer is recorded.
		const answers = Map.groupBy(
			toldIn(life).filter(({ type }) => !type.startsWith("asked")),
			({ token }) => token,
		);
		const isSaidOften = (token: string): boolean => (answers.get(token)?.length ?? 0) > 1;
		const counts = ({ type, path, token, key }: Told): boolean =>
			!type.startsWith("asked") &&
			!isSaidOften(token) &&
			(path.startsWith("inside") ? inside : kept).has(token) &&
			!forgotten.includes(key);
		const after = toldBy(next, counts);
		for (const [who, told] of toldBy(life, counts)) {
			const again = after.get(who) ?? [];
			const was = told.filter((token) => again.includes(token)).join(" ");
			const is = again.filter((token) => told.includes(token)).join(" ");
			if (was !== is) wrong.push({ kind: "order", what: `${was} | ${is}`, times: 1 });
		}
	}
	return wrong;
}

/** Which answers, by who was told; equal ones are counted. */
function toldBy(life: Life, counts: (told: Told) => boolean): Map<string, string[]> {
	const by = Map.groupBy(toldIn(life).filter(counts), ({ path }) => path.split("/")[0] as string);
	const named = (all: readonly Told[]): string[] => {
		const times = new Map<string, number>();
		return all.map(({ key, token }) => {
			const name = `${key}=${token}`;
			const n = times.get(name) ?? 0;
			times.set(name, n + 1);
			return `${name}#${n}`;
		});
	};
	return new Map([...by].map(([who, all]) => [who, named(all)]));
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
