/**
 * Who is bound to which task, and what a session has to learn of it, over random histories: bound, bound anew, given up, changed
 * elsewhere, gone, rewound whole or in part, undone, cut while differences are recorded. `REYN_RUNS` sets how many are told.
 */
import type { Draft, Seq, WalRecord } from "@reyn/wal";
import fc from "fast-check";
import { expect, test } from "vitest";
import { histories } from "../../../tests/sample.ts";
import {
	type Binding,
	bindings,
	differences,
	differenceText,
	isReportedEnd,
	recordsOf,
	type SessionTask,
	sessionTasks,
	type TaskRole,
	type TaskStatus,
	taskBegun,
	taskRebound,
	taskReported,
	taskSeen,
	taskSubscribed,
	taskTold,
	taskUnbound,
} from "../src/index.ts";

const { numRuns, seed } = histories(300, 2_000);

const sessions = ["a", "b", "c"] as const;
type Name = (typeof sessions)[number];
const scopeOf = (session: Name) => ({ agent: "default", session });
const tasks = ["t1", "t2", "t3"] as const;
const roles: readonly TaskRole[] = ["assignee", "requester"];
const statuses: readonly TaskStatus[] = ["unassigned", "ready", "running", "done", "failed"];

const fold = (state: readonly SessionTask[], seq: Seq, { kind, data }: Draft): readonly SessionTask[] =>
	sessionTasks.handlers.get(kind)?.apply(state, { seq, kind, data } as WalRecord) ?? state;

type States = Readonly<Record<Name, readonly SessionTask[]>>;
/** For each session, what it has claimed: `[seq, role and task, who]`; nobody: it is given up. */
type Claims = Readonly<Record<Name, readonly (readonly [seq: Seq, what: string, who: Name | undefined])[]>>;

const every = <T>(make: (session: Name) => T): Readonly<Record<Name, T>> => ({
	a: make("a"),
	b: make("b"),
	c: make("c"),
});

/** A log that keeps a copy of everything at each seq: what is folded, and beside it the claims themselves. */
class Copies {
	readonly states: States[] = [every(() => [])];
	readonly claims: Claims[] = [every(() => [])];

	get tip(): Seq {
		return this.states.length - 1;
	}

	append(session: Name, draft: Draft): Seq {
		const seq = this.tip + 1;
		const [state, claims] = [this.states[seq - 1] as States, this.claims[seq - 1] as Claims];
		this.states.push({ ...state, [session]: fold(state[session], seq, draft) });
		const { role, task } = draft.data as { readonly role?: string; readonly task: string };
		const who = draft.kind === taskUnbound.kind ? undefined : session;
		const claim = [seq, `${role} ${task}`, who] as const;
		this.claims.push(role === undefined ? claims : { ...claims, [session]: [...claims[session], claim] });
		return seq;
	}

	/** Takes some sessions to a seq. */
	move(to: Seq, moved: readonly Name[]): void {
		const pick = <T>(all: readonly Readonly<Record<Name, T>>[]): Readonly<Record<Name, T>> =>
			every((session) => (all[moved.includes(session) ? to : all.length - 1] as Record<Name, T>)[session]);
		this.states.push(pick(this.states));
		this.claims.push(pick(this.claims));
	}

	bindings(at = this.tip): readonly Binding[] {
		const states = this.states[at] as States;
		return bindings(sessions.map((session) => ({ scope: scopeOf(session), tasks: states[session] })));
	}

	/** One claim after the other, each takes it from whoever has it. */
	bound(): readonly string[] {
		const has = new Map<string, Name | undefined>();
		const all = sessions.flatMap((session) => (this.claims[this.tip] as Claims)[session]);
		for (const [, what, who] of all.toSorted(([a], [b]) => a - b)) has.set(what, who);
		return [...has].flatMap(([what, who]) => (who === undefined ? [] : `${what}: ${who}`)).sort();
	}
}

const who = (bound: readonly Binding[]): readonly string[] =>
	bound.map(({ role, task, scope }) => `${role} ${task}: ${scope.session}`).sort();

const anyCommand = fc.oneof(
	{
		weight: 5,
		arbitrary: fc.record({
			type: fc.constant("bind" as const),
			session: fc.constantFrom(...sessions),
			task: fc.constantFrom(...tasks),
			role: fc.constantFrom(...roles),
		}),
	},
	{ weight: 1, arbitrary: fc.record({ type: fc.constant("release" as const), of: fc.nat(20) }) },
	{
		weight: 4,
		arbitrary: fc.record({
			type: fc.constant("elsewhere" as const),
			task: fc.constantFrom(...tasks),
			status: fc.option(fc.constantFrom(...statuses), { freq: 6, nil: undefined }),
		}),
	},
	{
		weight: 4,
		arbitrary: fc.record({
			type: fc.constant("move" as const),
			to: fc.nat(1_000),
			sessions: fc.oneof(fc.constant(sessions), fc.subarray([...sessions], { minLength: 1 })),
		}),
	},
	{ weight: 2, arbitrary: fc.constant({ type: "undo" as const }) },
);
/** After how many records of its differences a look is cut, and done again. */
const anyCut = fc.option(fc.nat(3), { freq: 2, nil: undefined });

test("who has a task is as of then, and what is known of it as of now, wherever a look is cut", () => {
	fc.assert(
		fc.property(fc.array(fc.tuple(anyCommand, anyCut), { minLength: 3, maxLength: 24, size: "max" }), (commands) => {
			const log = new Copies();
			const now = new Map<string, { title: string; status: TaskStatus } | undefined>(
				tasks.map((id) => [id, { title: id, status: "unassigned" as const }]),
			);
			/** The tips before the moves that were not undone. */
			const left: Seq[] = [];
			const look = (before: readonly Binding[] | undefined, records = Number.POSITIVE_INFINITY): void => {
				let cut = records;
				for (const difference of differences(log.bindings(), now, before))
					for (const draft of recordsOf(difference)) if (cut-- > 0) log.append(difference.scope.session as Name, draft);
			};
			for (const [command, cut] of commands) {
				let before: readonly Binding[] | undefined;
				if (command.type === "bind") {
					const { task, role, session } = command;
					const is = now.get(task);
					const has = log.bindings().find((each) => each.task === task && each.role === role);
					if (is && has)
						log.append(session, taskRebound({ task, role, from: has.holder, to: scopeOf(session), ...is }));
					else if (is) log.append(session, taskSubscribed({ task, role, holder: scopeOf(session), ...is }));
				}
				const given = command.type === "release" ? log.bindings().at(command.of) : undefined;
				if (given) {
					const { task, role, holder, scope } = given;
					log.append(scope.session as Name, taskUnbound({ task, role, holder, why: "released" }));
				}
				if (command.type === "elsewhere")
					now.set(command.task, command.status && { title: command.task, status: command.status });
				if (command.type === "move" || (command.type === "undo" && left.length > 0)) {
					before = log.bindings();
					const { tip } = log;
					if (command.type === "undo") log.move(left.pop() as Seq, sessions);
					else {
						left.push(tip);
						log.move(command.to % (tip + 1), command.sessions);
					}
				}
				if (cut !== undefined) look(before, cut);
				look(cut === undefined ? before : undefined);
				expect(who(log.bindings())).toEqual(log.bound());
				for (const { task, title, status } of log.bindings()) expect({ title, status }).toEqual(now.get(task));
				expect(differences(log.bindings(), now)).toEqual([]);
			}
		}),
		{ numRuns, seed },
	);
});

const holder = scopeOf("a");
const known = (...drafts: readonly Draft[]): readonly SessionTask[] =>
	drafts.reduce((state, draft, at) => fold(state, at + 1, draft), [] as readonly SessionTask[]);
const taken = taskSubscribed({ task: "t1", role: "assignee", holder, title: "one", status: "ready" });
const bound = (...drafts: readonly Draft[]) => bindings([{ scope: holder, tasks: known(...drafts) }]);

test("what was begun for a task is of the claim that it was begun under", () => {
	const begun = taskBegun({ task: "t1", work: "w" });
	expect(bound(taken, begun)[0]?.begun).toEqual({ seq: 2, work: "w", isReported: false });
	expect(bound(taken, begun, taskReported({ task: "t1", work: "w", key: "k" }))[0]?.begun?.isReported).toBe(true);
	expect(bound(taken, begun, taken)[0]?.begun).toBeUndefined();
});

test("a report says which end of the work it is of; one of an older log is of what had ended before", () => {
	const of = (...drafts: readonly Draft[]) => bound(taken, taskBegun({ task: "t1", work: "w" }), ...drafts)[0]?.begun;
	const report = { task: "t1", work: "w", key: "k" };
	const isTold = (begun: ReturnType<typeof of>) => [2, 3, 4].filter((end) => begun && isReportedEnd(begun, end));
	expect(isTold(of())).toEqual([]);
	expect(isTold(of(taskReported({ ...report, end: 3, status: "failed" })))).toEqual([3]);
	expect(isTold(of(taskReported({ ...report, end: 3 }), taskReported({ ...report, end: 4 })))).toEqual([4]);
	expect(isTold(of(taskReported(report)))).toEqual([2]);
	// As a state of an older version has it.
	expect(isTold({ seq: 2, work: "w", isReported: true })).toEqual([2, 3, 4]);
});

test("what is to be told is kept until it was told", () => {
	const seen = taskSeen({ task: "t1", title: "one", status: "done", tell: "it is done" });
	expect(known(taken, seen)[0]?.told).toEqual({ seq: 2, text: "it is done" });
	expect(known(taken, seen, taskTold({ task: "t1", of: 1 }))[0]?.told).toEqual({ seq: 2, text: "it is done" });
	expect(known(taken, seen, taskTold({ task: "t1", of: 2 }))[0]).not.toHaveProperty("told");
});

test("a record about a task that no claim is known of counts for nothing", () => {
	expect(known(taskUnbound({ task: "t1", role: "assignee", holder, why: "gone" }))).toEqual([]);
});

test.each([
	["done", "one", undefined, 't1 "one" is done now.'],
	["ready", "two", undefined, 't1 "one" is called "two" now.'],
	["failed", "two", undefined, 't1 "one" is failed now. It is called "two" now.'],
	["done", "one", "before", 't1 "one" is yours again, and is done since.'],
	["ready", "one", "before", 't1 "one" is yours again; it is ready.'],
	[undefined, "", undefined, 't1 "one" is not there any more; nothing is bound to it now.'],
] as const)("a task that is %s, called %s: %s", (status, title, before, text) => {
	const now = new Map([["t1", status && { title, status }]]);
	const found = differences(bound(taken), now, before && []);
	expect(found.map(differenceText)).toEqual([text]);
});

test("where nothing was read, nothing differs", () => {
	expect(differences(bound(taken), new Map())).toEqual([]);
});
