/** Random histories against a model that copies everything, and against the parent walk that the spec defines. */
import { type Scope, type Seq, within } from "@reyn/wal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { histories } from "../../../tests/sample.ts";
import { Lineage } from "../src/lineage.ts";
import { type Class, copyEverything, covers, type Entry, isFact, isMeta, resetsOf } from "./naive-model.ts";

const { numRuns: runs, seed } = histories(120, 2_000);

const scopes: readonly Scope[] = [
	{},
	{ agent: "a" },
	{ agent: "a", session: "s" },
	{ agent: "a", session: "s", run: "p" },
	{ agent: "a", session: "s", run: "q" },
	{ agent: "a", session: "t" },
	{ agent: "b" },
	{ agent: "b", session: "s" },
];
/** No drop list names z: it is every other kind. */
const kinds = ["x", "y", "z"];
/** What no reset covers: resets name the one, and not the other. */
const facts = ["fact_f", "fact_g"];
const drops = [
	undefined,
	undefined,
	["x"],
	["y"],
	["x", "y"],
	["y", "x"],
	["x", "checkpoint"],
	["label"],
	[],
	["fact_f"],
	["x", "fact_f"],
];
/** Of lines of history. */
const classes: readonly Class[] = scopes.flatMap((scope) => kinds.map((kind) => ({ scope, kind })));
const factClasses: readonly Class[] = scopes.flatMap((scope) => facts.map((kind) => ({ scope, kind })));
const allClasses = [...classes, ...factClasses];

const anyScope = fc.constantFrom(...scopes);
const anyDrop = fc.constantFrom(...drops);

/** Half of the resets take the whole process; the target may lie anywhere before. */
const step = fc.oneof(
	{ weight: 5, arbitrary: fc.record({ scope: anyScope, kind: fc.constantFrom(...kinds) }) },
	{ weight: 2, arbitrary: fc.record({ scope: anyScope, kind: fc.constantFrom(...facts) }) },
	{ weight: 1, arbitrary: fc.record({ scope: anyScope, kind: fc.constantFrom("checkpoint", "label", "wal_epoch") }) },
	{
		weight: 4,
		arbitrary: fc.record({
			scope: fc.oneof({ weight: 1, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: anyScope }),
			drop: anyDrop,
			back: fc.nat(1_000),
		}),
	},
);
const anyLog = fc.array(step, { minLength: 1, maxLength: 24, size: "max" }).map((steps): Entry[] =>
	steps.map((each, i) => {
		const seq = i + 1;
		if ("kind" in each) return { seq, ...each };
		const target = i - (each.back % seq);
		return { seq, scope: each.scope, kind: "reset", target, ...(each.drop && { drop: each.drop }) };
	}),
);

test("the histories are branchy: many go back into a part that was abandoned", () => {
	const logs = fc.sample(anyLog, { numRuns: 1_000, seed: 1 });
	const intoTheDead = logs.filter((log) =>
		resetsOf(log).some((reset) =>
			classes.some((each) => covers(reset, each) && !ancestorsOf(reset.seq - 1, each, log).has(reset.target)),
		),
	);
	expect(intoTheDead.length).toBeGreaterThan(300);
});

describe("in any history", () => {
	test("what is active is what a model that copies everything has kept", () => {
		check(fc.tuple(anyLog), ([log]) => {
			const active = log.filter(({ kind }) => !isMeta(kind)).filter((entry) => lineageOf(log).isActive(entry));
			expect(seqs(active)).toEqual(union(copyEverything(log, allClasses)[log.length], allClasses));
		});
	});

	test("the ranges and `has` of a path to any seq, in any scope, give the records that the model has there; facts lie anywhere", () => {
		check(fc.tuple(anyLog, anyScope), ([log, scope]) => {
			const lineage = lineageOf(log);
			copyEverything(log, allClasses).forEach((state, to) => {
				const path = lineage.path(to, scope);
				const inRanges = path.rangesAfter(0).flatMap(({ after, through }) => log.slice(after, through));
				const onPath = log.filter((entry) => within(entry.scope, scope) && path.has(entry));
				expect(seqs(onPath.filter(({ kind }) => !isMeta(kind)))).toEqual(union(state, allClassesIn(scope)));
				expect(onPath.filter((entry) => !isFact(entry.kind) && !inRanges.includes(entry))).toEqual([]);
			});
		});
	});

	test("ranges ascend, do not touch, and hold the ancestors in any class and nothing else", () => {
		check(fc.tuple(anyLog, anyScope), ([log, scope]) => {
			const lineage = lineageOf(log);
			for (let to = 0; to <= log.length; to++) {
				const ranges = lineage.path(to, scope).rangesAfter(0);
				const edges = ranges.flatMap(({ after, through }) => [after, through]);
				expect(edges).toEqual([...new Set(edges)].sort((a, b) => a - b));
				const ancestors = new Set(classesIn(scope).flatMap((each) => [...ancestorsOf(to, each, log)]));
				ancestors.delete(0);
				expect(ranges.flatMap(({ after, through }) => seqs(log.slice(after, through)))).toEqual(sorted(ancestors));
			}
		});
	});

	test("a state is a base where it is an ancestor in every class, and the rest of the path continues it", () => {
		check(fc.tuple(anyLog, anyScope, fc.subarray([...kinds, "checkpoint", ...facts])), ([log, scope, folded]) => {
			const lineage = lineageOf(log);
			const states = copyEverything(log, allClasses);
			const judged = folded.includes("checkpoint") ? classesIn(scope) : classesIn(scope, folded);
			states.forEach((state, to) => {
				const path = lineage.path(to, scope);
				const ancestors = judged.map((each) => ancestorsOf(to, each, log));
				const bases = [0, ...seqs(log)].filter((seq) => path.isBase(seq, folded));
				expect(bases).toEqual(
					[...states.keys()].filter((seq) => seq <= to && ancestors.every((each) => each.has(seq))),
				);

				const continued = (base: Seq) => (each: Class) => {
					const added = log.filter((entry) => entry.seq > base && is(entry, each) && path.has(entry));
					return [...(states[base]?.get(each) ?? []), ...seqs(added)];
				};
				const all = [
					...judged,
					...factClasses.filter((each) => within(each.scope, scope) && folded.includes(each.kind)),
				];
				const expected = all.map((each) => state.get(each));
				expect(bases.map((base) => all.map(continued(base)))).toEqual(bases.map(() => expected));
			});
		});
	});

	test("a meta record is on a path where it is an ancestor in every class in its own scope", () => {
		check(fc.tuple(anyLog, anyScope), ([log, scope]) => {
			const lineage = lineageOf(log);
			const metas = log.filter(({ kind }) => isMeta(kind));
			for (let to = 0; to <= log.length; to++) {
				const path = lineage.path(to, scope);
				const counting = metas.filter(({ seq, scope }) =>
					classesIn(scope).every((each) => ancestorsOf(to, each, log).has(seq)),
				);
				expect(metas.filter((meta) => path.has(meta))).toEqual(counting);
				if (to === log.length) expect(metas.filter((meta) => lineage.isActive(meta))).toEqual(counting);
			}
		});
	});

	test("a reset would be an undo where its target is an ancestor in every class that it would cover", () => {
		check(fc.tuple(anyLog, anyScope, anyDrop, fc.nat()), ([log, scope, drop, at]) => {
			const of = at % (log.length + 1);
			const covered = classes.filter((each) => covers({ scope, ...(drop && { drop }) }, each));
			const ancestors = covered.map((each) => ancestorsOf(of, each, log));
			for (let seq = 0; seq <= log.length; seq++) {
				const expected = seq <= of && ancestors.every((each) => each.has(seq));
				expect(lineageOf(log).isAncestor(seq, scope, drop, of)).toBe(expected);
			}
		});
	});

	test("what a reset would leave, bring back and let stay up to a seq is what differs in a class that it would cover", () => {
		check(fc.tuple(anyLog, anyScope, anyDrop, fc.nat(), fc.nat()), ([log, scope, drop, to, end]) => {
			const target = to % (log.length + 1);
			const through = end % (log.length + 1);
			const before = seqs(log).filter((seq) => seq <= through);
			const covered = classes
				.filter((each) => covers({ scope, ...(drop && { drop }) }, each))
				.map((each) => [ancestorsOf(log.length, each, log), ancestorsOf(target, each, log)] as const);
			const isAll = drop === undefined && within({}, scope);
			expect(lineageOf(log).changes({ target, scope, ...(drop && { drop }) }, through)).toEqual({
				leaves: covered.some(([now, then]) => before.some((seq) => now.has(seq) && !then.has(seq))),
				returns: covered.some(([now, then]) => before.some((seq) => !now.has(seq) && then.has(seq))),
				stays:
					!isAll &&
					classes.some((each) => {
						const now = ancestorsOf(log.length, each, log);
						return before.some((seq) => seq > target && now.has(seq));
					}),
			});
		});
	});

	test("of a scope something may be kept after a seq that is an ancestor in any class in it", () => {
		check(fc.tuple(anyLog, anyScope), ([log, scope]) => {
			const ancestors = classesIn(scope).map((each) => ancestorsOf(log.length, each, log));
			for (let seq = 0; seq <= log.length; seq++)
				expect(lineageOf(log).isAncestorInAny(seq, scope)).toBe(ancestors.some((each) => each.has(seq)));
		});
	});

	test("`abandonedBy` is the newest reset on the path that covers the class and skips the record", () => {
		check(fc.tuple(anyLog), ([log]) => {
			for (const entry of log) {
				const judged = isMeta(entry.kind) ? classesIn(entry.scope) : classes.filter((each) => is(entry, each));
				const skipping = judged.flatMap((each) => {
					const ancestors = ancestorsOf(log.length, each, log);
					return resetsOf(log).filter(
						({ seq, target, ...reset }) =>
							ancestors.has(seq) && covers(reset, each) && target < entry.seq && entry.seq < seq,
					);
				});
				expect(lineageOf(log).abandonedBy(entry)).toBe(
					seqs(skipping)
						.sort((a, b) => a - b)
						.at(-1),
				);
				expect(lineageOf(log).isActive(entry)).toBe(skipping.length === 0);
			}
		});
	});

	test("a lineage that grew record by record answers as a new one does", () => {
		check(fc.tuple(anyLog), ([log]) => {
			let grown = new Lineage([], 0, { isMeta });
			for (const entry of log) {
				const [reset] = resetsOf([entry]);
				grown = reset ? grown.with(reset) : grown.advance(entry.seq);
				const fresh = lineageOf(log.slice(0, entry.seq));
				expect(seqs(log.filter((each) => grown.isActive(each)))).toEqual(
					seqs(log.filter((each) => fresh.isActive(each))),
				);
				expect(grown.path(grown.tip, {}).rangesAfter(0)).toEqual(fresh.path(fresh.tip, {}).rangesAfter(0));
			}
			expect(grown.branches()).toEqual(lineageOf(log).branches());
		});
	});

	test("what a lineage says stays so when others grow from it, however many go on from one moment", () => {
		check(fc.tuple(anyLog, anyScope, fc.nat()), ([log, scope, at]) => {
			const moment = at % log.length;
			const [old, again] = [log.slice(0, moment), log.slice(moment)];
			const grow = (from: Lineage): Lineage =>
				again.reduce((grown, entry) => {
					const [reset] = resetsOf([entry]);
					return reset ? grown.with(reset) : grown.advance(entry.seq);
				}, from);
			const base = lineageOf(old);
			const said = saidOf(base, log, scope);
			const [one, other] = [grow(base), grow(base)];
			expect(saidOf(base, log, scope)).toEqual(said);
			for (const each of [one, other]) expect(saidOf(each, log, scope)).toEqual(saidOf(lineageOf(log), log, scope));
		});
	});

	test("the ranges after a seq are those of the whole path that lie there", () => {
		check(fc.tuple(anyLog, anyScope), ([log, scope]) => {
			const path = lineageOf(log).path(log.length, scope);
			for (let seq = 0; seq <= log.length; seq++) {
				const later = path.rangesAfter(0).filter(({ through }) => through > seq);
				expect(path.rangesAfter(seq)).toEqual(later.map((each) => ({ ...each, after: Math.max(each.after, seq) })));
			}
		});
	});

	test("the nearest ancestors of a seq are the last before and the first after it that are so in every class", () => {
		check(fc.tuple(anyLog, anyScope, fc.nat()), ([log, scope, at]) => {
			const of = at % (log.length + 1);
			const lines = classesIn(scope).map((each) => ancestorsOf(of, each, log));
			const common = [0, ...seqs(log)].filter((seq) => lines.every((line) => line.has(seq)));
			for (let seq = 0; seq <= of; seq++)
				expect(lineageOf(log).nearestAncestors(seq, scope, of)).toEqual([
					common.findLast((each) => each <= seq),
					common.find((each) => each >= seq),
				]);
		});
	});

	test("every record is in one branch, and each branch forks off one that holds its target", () => {
		check(fc.tuple(anyLog), ([log]) => {
			const branches = lineageOf(log).branches();
			const held = branches.flatMap(({ first, last }) => seqs(log.slice(first - 1, last)));
			expect(held).toEqual(seqs(log));
			expect(branches.filter(({ active }) => active)).toEqual(branches.slice(-1));
			for (const { id, parent, forkedAt } of branches.slice(1)) {
				const holder = branches.find(({ first, last }) => first <= forkedAt && forkedAt <= last);
				expect(parent).toBe(holder?.id ?? 0);
				expect(parent).toBeLessThan(id);
			}
		});
	});
});

function check<T>(input: fc.Arbitrary<T>, property: (value: T) => void): void {
	fc.assert(fc.property(input, property), { numRuns: runs, seed });
}

function lineageOf(log: readonly Entry[]): Lineage {
	return new Lineage(resetsOf(log), log.length, { isMeta });
}

/** What a lineage says of a log that goes on after it. */
const saidOf = (lineage: Lineage, log: readonly Entry[], scope: Scope) => ({
	active: seqs(log.filter((each) => lineage.isActive(each))),
	ranges: lineage.path(lineage.tip, scope).rangesAfter(0),
	halfway: lineage.path(lineage.tip >> 1, scope).rangesAfter(0),
	left: log.map((each) => lineage.abandonedBy(each)),
	resets: lineage.resets,
	newest: lineage.newest,
});

/** The definition, word for word: s, its parent, and so on to genesis. */
function ancestorsOf(to: Seq, each: Class, log: readonly Entry[]): Set<Seq> {
	const ancestors = new Set<Seq>();
	for (let seq = to; seq > 0; ) {
		ancestors.add(seq);
		const entry = log[seq - 1];
		seq = entry?.target !== undefined && covers(entry, each) ? entry.target : seq - 1;
	}
	return ancestors.add(0);
}

function classesIn(scope: Scope, of: readonly string[] = kinds): readonly Class[] {
	return classes.filter((each) => within(each.scope, scope) && of.includes(each.kind));
}

function allClassesIn(scope: Scope): readonly Class[] {
	return allClasses.filter((each) => within(each.scope, scope));
}

function is(entry: Class, each: Class): boolean {
	return entry.kind === each.kind && within(entry.scope, each.scope) && within(each.scope, entry.scope);
}

function union(state: ReadonlyMap<Class, readonly Seq[]> | undefined, of: readonly Class[]): Seq[] {
	return sorted(of.flatMap((each) => state?.get(each) ?? []));
}

function seqs(records: readonly { readonly seq: Seq }[]): Seq[] {
	return records.map(({ seq }) => seq);
}

function sorted(values: Iterable<Seq>): Seq[] {
	return [...values].sort((a, b) => a - b);
}
