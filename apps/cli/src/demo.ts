/** `reyn demo`: the whole story with real processes on a real directory. Every step is a command that one can type. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { offlineModel } from "@reyn/offline-model";
import { readHistory, reportState } from "@reyn/operator";
import { type MeterReading, openRuntime, type Runtime, rewindModes, stateOrigin } from "@reyn/runtime";
import { assertUsable, type Globals, rootOptionsOf } from "./context.ts";
import { placeToAsk } from "./demo-notes.ts";
import { chooseQuestions } from "./demo-questions.ts";
import { eventLines, messageText, restoredLines, type StreamLine } from "./event-lines.ts";
import { CliError } from "./exit-code.ts";
import { exitCodes } from "./exit-codes.ts";
import { coloured, type Line, out } from "./print.ts";
import { asTyped } from "./suggest.ts";
import { secretsDirectory } from "./trust.ts";

/** How slow the offline model answers here, in milliseconds a call: it would be done before anybody could kill it. */
const PACE_MS = 220;

export interface DemoOptions {
	readonly keep?: string;
	readonly crashAt?: number;
	readonly question?: string;
}

export async function demo(globals: Globals, options: DemoOptions): Promise<number> {
	const cwd = await placeToAsk(resolve(globals.cwd));
	await assertUsable(cwd);
	const state = options.keep === undefined ? await mkdtemp(join(tmpdir(), "reyn-demo-")) : resolve(options.keep);
	if ((await stateOrigin(state, secretsDirectory())) !== "new")
		throw new CliError(
			"CLI_REFUSED",
			`${state} has something in it already; --keep takes a new or an empty directory, so that nothing of yours is mixed with the demo`,
		);
	const questions = await chooseQuestions(cwd, options.question, rootOptionsOf(globals, state));
	const stage = new Stage(cwd, state, globals.allowUnsafePaths ? ["--allow-unsafe-paths"] : []);

	stage.say(["reyn demo on ", cwd]);
	if (cwd !== resolve(globals.cwd)) stage.say("(three notes of its own: there are no files here to ask about)");
	stage.say(
		`the state is kept in ${state}; the model is the offline one (no key, no network: it searches and quotes, so judge the runtime and not the prose), paced at ${PACE_MS} ms a call`,
	);

	const first = await askAndKill(stage, questions.first, options.crashAt);
	const second = await resume(stage, first);
	if (!second) return exitCodes.failed;
	const forked = await fork(stage, questions.second);
	const proven = await comeBack(stage, forked);
	await modes(stage);
	stage.title("What is left");
	if (process.env.npm_lifecycle_event !== undefined)
		stage.say("  (from a clone, write `npx -y pnpm@12.21.0 reyn` for `reyn`)");
	for (const command of [["chat"], ["ui"], ["log", "--graph"], ["show", String(forked.abandonedTip)]])
		stage.say(["  ", asTyped(["--cwd", cwd, "--state", state, ...command])]);
	return proven ? exitCodes.ok : exitCodes.failed;
}

const noReading: MeterReading = {
	replayed: { calls: 0, tokens: 0 },
	paid: { calls: 0, tokens: 0, cost: { usd: "0", unknown: 0 } },
	percentFree: 0,
};

interface Killed {
	readonly pid: number;
	readonly plan: string;
	/** The requests that it had sent. */
	readonly calls: readonly string[];
	/** How many answers are in the log. */
	readonly onDisk: { readonly turn: number; readonly finished: number; readonly unfinished: number };
	/** The requests of finished steps: none of them may reach the model again. */
	readonly finishedRequests: ReadonlySet<string>;
}

async function askAndKill(stage: Stage, question: string, crashAt: number | undefined): Promise<Killed> {
	stage.title("1. A question, a plan, and a SIGKILL in the middle of a step");
	stage.command(["run", "-p", question]);
	const child = stage.start(["run", "-p", question, "--output-format", "stream-json"]);
	const size = { steps: 0, done: 0 };
	let killAfter = crashAt;
	let running = 0;
	let plan = "";
	await child.read((line) => {
		if (line.type === "plan_started") {
			plan = line.plan;
			size.steps = line.steps.length;
			killAfter = Math.min(killAfter ?? randomInt(1, line.steps.length), line.steps.length - 1);
		}
		if (line.type === "plan_step" && line.change.status === "running") running++;
		if (line.type === "plan_step" && (line.change.status === "completed" || line.change.status === "failed")) {
			running--;
			size.done++;
		}
		// In the middle of a step: one runs, and a part of its first call has gone by.
		if (plan !== "" && size.done >= (killAfter ?? 0) && running > 0)
			child.killIn(crashAt === undefined ? randomInt(20, PACE_MS) : PACE_MS / 2, () => running > 0);
	});
	if (!child.wasKilled)
		throw new Error(`the plan was over before the kill: ${size.done} of ${size.steps} steps had finished`);
	stage.say(
		coloured(
			"red",
			`killed: process ${child.pid}, SIGKILL, after ${size.done} of ${size.steps} steps, with ${running} under way`,
		),
	);

	return stage.read(async (runtime) => ({
		pid: child.pid,
		plan,
		calls: stage.callsOf(child.pid),
		...(await answersOnDisk(runtime, plan)),
	}));
}

async function resume(stage: Stage, killed: Killed): Promise<boolean> {
	stage.title("2. A new process restores, resumes and answers");
	stage.command(["resume"]);
	const child = stage.start(["resume", "--output-format", "stream-json"]);
	let meter: MeterReading | undefined;
	await child.read((line) => {
		if (line.type === "result") meter = line.meter;
	});
	const calls = stage.callsOf(child.pid);
	const again = calls.filter((request) => killed.finishedRequests.has(request)).length;
	const { replayed, paid, percentFree } = meter ?? noReading;
	const { turn, finished, unfinished } = killed.onDisk;
	const lost = killed.calls.length - turn - finished - unfinished;
	const resent = calls.filter((request) => killed.calls.includes(request)).length;
	stage.say("");
	stage.say(coloured("bold", "what died, what was free, what was paid"));
	stage.say(`  died      process ${killed.pid}; it had sent ${killed.calls.length} model calls`);
	stage.say(
		`              ${turn + finished + unfinished} answers were on disk (${turn} for the question, ${finished} of finished steps, ${unfinished} of unfinished ones)`,
	);
	stage.say(`              ${lost} were under way: their answers are lost`);
	stage.say(
		`  free      ${replayed.calls} calls of the plan, ${replayed.tokens} tokens, were recalled from disk: ${percentFree} % of what the plan cost in all`,
	);
	stage.say(
		`  paid      process ${child.pid} sent ${calls.length} calls, ${paid.tokens} tokens: ${resent} that were lost, and ${calls.length - resent} that were never sent before`,
	);
	stage.say(`  proof     counted at the model: finished steps made ${again} model calls in process ${child.pid}`);
	return again === 0 && calls.length === paid.calls;
}

interface Forked {
	readonly abandonedTip: number;
	readonly hash: string;
}

async function fork(stage: Stage, question: string): Promise<Forked> {
	stage.title("3. The history as a tree; a rewind, another question: a fork");
	await stage.run(["log", "--graph"]);
	const { tip, target, hash } = await stage.read(async (runtime) => {
		const { entries } = await readHistory(runtime);
		const checkpoints = entries.filter(({ type, active }) => type === "checkpoint" && active);
		const earlier = checkpoints.find(({ title }) => title.startsWith("turn")) ?? checkpoints.at(-1);
		return {
			tip: runtime.wal.tip,
			target: earlier?.seq ?? 0,
			hash: (await reportState(runtime, runtime.wal.tip)).hash,
		};
	});
	stage.say(`state at #${tip}, before we leave it: ${hash}`);
	await stage.run(["rewind", String(target), "--yes"]);
	await stage.run(["run", "-p", question]);
	await stage.run(["log", "--graph"]);
	return { abandonedTip: tip, hash };
}

async function comeBack(stage: Stage, { abandonedTip, hash }: Forked): Promise<boolean> {
	stage.title("4. Back to the abandoned branch: the state is what it was");
	await stage.run(["checkout", String(abandonedTip), "--yes"]);
	const now = await stage.read(async (runtime) => {
		const last = runtime.timeline.lineage.resets.at(-1);
		return (await reportState(runtime, last?.seq ?? 0)).hash;
	});
	stage.say(`  state at #${abandonedTip}: ${hash} when we left it`);
	const verdict = now === hash ? coloured("green", "equal") : coloured("red", "NOT EQUAL");
	stage.say([`  state now:     ${now}   `, verdict]);
	return now === hash;
}

async function modes(stage: Stage): Promise<void> {
	stage.title("5. Five ways to rewind, previewed; one applied");
	const target = await stage.read(
		async (runtime) =>
			runtime.timeline
				.checkpoints()
				.filter(({ active }) => active)
				.at(-3)?.seq ?? 0,
	);
	for (const mode of rewindModes) {
		const preview = await stage.read((runtime) => runtime.previewRewind(target, mode));
		const { affected, dropped } = preview;
		// Nothing of a demo was taken away.
		if (!affected || !dropped) throw new Error("a demo has all its records");
		stage.say(
			`  ${mode.padEnd(18)} ${affected.all} records beyond #${target}: drops ${dropped.conversation} of conversation, ${dropped.code} of agent state, ${dropped.other} other`,
		);
	}
	await stage.run(["rewind", String(target), "--mode", "summarize", "--yes"]);
}

/** The model's answers that the log has, by what they were for. */
async function answersOnDisk(runtime: Runtime, plan: string): Promise<Pick<Killed, "onDisk" | "finishedRequests">> {
	const over = new Set<string>();
	const answers: { lane: string; fp: string }[] = [];
	for await (const { kind, data } of runtime.wal.read()) {
		const record = data as { plan?: string; step?: string; lane?: string; fp?: string; kind?: string };
		if (kind === "plan_step_completed" && record.plan === plan) over.add(`plan/${plan}/${record.step}/`);
		if (kind === "step_completed" && record.kind === "model") answers.push(record as { lane: string; fp: string });
	}
	const ofTurn = answers.filter(({ lane }) => lane.startsWith("turn/"));
	const ofFinished = answers.filter(({ lane }) => [...over].some((step) => lane.startsWith(step)));
	return {
		onDisk: {
			turn: ofTurn.length,
			finished: ofFinished.length,
			unfinished: answers.length - ofTurn.length - ofFinished.length,
		},
		finishedRequests: new Set(ofFinished.map(({ fp }) => fp)),
	};
}

/** Where the story is told: starts the processes, shows what they say, and looks at what they left. */
class Stage {
	readonly #cwd: string;
	readonly #state: string;
	readonly #allowances: readonly string[];
	readonly #trace: string;

	constructor(cwd: string, state: string, allowances: readonly string[]) {
		this.#cwd = cwd;
		this.#state = state;
		this.#allowances = allowances;
		this.#trace = join(state, "model-calls.jsonl");
	}

	say(line: Line): void {
		out.line(line);
	}

	title(text: string): void {
		this.say("");
		this.say(coloured("bold", text));
	}

	command(args: readonly string[]): void {
		this.say(coloured("cyan", `$ ${asTyped(args)}`));
	}

	/** Runs a command as a person would, and shows what it prints. */
	async run(args: readonly string[]): Promise<void> {
		this.command(args);
		const child = this.#spawn(args, ["ignore", "inherit", "inherit"]);
		const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
		if (code !== 0) throw new Error(`${args[0]} ended with ${code}`);
	}

	start(args: readonly string[]): StreamingChild {
		return new StreamingChild(this.#spawn(args, ["ignore", "pipe", "inherit"]), (line) => this.say(line));
	}

	/** Reads the state beside whoever writes it. */
	async read<T>(read: (runtime: Runtime) => Promise<T>): Promise<T> {
		await using runtime = await openRuntime({ state: this.#state, model: offlineModel(), tools: [], readOnly: true });
		return await read(runtime);
	}

	/** The requests that reached the model from a process, as the model wrote them down. */
	callsOf(pid: number): readonly string[] {
		const lines = readFileSync(this.#trace, "utf8")
			.split("\n")
			.filter((line) => line !== "");
		return lines
			.map((line) => JSON.parse(line) as { pid: number; request: string })
			.filter((call) => call.pid === pid)
			.map(({ request }) => request);
	}

	#spawn(args: readonly string[], stdio: ["ignore", "pipe" | "inherit", "inherit"]): ChildProcess {
		const globals = ["--cwd", this.#cwd, "--state", this.#state, "--pace", String(PACE_MS), ...this.#allowances];
		return spawn(process.execPath, [...process.execArgv, process.argv[1] as string, ...globals, ...args], {
			stdio,
			env: { ...process.env, REYN_MODEL_TRACE: this.#trace },
		});
	}
}

/** A process that speaks `stream-json`, shown as a person would see it. */
class StreamingChild {
	readonly pid: number;
	wasKilled = false;
	readonly #child: ChildProcess;
	readonly #say: (line: string) => void;
	#timer: NodeJS.Timeout | undefined;

	constructor(child: ChildProcess, say: (line: string) => void) {
		this.#child = child;
		this.#say = say;
		this.pid = child.pid ?? 0;
	}

	/** Kills it if it is still time then: on a busy machine a step may be over sooner than the timer. */
	killIn(ms: number, isTime: () => boolean): void {
		this.#timer ??= setTimeout(() => {
			this.#timer = undefined;
			if (isTime()) this.wasKilled ||= this.#child.kill("SIGKILL");
		}, ms);
	}

	/** Resolves when the process has ended. */
	async read(on: (line: StreamLine) => void): Promise<void> {
		const closed = new Promise((resolve) => this.#child.on("close", resolve));
		for await (const text of createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })) {
			const line = parse(text);
			if (!line) continue;
			for (const shown of linesOf(line)) this.#say(`  ${shown}`);
			on(line);
		}
		await closed;
		clearTimeout(this.#timer);
	}
}

/** A killed process may leave half a line. */
function parse(text: string): StreamLine | undefined {
	try {
		return JSON.parse(text) as StreamLine;
	} catch {
		return undefined;
	}
}

function linesOf(line: StreamLine): readonly string[] {
	switch (line.type) {
		case "restored":
			return restoredLines(line.restored);
		case "message":
			return messageText(line.message).split("\n");
		case "result":
			return line.error ? [line.error.message] : [];
		case "init":
		case "text":
			return [];
		default:
			return eventLines(line);
	}
}
