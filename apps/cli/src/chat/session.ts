/** `reyn chat`: what is sent goes to the runtime, what the runtime tells is shown, on a screen or as lines. */
import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { scopeText } from "@reyn/operator";
import { clean } from "@reyn/operator/text";
import {
	mainSession,
	type Runtime,
	type RuntimeEvent,
	redactSecrets,
	type SessionScope,
	type SpentOnWork,
} from "@reyn/runtime";
import { within } from "@reyn/wal";
import { namedIn, readAttached } from "../attached.ts";
import {
	assertGoesOn,
	assertModels,
	assertReady,
	type Globals,
	hintOf,
	modelOf,
	openForWork,
	readsOf,
	stateOf,
	told as toldHere,
} from "../context.ts";
import { costTogether } from "../cost.ts";
import { isPaused, restoredLines } from "../event-lines.ts";
import { CliError, exitCodeOf } from "../exit-code.ts";
import { bySignal, exitCodes } from "../exit-codes.ts";
import { out, terminal } from "../print.ts";
import { untilStopped } from "../stop.ts";
import { reyn, slash } from "../suggest.ts";
import { secretsDirectory } from "../trust.ts";
import { type PlanCard, startLines, toldPlans, waitingLines } from "./cards.ts";
import { commands, recordedPlans, runCommand, sayEnd } from "./commands.ts";
import type { Face } from "./face.ts";
import { SentBefore } from "./history.ts";
import { Plain } from "./plain.ts";
import { askInChat } from "./question-card.ts";
import type { Status } from "./state.ts";
import { contextOf } from "./window.ts";

export interface ChatOptions {
	/** Go on with what was in flight. */
	readonly restore: boolean;
	/** Whole lines on a terminal too. */
	readonly plain?: boolean;
	readonly version: string;
	/** Where one talks: in a session of this name, which may be new. Default: the main one. */
	readonly session?: SessionScope;
	/** In one that there is. */
	readonly resume?: SessionScope;
	/** In the one that was talked in last. */
	readonly continue?: boolean;
}

export async function chat(globals: Globals, options: ChatOptions): Promise<number> {
	const { restore, plain = false, version } = options;
	// Before a key is read: what is typed ahead is no answer to this.
	await assertModels(globals);
	await assertReady(globals);
	// What is sent may come before the runtime is open; none of it is lost.
	const sent = new SentBefore(join(secretsDirectory(), "history.jsonl"), redactSecrets(process.env));
	const face = await faceOf(globals, plain, sent);
	let scope: SessionScope = options.session ?? options.resume ?? mainSession;
	let plans: readonly PlanCard[] = [];
	/** The plans that are changed from here: what came of that is said by the command. */
	const changed = new Set<string>();
	/** How scripts have ended, said. */
	let told: Promise<unknown> = Promise.resolve();
	/** What ends with the chat is said at the next start. */
	let isLeft = false;
	const runtime = await openForWork(globals, {
		onEvent(event: RuntimeEvent) {
			plans = toldPlans(plans, event);
			const isSaid =
				event.type === "plan_amended" || (event.type === "plan_end" && isPaused(event))
					? changed.delete(event.plan)
					: false;
			if (!isSaid && !isTalkOfOther(event, scope)) face.show(event);
			if (event.type !== "script" || event.event.type !== "ended" || isLeft) return;
			const { run, event: end } = event;
			told = Promise.all([told, sayEnd({ runtime, face }, run, end)]);
		},
		onMessage: (message) => face.message(message),
		// What comes line by line is carried out in turn: a question would hold it up for ever.
		...(face.isInTurn ? { unanswered: "deny" } : { unanswered: "wait", ask: (question) => askInChat(face, question) }),
		onActed: (verb, actor) => face.say([`${actor}, in another process: ${verb}`]),
	}).catch((error) => {
		face.close();
		throw error;
	});
	try {
		await assertGoesOn(runtime, globals);
		scope = sessionFor(runtime, options);
	} catch (error) {
		face.close();
		await runtime.close();
		throw error;
	}
	let failed: number = exitCodes.ok;
	const stopped = await untilStopped(runtime, async (signal) => {
		signal.addEventListener("abort", () => face.close());
		try {
			await begin(runtime, face, () => plans, { globals, restore, version, scope });
			const at = { runtime, face, globals, state: stateOf(globals), plans: () => plans, changed, scope };
			for await (const input of face.inputs) {
				const text = input.text.trim();
				// What was typed ahead of a stop is not carried out after it.
				if (signal.aborted || (input.isCommand && text === "/exit")) break;
				const prompt = async () => {
					const files = await Promise.all(namedIn(text).map((path) => readAttached(path, globals.cwd)));
					return runtime.prompt(text, scope, files);
				};
				const done = text === "" ? undefined : input.isCommand ? runCommand(text, at) : prompt();
				await Promise.resolve(done).catch((error: Error) => {
					// Cut by the stop, and that is said at the end.
					if (signal.aborted) return;
					face.fail(error, input);
					if (failed === exitCodes.ok) failed = exitCodeOf(error);
				});
				if (face.isInTurn) {
					await runtime.idle();
					await told;
				}
				face.ready();
			}
		} finally {
			isLeft = true;
			face.close();
		}
	});
	const { plans: ofPlans, runs, turns } = runtime.restored();
	const isUnfinished = ofPlans.length + runs.length + turns.length > 0;
	await sent.written();
	const again = stopped?.wasFull ? ", and what found no space is done again" : "";
	if (isUnfinished || stopped?.wasFull) out.line(`unfinished work is kept${again}; go on later with: ${chatIn(scope)}`);
	else if (stopped?.by === "SIGINT") out.line(`go on later with: ${chatIn(scope)}`);
	if (stopped) return bySignal[stopped.by];
	// On a screen it was seen; a script sees nothing else.
	return face.isAnswered ? exitCodes.ok : failed;
}

/** How one talks there again. */
function chatIn({ agent, session }: SessionScope): string {
	if (agent !== mainSession.agent) return reyn`chat -r ${`${agent}/${session}`}`;
	return session === mainSession.session ? reyn`chat` : reyn`chat -r ${session}`;
}

async function faceOf(globals: Globals, plain: boolean, sent: SentBefore): Promise<Face> {
	const isTyped = process.stdin.isTTY === true;
	const { TERM, REYN_SCREEN_READER, INK_SCREEN_READER } = process.env;
	const isHeard = [REYN_SCREEN_READER, INK_SCREEN_READER].some(
		(value) => value !== undefined && !/^(0|false)?$/.test(value),
	);
	if (!isTyped || !terminal.isTTY || plain || isHeard || TERM === "dumb") return new Plain(isTyped && terminal.isTTY);
	const { Live } = await import("./live.ts");
	return new Live(await sent.read(), {
		commands,
		sent,
		files: () => filesIn(globals.cwd),
	});
}

/** @throws CliError `CLI_NOT_FOUND` */
function sessionFor(runtime: Runtime, { session, resume, continue: isLast }: ChatOptions): SessionScope {
	const known = runtime.sessions();
	if (resume && !known.some((each) => scopeText(each) === scopeText(resume))) {
		const all = known.map(scopeText).join(", ");
		throw new CliError("CLI_NOT_FOUND", `there is no session ${scopeText(resume)}; there are ${all}`);
	}
	if (!isLast) return session ?? resume ?? mainSession;
	const newest = (scope: SessionScope): number => runtime.conversation(scope).items.toArray().at(-1)?.seq ?? 0;
	return known.reduce((last, each) => (newest(each) > newest(last) ? each : last), mainSession);
}

/** Is it said in a session that nobody looks at here? */
function isTalkOfOther(event: RuntimeEvent, { agent, session }: SessionScope): boolean {
	if (!talk.includes(event.type) || !("scope" in event)) return false;
	return event.scope.agent !== agent || event.scope.session !== session;
}

const talk: readonly RuntimeEvent["type"][] = [
	"text",
	"tool",
	"tool_failed",
	"turn_end",
	"compacting",
	"compacted",
	"prompt_redacted",
	"prompt_known",
];

interface Opened {
	readonly globals: Globals;
	readonly restore: boolean;
	readonly version: string;
	readonly scope: SessionScope;
}

async function begin(runtime: Runtime, face: Face, plans: () => readonly PlanCard[], opened: Opened): Promise<void> {
	const { globals, restore, version, scope } = opened;
	const restored = runtime.restored();
	const waiting = waitingLines(await recordedPlans(runtime, []), runtime.questions());
	const model = await modelOf(globals);
	const hint = await hintOf(globals);
	const found = [...restoredLines(restored, slash), ...waiting];
	// A session of a new name begins with the first prompt.
	const isThere = (): boolean => runtime.sessions().some((each) => scopeText(each) === scopeText(scope));
	const items = isThere() ? runtime.conversation(scope).items.toArray() : [];
	const prompts = items.filter((item) => item.type === "prompt");
	const asked = prompts.at(-1);
	const answered = items.findLast((item) => item.type === "reply" && item.seq > (asked?.seq ?? 0));
	const last = runtime.timeline.checkpoints().findLast(({ active }) => active);
	const lines = startLines({
		version,
		cwd: resolve(globals.cwd),
		home: homedir(),
		model: model === "offline" ? "offline model" : model,
		session: scope.session,
		tip: runtime.wal.tip,
		turns: prompts.length,
		last: last?.ts,
		now: Date.now(),
		exchange: asked && { asked: asked.text, answered: answered && "text" in answered ? answered.text : undefined },
		found,
		hint,
	});
	const goesOn = restored.turns.find((each) => restore && scopeText(each.scope) === scopeText(scope));
	const before = goesOn ? await runtime.spentOn(scope, `turn/${goesOn.turn}`) : NOTHING;
	const used = contextOf(runtime, await toldHere(globals), await readsOf(globals));
	const line = lineOf(runtime, scope);
	const kept = !restore && found.length > 0 ? ["--no-restore: it stays as it is until the next start"] : [];
	face.begin(
		{
			status: () => ({
				...statusOf(runtime, plans(), scope, before),
				...line(),
				model,
				...(isThere() && { context: used(scope) }),
			}),
			interrupt: async () => isThere() && runtime.interrupt(scope),
		},
		[...lines, ...kept],
		restore && restored.turns.length > 0,
	);
	if (restore) runtime.resume();
	face.ready();
}

const NOTHING: SpentOnWork = { tokens: 0, cost: { usd: "0", unknown: 0 } };

/** @param before what the turn that goes on had cost before this process */
function statusOf(
	runtime: Runtime,
	plans: readonly PlanCard[],
	{ session }: SessionScope,
	before: SpentOnWork,
): Status {
	const plan = plans.at(-1);
	const { permissionMode: mode = "ask", meter } = runtime;
	const { paid } = meter;
	return {
		session,
		tip: runtime.wal.tip,
		...(mode !== "ask" && { mode }),
		...(plan ? { plan: { done: plan.done, size: plan.steps.length } } : {}),
		tokens: before.tokens + paid.tokens,
		cost: costTogether(before.cost, paid.cost),
	};
}

/** The line of history that a session is on, where that is not the first one: it is looked for again behind a move alone. */
function lineOf({ timeline }: Runtime, scope: SessionScope): () => Pick<Status, "branch"> {
	let known: { readonly newest: number; readonly line: Pick<Status, "branch"> } = { newest: 0, line: {} };
	return () => {
		const { lineage } = timeline;
		if (known.newest !== lineage.newest) {
			const of = lineage.resets.findLast((reset) => within(scope, reset.scope) && reset.drop?.length !== 0);
			known = { newest: lineage.newest, line: of ? { branch: `b${of.seq}` } : {} };
		}
		return known.line;
	};
}

/** As many are offered. */
const MOST_FILES = 20_000;

/** What lies in a directory, without what is hidden or installed. */
async function filesIn(directory: string): Promise<readonly string[]> {
	const files: string[] = [];
	const rooms = [""];
	for (let room = rooms.shift(); room !== undefined && files.length < MOST_FILES; room = rooms.shift()) {
		for (const entry of await readdir(join(directory, room), { withFileTypes: true }).catch(() => [])) {
			if (entry.name.startsWith(".") || entry.name === "node_modules" || clean(entry.name) !== entry.name) continue;
			const path = room === "" ? entry.name : `${room}/${entry.name}`;
			if (entry.isDirectory()) rooms.push(path);
			else if (entry.isFile()) files.push(path);
		}
	}
	return files;
}
