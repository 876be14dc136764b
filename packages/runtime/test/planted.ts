/**
 * A state in which something lies that is no file or directory of ours, and all that is done with a state: run as a process of its
 * own, since what waits for a pipe waits for good. Says a line of JSON for each case.
 */
import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import {
	chmodSync,
	chownSync,
	cpSync,
	existsSync,
	linkSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PLAN_TOOL } from "@reyn/plan";
import { assertOwnDirectory } from "@reyn/wal/internal";
import { applyRepair, proposeRepair, verifyLog } from "@reyn/wal/tools";
import { SEED } from "../../../tests/kit/seeded.ts";
import { isDeep } from "../../../tests/sample.ts";
import { claimState, type Runtime, stateOrigin, trustState } from "../src/index.ts";
import { formerPlaces, moveAll } from "./former.ts";
import { seal } from "./kept-files.ts";
import { lastOf, open, type Project, payingPlan, scripted, until } from "./project.ts";
import { five, runToEnd, till } from "./script-runs.ts";

export interface Case {
	readonly path: string;
	readonly what: string;
	readonly does: string;
	/** The code that it was refused with, or `done`. */
	readonly outcome: string;
	readonly message: string;
	/** What an error says it is about, below the state. */
	readonly about: string | undefined;
	/** Is all that lies outside as it was? */
	readonly untouched: boolean;
}

/** What cannot be planted here, and why. */
export interface Skip {
	readonly skipped: string;
	readonly why: string;
}

/** @param isHeld its plans get no further than their first step */
const model = (isHeld: boolean) =>
	scripted(async (request) => {
		if (lastOf(request) === "plan it") return [{ name: PLAN_TOOL, args: payingPlan }];
		if (isHeld && /Step a/.test(lastOf(request))) await new Promise(() => {});
		return `${lastOf(request).slice(0, 40)} `.repeat(5000);
	});

const opened = async (state: string, how: { readOnly?: boolean; isHeld?: boolean } = {}): Promise<Runtime> => {
	const { readOnly = false, isHeld = false } = how;
	return (await open({ cwd: state, state } as Project, { model: model(isHeld), tools: [till()], readOnly })).runtime;
};

/** All kinds of files that a state can have: segments, a base, snapshots, what is kept, results, an image, a script run and a plan. */
async function makeState(state: string): Promise<string> {
	const isHeld = true;
	let runtime = await opened(state, { isHeld });
	const talk = async (prompt: string): Promise<void> => {
		await runtime.prompt(prompt);
		await runtime.idle();
	};
	const again = async (): Promise<void> => {
		await runtime.close();
		await seal(state);
		runtime = await opened(state, { isHeld });
	};
	await talk("hello");
	await again();
	await talk("hello again");
	await talk("hello once more");
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	const { run } = await runToEnd(runtime, five());
	await again();
	await runtime.prompt("plan it");
	await until(() => runtime.restored().plans.length > 0);
	const moved = formerPlaces(runtime);
	await runtime.close();
	// What older versions have left: the run has its result alone where it lies today, the plan lies in both places.
	const former = moved.filter(({ to }) => !to.includes("/result-"));
	const plans = former.filter(({ to }) => to.startsWith("agents/"));
	for (const { from } of plans) cpSync(join(state, from), join(state, `${from}.aside`));
	await moveAll(state, former);
	for (const { from } of plans) renameSync(join(state, `${from}.aside`), join(state, from));
	// What is kept is stored as snapshots are.
	cpSync(join(state, "state/kept"), join(state, "state/snapshots"), { recursive: true });
	// Of a log as short as this no index is stored; one that is none is looked at all the same.
	mkdirSync(join(state, "state/snapshots/index"), { mode: 0o700 });
	writeFileSync(join(state, "state/snapshots/index", `${"0".repeat(20)}.blob`), "none", { mode: 0o600 });
	// No tool has changed a file here; an image that nothing names is looked at all the same.
	mkdirSync(join(state, "state/images/ab"), { recursive: true, mode: 0o700 });
	writeFileSync(join(state, "state/images/ab", `${"ab".repeat(32)}.blob`), "none", { mode: 0o600 });
	return run;
}

interface Place {
	readonly state: string;
	readonly outside: string;
	readonly run: string;
	/** Where this user's secret lies. */
	readonly secrets: string;
}

/** Each looks at a state or works in it, and ends. */
const doings: Readonly<Record<string, (place: Place) => Promise<unknown>>> = {
	trust: async ({ state, secrets }) => {
		await stateOrigin(state, secrets);
		await trustState(state, secrets);
	},
	log: ({ state }) =>
		using(opened(state, { readOnly: true }), async ({ timeline }) => [timeline.checkpoints(), await timeline.labels()]),
	verify: async ({ state }) => verifyLog(logOf(state)),
	repair: async ({ state }) => proposeRepair(logOf(state)),
	"script verify": ({ state, run }) => using(opened(state, { readOnly: true }), ({ scripts }) => scripts.verify(run)),
	resume: ({ state, run }) =>
		using(opened(state), async (runtime) => {
			runtime.resume();
			await runtime.idle();
			await (await runtime.scripts.resume(run)).end;
		}),
	run: ({ state }) =>
		using(opened(state), async (runtime) => {
			await runtime.prompt("plan it");
			await runtime.idle();
		}),
	gc: ({ state }) => using(opened(state), (runtime) => runtime.gc({ keepDays: 0, keepCheckpoints: 1 })),
	"repair --apply": async ({ state }) => applyRepair(logOf(state), { acceptLoss: "none" }),
};

/** As the command line comes to it. */
function logOf(state: string): string {
	assertOwnDirectory(state);
	return join(state, "state");
}

async function using(opening: Promise<Runtime>, use: (runtime: Runtime) => Promise<unknown>): Promise<void> {
	const runtime = await opening;
	try {
		await use(runtime);
	} finally {
		await runtime.close();
	}
}

/** Puts something in the place of what is at `path`; `outside` is there, and empty. */
type Plant = (path: string, outside: string) => void;

const inPlace =
	(make: Plant): Plant =>
	(path, outside) => {
		renameSync(path, join(outside, "victim"));
		make(path, outside);
	};

const toLink = inPlace((path, outside) => symlinkSync(join(outside, "victim"), path));
const toPipe = inPlace((path) => execFileSync("mkfifo", ["-m", "600", path]));
const toDevice = inPlace((path) => execFileSync("mknod", [path, "c", "1", "5"]));
const toNobody: Plant = (path) => chownSync(path, NOBODY, NOBODY);
const toLinkToDirectory = inPlace((path, outside) => {
	mkdirSync(join(outside, "directory"));
	writeFileSync(join(outside, "directory/victim"), "somebody else's");
	symlinkSync(join(outside, "directory"), path);
});

const plantedFiles: Readonly<Record<string, Plant>> = {
	"a link to a file": toLink,
	"a link to nothing": inPlace((path, outside) => symlinkSync(join(outside, "nothing"), path)),
	"a link to a directory": toLinkToDirectory,
	"a pipe": toPipe,
	"a device": toDevice,
	"a link to a device": inPlace((path) => symlinkSync("/dev/zero", path)),
	"a hard link": (path, outside) => linkSync(path, join(outside, "victim")),
	"another user's": toNobody,
};

const plantedDirectories: Readonly<Record<string, Plant>> = {
	"a link to a directory": toLink,
	"a link to a file": inPlace((path, outside) => {
		writeFileSync(join(outside, "file"), "somebody else's");
		symlinkSync(join(outside, "file"), path);
	}),
	"a pipe": toPipe,
	"a device": toDevice,
	"another user's": toNobody,
	"writable by others": (path) => chmodSync(path, 0o707),
};

const NOBODY = 65534;

/** Why something cannot be planted here; undefined where it can. */
function hindrance(plant: Plant): string | undefined {
	if (plant !== toNobody && plant !== toDevice) return undefined;
	const directory = mkdtempSync(join(tmpdir(), "reyn-try-"));
	try {
		mkdirSync(join(directory, "outside"));
		writeFileSync(join(directory, "file"), "");
		plant(join(directory, "file"), join(directory, "outside"));
		return undefined;
	} catch (error) {
		return (error as Error).message.split("\n")[0];
	} finally {
		rmSync(directory, { recursive: true, force: true });
	}
}

/** One of each kind: names that differ only in their numbers and hashes are one. */
function placesOf(state: string): { readonly files: readonly string[]; readonly directories: readonly string[] } {
	const entries = readdirSync(state, { recursive: true, withFileTypes: true });
	const some = (paths: readonly string[]): readonly string[] => [
		...new Map(paths.map((path) => [path.replace(/[0-9a-f]{2,}|\d+/g, "0"), path])).values(),
	];
	const below = (wanted: boolean): readonly string[] =>
		some(
			entries
				.filter((entry) => entry.isDirectory() === wanted)
				.map(({ parentPath, name }) => join(parentPath, name).slice(state.length + 1))
				.sort(),
		);
	return { files: below(false), directories: ["", ...below(true)] };
}

/** All that is at a path or below it, links not followed: names, kinds, owners, bytes. */
function fingerprintOf(path: string): string {
	const found = lstatSync(path, { throwIfNoEntry: false });
	if (!found) return "nothing";
	const { mode, uid, ino } = found;
	const content = found.isDirectory()
		? readdirSync(path)
				.sort()
				.map((name) => name + fingerprintOf(join(path, name)))
				.join()
		: found.isFile()
			? hash("sha256", readFileSync(path))
			: "";
	return `${mode}:${uid}:${ino}:${content};`;
}

/** All is tried with a link and a pipe; with the rest, which one look tells from ours, what reads or writes most. */
function isTried(path: string, what: string, does: string): boolean {
	const isOfLog = path === "" || path === "state" || path.startsWith("state/wal");
	if (does === "trust" && !isOfLog) return path === "own" || path.startsWith("state/kept");
	if (!isOfLog && /verify$|^repair/.test(does) && does !== "script verify") return false;
	return /^a link to a (file|directory)$|^a pipe$/.test(what) || /verify$|^resume$|^gc$/.test(does);
}

const say = (line: Case | Skip): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const met = ["a link to a file", "a link to a directory", "a pipe"];

async function tryAll(): Promise<void> {
	// Nothing here has to outlive the machine, and a disk would make each case wait for it.
	const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "reyn-planted-"));
	process.on("exit", () => rmSync(root, { recursive: true, force: true }));
	const golden = join(root, "golden");
	const run = await makeState(golden);
	await claimState(golden, join(root, "secrets"));
	const { files, directories } = placesOf(golden);
	const all = [
		...Object.entries(plantedFiles).flatMap((plant) => files.map((path) => [...plant, path] as const)),
		...Object.entries(plantedDirectories).flatMap((plant) => directories.map((path) => [...plant, path] as const)),
	];
	const hindered = new Set<Plant>();
	for (const [what, plant] of [...Object.entries(plantedFiles), ...Object.entries(plantedDirectories)]) {
		const why = hindrance(plant);
		if (why === undefined) continue;
		hindered.add(plant);
		say({ skipped: what, why });
	}
	const paths = [...files, ...directories];
	for (const [what, plant, path] of all) {
		if (hindered.has(plant)) continue;
		// What is a link or a pipe is met by everything that is done.
		if (!isDeep && what !== met[(paths.indexOf(path) + SEED) % met.length]) continue;
		const home = mkdtempSync(join(root, "case-"));
		const place = { state: join(home, "state"), outside: join(home, "outside"), run, secrets: join(root, "secrets") };
		cpSync(golden, place.state, { recursive: true, preserveTimestamps: true });
		mkdirSync(place.outside);
		plant(join(place.state, path), place.outside);
		const before = fingerprintOf(place.outside);
		for (const [does, doing] of Object.entries(doings)) {
			if (!isTried(path, what, does)) continue;
			const { code, message, detail } = await doing(place).then(
				() => ({ code: "done", message: "", detail: undefined }),
				(error) => error as { code?: string; message: string; detail?: { path?: string } },
			);
			const about = detail?.path?.startsWith(place.state) ? detail.path.slice(place.state.length + 1) : undefined;
			say({
				path,
				what,
				does,
				outcome: code ?? "no code",
				message,
				about,
				untouched: fingerprintOf(place.outside) === before,
			});
		}
		rmSync(home, { recursive: true, force: true });
	}
}

if (process.argv[1] === import.meta.filename) await tryAll();
