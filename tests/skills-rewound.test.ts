/** Random skills over a timeline: killed, rewound, and brought back, also while they are at work. They come to what they come to without that, and what the line still holds is not made again. */
import { setImmediate } from "node:timers/promises";
import { journal, journalRecords, stepOutcomes } from "@reyn/journal";
import { openSkills, type SkillEnd, skillRecords, skillRuns } from "@reyn/skill-resume";
import { memorySnapshots } from "@reyn/snapshot";
import { openSession, openTimeline, type Timeline, timetravelRecords } from "@reyn/timetravel";
import { openWal } from "@reyn/wal";
import { expect, test } from "vitest";
import { type CutEngine, cutEngine } from "../packages/journal/test/order/cut-engine.ts";
import { optionsOf, said, toEnd, World } from "../packages/skill-resume/test/graph/lives.ts";
import { type Form, randomForm, rootOf, START, trace } from "../packages/skill-resume/test/graph/program.ts";
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
	readonly form: Form;
	readonly world: World;
	readonly random: Random;
	readonly told: string;
}

/** One process: works, is moved now and then, and comes to the end. @returns how many moves it has seen */
async function live({ engine, form, world, random, told }: Place, meet: (what: string) => void): Promise<number> {
	world.tip = () => engine.tip;
	const life = { told: [] as SkillEnd[], failed: [] as string[] };
	const wal = await openWal(engine, { records: [...journalRecords, ...skillRecords, ...timetravelRecords] });
	const projections = [journal, skillRuns];
	const timeline = await openTimeline({ wal, snapshots: memorySnapshots(), projections, outcomes: stepOutcomes });
	const session = await openSession(timeline, me);
	const skills = await openSkills({ wal, session }, optionsOf(form, world, "retry", life));
	timeline.attend({ quiet: async () => () => {}, rebuild: async () => skills.moved() });
	let moves = 0;
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
		moves++;
		meet(`${moved}${isAtWork ? " at work" : ""}`);
		const held = await heldIn(timeline, world);
		const before = new Map([...held].map((id) => [id, world.count(id)]));
		await skills.idle();
		for (const [id, count] of before)
			if (!isRead(form, id)) expect(world.count(id), `${told}: ${id} is on the line, and was made again`).toBe(count);
	}
	await toEnd(skills, life);
	const [[, run] = []] = skills.list();
	const last = trace(form, START, said).at(-1);
	if (last?.phase === "done") {
		const whole = { status: "completed", last: { output: last.before } };
		expect(run, `${told}: ${life.failed.join()}`).toMatchObject(whole);
	} else expect(life.failed.at(-1), told).toMatch(/its limit is 4/);
	await skills.close();
	await wal.close();
	return moves;
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

test("random skills, killed, rewound and brought back", async () => {
	const met = new Map<string, number>();
	const meet = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1);
	const runs = Number(process.env.REYN_RUNS ?? sample(6, 20));
	for (let i = 0; i < runs; i++) {
		const seed = SEED * 1_000_003 + i;
		const random = seeded(seed);
		const place = { form: randomForm(random, true), world: new World(seed), random, told: `seed ${seed}` };
		let engine = cutEngine();
		await live({ ...place, engine }, meet);
		for (let lives = random.below(3); lives > 0; lives--) {
			engine = await engine.cut(1 + random.below(engine.tip));
			place.world.cut(engine.lines);
			await live({ ...place, engine }, meet);
		}
	}
	console.log(`${runs} histories: ${JSON.stringify(Object.fromEntries(met))}`);
});
