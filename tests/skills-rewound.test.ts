/**
 * Random skills over a timeline, under each policy: killed, edited, rewound, and brought back, also while they are at work. They come to what
 * they come to without that, each phase on the line as one of their texts makes it of the one before, and what the line still holds is not
 * made again.
 */
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { journal, journalRecords, stepOutcomes } from "@reyn/journal";
import { openSkills, phaseCompleted, type SkillEnd, type Skills, skillRecords, skillRuns } from "@reyn/skill-resume";
import { memorySnapshots } from "@reyn/snapshot";
import { openSession, openTimeline, type Timeline, timetravelRecords } from "@reyn/timetravel";
import { openWal } from "@reyn/wal";
import { expect, test } from "vitest";
import { type CutEngine, cutEngine } from "../packages/journal/test/order/cut-engine.ts";
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

/** Answers of calls that make something, on the line that there is. */
async function heldIn(timeline: Timeline, world: World): Promise<ReadonlySet<string>> {
	const texts: string[] = [];
	for await (const { kind, data } of timeline.history())
		if (kind === "step_completed") texts.push(JSON.stringify(data));
	const held = world.made.flatMap(({ id, failed }) =>
		!failed && rootOf(id) === undefined && texts.some((text) => text.includes(`"${said(id)}"`)) ? [id] : [],
	);
	return new Set(held);
}

interface Place {
	readonly engine: CutEngine;
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
	const { engine, forms, policy, world, random, told } = place;
	const form = forms.at(-1) as Form;
	world.tip = () => engine.tip;
	const life = { told: [] as SkillEnd[], failed: [] as string[] };
	const wal = await openWal(engine, { records: [...journalRecords, ...skillRecords, ...timetravelRecords] });
	const projections = [journal, skillRuns];
	const timeline = await openTimeline({ wal, snapshots: memorySnapshots(), projections, outcomes: stepOutcomes });
	const session = await openSession(timeline, me);
	const skills = await openSkills({ wal, session }, optionsOf(form, world, policy, life));
	timeline.attend({ quiet: async () => () => {}, rebuild: async () => skills.moved() });
	for (let left = random.below(7); left > 0; left--) {
		await skills.start("r", "random", null);
		if (random.chance(0.5)) await skills.idle();
		else for (let turns = random.below(40); turns > 0; turns--) await setImmediate();
		const isAtWork = life.told.length === 0;
		const moved = await moveOf(timeline, wal.tip, random).catch((error: Error & { code?: string }) => {
			if (/^(NOTHING_TO_|TIMETRAVEL_)/.test(error.code ?? "")) return undefined;
			throw error;
		});
		if (!moved) continue;
		meet(`${moved}${isAtWork ? " at work" : ""}`);
		meet(`moved, ${policy}`);
		const held = await heldIn(timeline, world);
		const before = new Map([...held].map((id) => [id, world.count(id)]));
		await skills.idle();
		// After an edit, what is behind the changed call is made again.
		if (forms.length > 1) continue;
		for (const [id, count] of before)
			if (!isRead(form, id)) expect(world.count(id), `${told}: ${id} is on the line, and was made again`).toBe(count);
	}
	await toEnd(skills, life, world);
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
	const [[, run] = []] = skills.list();
	// After an edit, branches may have begun otherwise than is recorded, where nobody can tell which call is which: it waits for a person.
	if (forms.length > 1 && / does not do what is recorded/.test(failed.at(-1) ?? "")) return meet("waits for a person");
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
	else await timeline.checkout(random.below(tip + 1));
	return kind;
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
		let engine = cutEngine();
		await live({ ...place, forms, engine }, meet);
		for (let lives = mayEdit ? 1 + random.below(2) : random.below(3); lives > 0; lives--) {
			engine = await engine.cut(1 + random.below(engine.tip));
			place.world.cut(engine.lines);
			meet(`killed, ${policy}`);
			if (mayEdit) {
				forms = [...forms, edited(forms.at(-1) as Form, random)];
				meet(`edited, ${policy}`);
			}
			await live({ ...place, forms, engine }, meet);
		}
	}
	console.log(`${runs} histories: ${JSON.stringify(Object.fromEntries(met))}`);
	const moves = ["rewound", "undone", "redone"].flatMap((move) => [move, `${move} at work`]);
	const each = ["moved", "killed", "edited"].flatMap((what) => policies.map((policy) => `${what}, ${policy}`));
	// A sample is too small for what is rare.
	const rare = runs >= 100 ? [...moves, "completed after an edit", "discarded", "skipped"] : [];
	for (const what of [...each, "completed", ...rare]) expect([what, (met.get(what) ?? 0) > 0]).toEqual([what, true]);
});
