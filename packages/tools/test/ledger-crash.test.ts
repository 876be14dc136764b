/**
 * Random programs of write, edit, remove and shell, through the real journal and the real tools: killed, or without power, before any
 * change of a file, of the log or of what a command is told; meanwhile others may change a file. What it comes to is that of a model.
 */
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { callTool, journalRecords, openJournal } from "@reyn/journal";
import { fileEngine, openWal } from "@reyn/wal";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { isDeep, sample } from "../../../tests/sample.ts";
import { createFileTools } from "../src/file-tools.ts";
import { createShellTool } from "../src/shell/index.ts";
import { type Death, Life, mortal, newWorld, type World } from "./ledger/mortal.ts";
import { after, type Call, paths, program, type Tree, withText } from "./ledger/program.ts";

const POINTS = Number(process.env.REYN_RUNS ?? sample(60, 150));
/** So many programs at a time: a part of it is waiting for commands. */
const LANES = 4;

let root: string;
let end: () => void;
beforeAll(async () => {
	end = await mortal();
});
afterAll(() => end());
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-ledger-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Whoever is asked whether a command in doubt may be run again. */
type Ask = (command: string) => boolean;

/** Runs a program to its end, from wherever the log says. @returns what each call said; undefined: it died before */
async function live(life: Life, calls: readonly Call[], ask: Ask): Promise<readonly string[] | undefined> {
	const { directory, disk } = life.world;
	const files = join(directory, "files");
	const tools = [
		...createFileTools(files, { writes: true }),
		createShellTool(files, { records: join(directory, "commands"), env: { PATH: process.env.PATH }, confine: false }),
	];
	const told: string[] = [];
	const work = life.run(async () => {
		const journal = await openJournal(fileEngine("/log", { disk }), {
			async gate({ inDoubt, name, args }) {
				if (!inDoubt) return { kind: "pass" };
				expect(name).toBe("shell");
				return ask((args as { command: string }).command)
					? { kind: "pass" }
					: { kind: "deny", code: "NO", reason: "not again" };
			},
		});
		const lane = journal.lane("ledger");
		for (const [i, { name, args }] of calls.entries())
			told.push((await callTool(lane, tools, { id: `c${i}`, name, args }, `c${i}`)).text);
		await journal.close();
	});
	const ended = work.catch((error: unknown) => (life.isDead ? undefined : Promise.reject(error)));
	// What fails once it is dead is nobody's.
	ended.catch(() => {});
	await Promise.race([life.died, ended]);
	return life.isDead ? undefined : told;
}

/** How far a program has come: its first call whose end is not recorded, and whether that was begun. */
async function progress(disk: World["disk"]): Promise<{ readonly next: number; readonly isBegun: boolean }> {
	const wal = await openWal(fileEngine("/log", { disk }), { records: journalRecords });
	const ended = new Set<string>();
	const begun = new Map<number, string>();
	for await (const { seq, kind, data } of wal.read()) {
		const { round, started } = data as { readonly round?: string; readonly started?: number };
		const of = round ?? begun.get(started ?? 0) ?? "";
		if (kind === "step_started") begun.set(seq, of);
		if (kind === "step_completed" || kind === "step_failed") ended.add(of);
	}
	await wal.close();
	return { next: ended.size, isBegun: [...begun.values()].includes(`c${ended.size}`) };
}

function treeIn({ directory }: World): Tree {
	const files = join(directory, "files");
	const names = readdirSync(files, { recursive: true, encoding: "utf8" }).filter((name) => name !== "d");
	return Object.fromEntries(names.map((name) => [name, readFileSync(join(files, name), "utf8")]));
}

interface Point {
	readonly calls: readonly Call[];
	readonly dieAt: number;
	readonly logDiesAt: number;
	readonly death: Death;
}

/** What may have been seen, each a number of points. */
const seen = { killed: 0, power: 0, again: 0, others: 0, unknown: 0, asked: 0 };

/** @returns how often it died */
async function story({ calls, dieAt, logDiesAt, death }: Point, random: Random, directory: string): Promise<number> {
	const said = `seed ${SEED}, ${JSON.stringify({ calls: calls.map(({ name, args }) => [name, args]), dieAt, logDiesAt, death })}`;
	await mkdir(directory);
	const may = new Map<string, number>();
	const denied = new Set<string>();
	const ask: Ask = (command) => {
		seen.asked++;
		const isAllowed = random.chance(0.7);
		if (isAllowed) may.set(command, (may.get(command) ?? 0) + 1);
		else denied.add(command);
		return isAllowed;
	};
	let life = new Life(newWorld(join(directory, "0")), dieAt, logDiesAt);
	let told = await live(life, calls, ask);
	let deaths = 0;
	let hadPower = true;
	/** What there is by the model, up to the call that is next. */
	let model: Tree = {};
	let at = 0;
	/** Of a call that was begun: what its file held when it was planned. */
	const planned = new Map<number, string | undefined>();
	const isRefused = new Map<number, boolean>();
	const step = (call: Call): void => {
		const now = model[call.path];
		const found = call.result(planned.has(at) ? planned.get(at) : now);
		// What was begun is made where the file still is as it was, and is done where it is as it was to become.
		const isMade = found !== "refused" && (!planned.has(at) || now === planned.get(at) || now === found.text);
		if (!isMade && planned.has(at)) seen.unknown++;
		isRefused.set(at++, !isMade);
		if (isMade) model = withText(model, call.path, found.text);
	};
	for (; told === undefined; deaths++) {
		const how = deaths === 0 ? death : random.pick(["killed", "power"] as const);
		seen[how]++;
		if (how === "power") hadPower = false;
		const world = await life.next(how, join(directory, String(deaths + 1)), random);
		const { next, isBegun } = await progress(world.disk);
		while (at < next) step(calls[at] as Call);
		const open = calls[next];
		if (open && isBegun && open.name !== "shell" && !planned.has(next)) planned.set(next, model[open.path]);
		// What a command that goes on makes of its file comes before or after others, as it happens.
		const free = open?.name === "shell" ? paths.filter((each) => each !== open.path) : paths;
		const path = open && open.name !== "shell" && random.chance(0.5) ? open.path : random.pick(free);
		if (open && random.chance(0.4)) {
			seen.others++;
			const result = open.path === path ? open.result(model[path]) : "refused";
			const theirs = random.pick(["theirs\n", result === "refused" ? undefined : result.text, model[path], undefined]);
			await others(join(world.directory, "files", path), theirs);
			model = withText(model, path, theirs);
		}
		const isAgain = deaths < 3 && random.chance(0.3);
		if (isAgain) seen.again++;
		life = new Life(world, isAgain ? 1 + random.below(20) : 0);
		told = await live(life, calls, ask);
	}
	while (at < calls.length) step(calls[at] as Call);
	/** Nobody knows what these hold, since a command that was in doubt was not to be run again. */
	const lost = new Set<string>();
	for (const [i, { name, path, args }] of calls.entries()) {
		const text = told[i] ?? "";
		const command = args.command ?? "";
		if (denied.has(command)) {
			expect(text, said).toMatch(/^ERROR: .*not again/s);
			lost.add(path);
		}
		if (lost.has(path)) continue;
		expect(text.startsWith("ERROR"), `call ${i} said ${text}; ${said}`).toBe(isRefused.get(i));
		if (name !== "shell") continue;
		expect(text, said).toMatch(new RegExp(`^it ended with 0 .*out ${i}$`, "s"));
		const runs = readFileSync(join(life.world.directory, "did", String(i)), "utf8").split("\n").length - 1;
		expect(runs, `command ${i} at ${path}; ${said}`).toBeGreaterThan(0);
		expect(runs, `command ${i} at ${path}; ${said}`).toBeLessThanOrEqual(1 + (may.get(command) ?? 0));
	}
	if (hadPower) expect([...may, ...denied], said).toEqual([]);
	const known = (tree: Tree): Tree => Object.fromEntries(Object.entries(tree).filter(([path]) => !lost.has(path)));
	expect(known(treeIn(life.world)), said).toEqual(known(model));
	await rm(directory, { recursive: true, force: true });
	return deaths;
}

async function others(path: string, text: string | undefined): Promise<void> {
	await mkdir(dirname(path), { recursive: true });
	if (text === undefined) await rm(path, { force: true });
	else await writeFile(path, text);
}

test(`at ${POINTS} points of random programs each write is made once, each command as often as it may be, and nothing of others is lost`, async () => {
	let points = 0;
	let programs = 0;
	const lane = async (): Promise<void> => {
		while (points < POINTS) {
			const own = join(root, String(programs));
			// By itself the same, whatever the others do.
			const random = seeded(SEED * 1_000_003 + programs++);
			const calls = program(random, 2 + random.below(4));
			await mkdir(own);
			const dry = new Life(newWorld(join(own, "dry")));
			const told = await live(dry, calls, () => false);
			expect(told?.filter((text) => text.startsWith("ERROR"))).toEqual([]);
			expect(treeIn(dry.world)).toEqual(calls.reduce<Tree>((tree, call) => after(tree, call) ?? tree, {}));
			const [changes, ofLog] = [dry.steps, dry.world.disk.cuts];
			const all = [
				...Array.from({ length: changes }, (_, n) => ({ dieAt: n + 1, logDiesAt: 0 })),
				...Array.from({ length: ofLog }, (_, n) => ({ dieAt: 0, logDiesAt: n + 1 })),
			];
			const every = sample(9, 3);
			for (let n = random.below(every); n < all.length && points < POINTS; n += every) {
				const death = random.pick(["killed", "power"] as const);
				const deaths = await story({ calls, ...(all[n] as (typeof all)[number]), death }, random, join(own, String(n)));
				points += deaths;
			}
			await rm(own, { recursive: true, force: true });
		}
	};
	await Promise.all(Array.from({ length: LANES }, lane));
	console.log(`seed ${SEED}: ${points} points of ${programs} programs: ${JSON.stringify(seen)}`);
	// A sample is too small for what is rare.
	for (const count of isDeep ? Object.values(seen) : [seen.killed, seen.power]) expect(count).toBeGreaterThan(0);
});
