/**
 * Random skills over a timeline, under each policy: killed, edited, given up, out of money, rewound as a whole or alone, and brought back,
 * also while they are at work, with children and questions open, beside runs that are over and collected. They come to what they come to
 * without that, each phase on the line as one of their texts makes it of the one before, and what the line still holds is not made again.
 */
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { journal, journalRecords, stepCompleted, stepFailed, stepOutcomes, stepStarted } from "@reyn/journal";
import {
	type AnySkill,
	defineSkill,
	done,
	isLive,
	openSkills,
	type PhaseContext,
	phaseCompleted,
	type SkillEnd,
	type Skills,
	skillRecords,
	skillRuns,
	skillRunsOf,
} from "@reyn/skill-resume";
import { SnapshotStore } from "@reyn/snapshot";
import { openSession, openTimeline, type Timeline, timetravelRecords } from "@reyn/timetravel";
import { type BlobStore, openWal } from "@reyn/wal";
import { expect, test } from "vitest";
import { z } from "zod";
import { type CutEngine, cutEngine } from "../packages/journal/test/order/cut-engine.ts";
import { datedBlobs } from "../packages/journal/test/order/dated-blobs.ts";
import { EMPTY, optionsOf, type Policy, said, toEnd, World } from "../packages/skill-resume/test/graph/lives.ts";
import {
	edited,
	type Form,
	randomForm,
	rootOf,
	START,
	type Stand,
	trace,
} from "../packages/skill-resume/test/graph/program.ts";
import { type Random, SEED, seeded } from "./kit/seeded.ts";
import { sample } from "./sample.ts";

const me = { agent: "clerk", session: "main" };

/** What is recorded on the line that there is. */
interface Line {
	/** The calls whose answers it holds. */
	readonly held: ReadonlySet<string>;
	/** What there is on it. */
	readonly has: ReadonlySet<string>;
}

async function lineOf(timeline: Timeline, world: World): Promise<Line> {
	const texts: string[] = [];
	const has = new Set<string>();
	const asked = new Set<string>();
	for await (const record of timeline.history()) {
		if (stepStarted.is(record) && record.data.kind === "ask") asked.add(`${record.data.lane} ${record.data.fp}`);
		if (stepFailed.is(record)) has.add(record.data.unmade ? "a call that was denied" : "a call that failed");
		if (!stepCompleted.is(record)) continue;
		texts.push(JSON.stringify(record.data));
		if (record.data.kind === "ask") asked.delete(`${record.data.lane} ${record.data.fp}`);
		if (record.data.kind === "step") has.add(`a step, ${record.data.purity}`);
	}
	if (asked.size > 0) has.add("an open question");
	const isHeld = (id: string): boolean => texts.some((text) => text.includes(`"${said(id)}"`));
	return { held: new Set(world.made.flatMap(({ id, failed }) => (!failed && isHeld(id) ? [id] : []))), has };
}

/** A run beside: it makes something once, and is over. Many of them are collected. */
const aside = (world: World): AnySkill =>
	defineSkill({
		...{ name: "aside", description: "makes something", input: z.string(), start: "only" },
		phases: {
			only: async ({ step }: PhaseContext, id) =>
				done(await step("aside", () => world.call(id, 0), { purity: "side_effect", args: { id }, empty: EMPTY })),
		},
	});

interface Place {
	readonly engine: CutEngine;
	readonly beside: BlobStore;
	/** All that there were; the last one is what runs. */
	readonly forms: readonly [Form, ...Form[]];
	readonly policy: Policy;
	readonly world: World;
	readonly random: Random;
	readonly told: string;
}

/** The phases that are over on the line, each made by one of the forms of what the one before has given. @returns where the run stands */
async function standOn(timeline: Timeline, { forms, told }: Place): Promise<Stand> {
	let at: Stand = START;
	for await (const record of timeline.history()) {
		if (!phaseCompleted.is(record) || record.data.run !== "r") continue;
		const { phase, visit, output } = record.data;
		const visits: number = (at.visits[at.phase] ?? 0) + 1;
		expect([phase, visit], `${told}: on the line`).toEqual([at.phase, visits]);
		const nexts = forms.flatMap((form) => trace(form, at, said).slice(1, 2));
		const next = nexts.find(({ before }) => isDeepStrictEqual(before, output));
		expect(next, `${told}: ${phase}/${visit} gave ${JSON.stringify(output)}`).toBeDefined();
		at = next as Stand;
	}
	return at;
}

/** One process: works, is moved now and then, and comes to the end. */
async function live(place: Place, meet: (what: string) => void): Promise<void> {
	const { engine, beside, forms, policy, world, random, told } = place;
	const form = forms.at(-1) as Form;
	world.tip = () => engine.tip;
	const life = { told: [] as SkillEnd[], failed: [] as string[] };
	const wal = await openWal(engine, { records: [...journalRecords, ...skillRecords, ...timetravelRecords] });
	const projections = [journal, skillRuns];
	const timeline = await openTimeline({
		...{ wal, projections, outcomes: stepOutcomes, snapshots: new SnapshotStore(below(beside, "snapshots")) },
		...{ kept: below(beside, "kept"), keptScopes: () => [me] },
	});
	const session = await openSession(timeline, me);
	const options = optionsOf(form, world, policy, life);
	const skills = await openSkills({ wal, session }, { ...options, skills: [...options.skills, aside(world)] });
	const runs = () => skillRunsOf(session.view.get(skillRuns));
	timeline.attend({ quiet: async () => () => {}, rebuild: async () => skills.moved() });
	const besides = async (): Promise<void> => {
		const id = `a${wal.tip}`;
		await skills.start(id, "aside", `aside/1/${id}:a`);
		if (random.chance(0.3)) return;
		await skills.idle();
		// Where nothing is at work, what is before may go.
		await session.checkpoint("night", id, me);
	};
	for (let left = random.below(7); left > 0; left--) {
		// What is over before it begins is collected while it works.
		const isNew = !runs().some(([id]) => id === "r");
		if (isNew) for (let times = random.below(3); times > 0; times--) await besides();
		await skills.start("r", "random", null);
		if (random.chance(0.3)) await besides();
		// Looking takes a while.
		const before = random.chance(0.5) ? await lineOf(timeline, world) : undefined;
		const isLiveNow = runs().some(([id, run]) => id === "r" && isLive(run));
		// What it is made of stays, for as long as it works.
		if (isLiveNow && random.chance(0.5)) {
			const { first } = wal;
			await timeline.gc({ keepDays: 0, keepCheckpoints: random.below(2), now: Number.MAX_SAFE_INTEGER });
			if (wal.first > first) meet("collected");
		}
		if (random.chance(0.06))
			await skills.discard("r", "enough").then(
				() => meet("given up"),
				(error: Error & { code?: string }) => expect(error.code, told).toBe("SKILL_UNKNOWN_RUN"),
			);
		const childIsOpen = (): boolean => runs().some(([, run]) => run.parent !== undefined && isLive(run));
		if (random.chance(0.4)) await skills.idle();
		else {
			const waitsForChild = random.chance(0.5);
			for (let turns = waitsForChild ? 200 : random.below(40); turns > 0 && !(waitsForChild && childIsOpen()); turns--)
				await setImmediate();
			for (let turns = random.below(12); turns > 0; turns--) await setImmediate();
		}
		const isAtWork = !life.told.some(({ run }) => run === "r");
		const hadChild = childIsOpen();
		const moved = await moveOf(timeline, wal.tip, random).catch((error: Error & { code?: string }) => {
			if (/^(NOTHING_TO_|TIMETRAVEL_)/.test(error.code ?? "")) return undefined;
			throw error;
		});
		if (!moved) continue;
		meet(`${moved}${isAtWork ? " at work" : ""}`);
		meet(`moved, ${policy}`);
		if (hadChild) meet("moved with a child open");
		if (wal.first > 1) meet("moved where others were collected");
		for (const what of before?.has ?? []) meet(`moved with ${what}`);
		const { held } = await lineOf(timeline, world);
		const counts = new Map([...held].map((id) => [id, world.count(id)]));
		await skills.idle();
		// After an edit, what is behind the changed call is made again.
		if (forms.length > 1) continue;
		for (const [id, count] of counts)
			if (!isRead(form, id) && !childrenFailed(world, id)) {
				if (rootOf(id) !== undefined) meet("a call of a child that the line holds");
				expect(world.count(id), `${told}: ${id} is on the line, and was made again`).toBe(count);
			}
	}
	await toEnd(skills, life, world);
	for (const [id, { status }] of runs()) if (status === "paused" && /^a\d+$/.test(id)) await skills.resume(id);
	await skills.idle();
	const open = runs().filter(([id, run]) => /^a\d+$/.test(id) && isLive(run));
	expect(open, `${told}: ${life.failed.join()}`).toEqual([]);
	await assertOutcome(timeline, skills, life, place, meet);
	await skills.close();
	await wal.close();
}

async function assertOutcome(
	timeline: Timeline,
	skills: Skills,
	{ failed }: { readonly failed: readonly string[] },
	place: Place,
	meet: (what: string) => void,
): Promise<void> {
	const { forms, policy, world, told } = place;
	const [, run] = skills.list().find(([id]) => id === "r") ?? [];
	// After an edit, branches may have begun otherwise than is recorded, where nobody can tell which call is which: it waits for a person.
	if (forms.length > 1 && / does not do what is recorded/.test(failed.at(-1) ?? "")) return meet("waits for a person");
	if (run?.discarded?.reason === "enough") return;
	if (run?.status === "discarded") {
		expect(policy, told).toBe("discard_skill");
		return meet("discarded");
	}
	if (world.told.some(({ value }) => value === EMPTY)) {
		expect(policy, told).toBe("skip");
		if (run?.status !== "completed") expect(failed.at(-1), told).toMatch(/its limit is 4/);
		return meet("skipped");
	}
	const at = await standOn(timeline, place);
	if (at.phase === "done") {
		const whole = { status: "completed", last: { output: at.before } };
		expect(run, `${told}: ${failed.join()}`).toMatchObject(whole);
		meet(forms.length > 1 ? "completed after an edit" : "completed");
	} else {
		// The next visit would be one too many.
		expect(trace(forms.at(-1) as Form, at, said), told).toHaveLength(1);
		expect(failed.at(-1), told).toMatch(/its limit is 4/);
	}
}

async function moveOf(timeline: Timeline, tip: number, random: Random): Promise<string> {
	const kind = random.pick(["rewound", "rewound", "undone", "redone"] as const);
	if (kind === "undone") await timeline.undo();
	else if (kind === "redone") await timeline.redo();
	else if (random.chance(0.7)) await timeline.checkout(random.below(tip + 1));
	else {
		await timeline.checkout(random.below(tip + 1), { scope: random.pick([me, { ...me, run: "r" }]) });
		return "rewound in part";
	}
	return kind;
}

/** A run around a call was ended by a call of it that failed: the next one makes all anew. */
function childrenFailed(world: World, id: string): boolean {
	const root = rootOf(id);
	return root !== undefined && world.made.some((each) => each.failed && each.id.startsWith(`${root}/`));
}

function below(store: BlobStore, name: string): BlobStore {
	const within = `${name}/`;
	return {
		put: (each, bytes) => store.put(within + each, bytes),
		get: (each, limit) => store.get(within + each, limit),
		list: async (prefix) => (await store.list(within + prefix)).map((each) => each.slice(within.length)),
		delete: (each) => store.delete(within + each),
	};
}

/** Calls that change nothing, of phases that are not over: they may be made again. */
function isRead(form: Form, id: string): boolean {
	const name = /.*\/(c\d+):/.exec(id)?.[1] ?? "";
	return new RegExp(`"name":"${name}","purity":"(?:pure|world)"`).test(JSON.stringify(form));
}

const policies: readonly Policy[] = ["retry", "skip", "discard_skill"];

test("random skills, killed, edited, rewound and brought back", async () => {
	const met = new Map<string, number>();
	const meet = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1);
	const runs = Number(process.env.REYN_RUNS ?? sample(12, 24));
	for (let i = 0; i < runs; i++) {
		const seed = SEED * 1_000_003 + i;
		const random = seeded(seed);
		const policy = policies[i % policies.length] as Policy;
		let forms: Place["forms"] = [randomForm(random, policy !== "discard_skill")];
		// Each policy with edits, and without.
		const mayEdit = Math.floor(i / policies.length) % 2 === 0;
		const place = { world: new World(seed), random, policy, told: `seed ${seed}, ${policy}` };
		const beside = datedBlobs(() => engine.tip);
		let engine: CutEngine = cutEngine(beside);
		await live({ ...place, forms, engine, beside }, meet);
		for (let lives = mayEdit ? 1 + random.below(2) : random.below(3); lives > 0; lives--) {
			const after = 1 + random.below(engine.tip);
			engine = await engine.cut(after);
			beside.cut(after);
			place.world.cut(engine.lines);
			meet(`killed, ${policy}`);
			if (mayEdit) {
				forms = [...forms, edited(forms.at(-1) as Form, random)];
				meet(`edited, ${policy}`);
			}
			await live({ ...place, forms, engine, beside }, meet);
		}
	}
	console.log(`${runs} histories: ${JSON.stringify(Object.fromEntries(met))}`);
	const moves = ["rewound", "undone", "redone"].flatMap((move) => [move, `${move} at work`]);
	const each = ["moved", "killed", "edited"].flatMap((what) => policies.map((policy) => `${what}, ${policy}`));
	// A sample is too small for what is rare.
	const beside = ["a child open", "an open question", "a call that was denied", "a call that failed"];
	const steps = ["side_effect", "external", "world"].map((purity) => `a step, ${purity}`);
	const rare = [
		...[
			...moves,
			"rewound in part",
			"rewound in part at work",
			...[...beside, ...steps].map((what) => `moved with ${what}`),
		],
		...[
			"completed after an edit",
			"discarded",
			"skipped",
			"given up",
			"collected",
			"moved where others were collected",
		],
		"a call of a child that the line holds",
	];
	for (const what of [...each, "completed", ...(runs >= 300 ? rare : [])])
		expect([what, (met.get(what) ?? 0) > 0]).toEqual([what, true]);
});
