/** The commands of a chat: the verbs of `@reyn/operator`, and a few of its own. All that they ask of the runtime is asked here. */

import { extname, resolve } from "node:path";
import {
	carryOut,
	type Desk,
	givenFor,
	type History,
	outcomeText,
	type ReadVerb,
	scopeText,
	scriptEndLines,
	scriptResultText,
	type Verb,
	verbs,
	type WorkVerb,
} from "@reyn/operator";
import { oneLine } from "@reyn/operator/text";
import {
	type ConversationItem,
	layoutOf,
	permissionModes,
	type Runtime,
	type ScriptEvent,
	type SessionScope,
	type StateDiff,
} from "@reyn/runtime";
import { type FilesAlong, filesAlongOf, permissionsOf, withFilesAlong } from "../config/options.ts";
import { configured, type Globals, modelOf, readsOf, told } from "../context.ts";
import { meterLine } from "../event-lines.ts";
import { CliError } from "../exit-code.ts";
import { writeNew } from "../new-file.ts";
import { type Line, terminal } from "../print.ts";
import { readSlash, type Slashed, slashVerbs, usage } from "../slash.ts";
import { reyn, slash } from "../suggest.ts";
import { readTyped } from "../typed.ts";
import { hasFiles, NOT_TOUCHED, questionOn } from "./asking.ts";
import { type PlanCard, planLines, recordedPlan } from "./cards.ts";
import { changeLines, inColour } from "./changes.ts";
import type { Offered } from "./completion.ts";
import type { Face } from "./face.ts";
import { momentsOf, treeOf } from "./moments.ts";
import { tokensOf, tokensSaid } from "./window.ts";

/** What a command has. */
export interface At {
	readonly runtime: Runtime;
	readonly face: Face;
	readonly globals: Globals;
	/** The state directory. */
	readonly state: string;
	/** The plans that were told of since the start. */
	plans(): readonly PlanCard[];
	/** The plans that a command has paused or amended, until the event of that has come. */
	readonly changed: Set<string>;
	/** The session that one talks in. */
	readonly scope: SessionScope;
}

interface OwnCommand extends Offered {
	/** May words stand behind its name? Else they make it a verb: `/rewind 12`. */
	readonly takesWords?: true;
	run(at: At, words: string): Promise<void> | void;
}

const own: readonly OwnCommand[] = [
	{ name: "rewind", summary: "choose a moment to go back to; Esc Esc too", run: rewind },
	{ name: "tree", summary: "the history as a tree, with all its lines: choose a moment to check out", run: tree },
	{ name: "edit", summary: "go back to before what you asked last, and ask it otherwise; Ctrl-T too", run: editLast },
	{ name: "plan", summary: "the plans that are in flight, with their steps", run: plans },
	{
		name: "meter",
		summary: "model calls: replayed free, and paid",
		run: ({ runtime, face }) => face.say([meterLine(runtime.meter)]),
	},
	{ name: "mode", summary: "what tools do without a question; /mode edits changes it", takesWords: true, run: mode },
	{ name: "context", summary: "what the model is told before the conversation, and how long it all is", run: context },
	{
		name: "export",
		summary: "write what was said into a new file: .md, .html, .jsonl or text",
		takesWords: true,
		run: exportTalk,
	},
	{ name: "ui", summary: "a page of this chat, for one browser of this machine; it ends with the chat", run: openUi },
	{ name: "help", summary: "what there is", run: ({ face }) => face.say(helpLines()) },
	// Whoever asks leaves before it is run.
	{ name: "exit", summary: "leave; what is unfinished is kept", run: () => {} },
];

/** Behind a slash one asks without a command. */
const ofVerbs = slashVerbs.filter(({ name }) => name !== "ask");

/** What Tab offers. */
export const commands: readonly Offered[] = [
	...own,
	...ofVerbs.filter(({ name }) => own.every((each) => each.name !== name)),
];

async function openUi({ globals, face }: At): Promise<void> {
	const { beginPage } = await import("./page.ts");
	face.say([await beginPage(globals), "for one browser, within a minute; /ui gives another address"]);
}

/** Shows it, or changes it until the chat ends. */
async function mode({ runtime, face, globals }: At, words: string): Promise<void> {
	const permissions = verbs.find(({ name }) => name === "permissions") as ReadVerb;
	const saying = async () => permissions.lines(await permissions.read(runtime, {}), slash, {}).slice(0, 1);
	if (words === "")
		return face.say([...(await saying()), `changed until you leave by: /mode ${permissionModes.join("|")}`]);
	const next = permissionModes.find((each) => each === words);
	if (!next) throw new CliError("CLI_USAGE", `/mode takes one of ${permissionModes.join(", ")}; found "${words}"`);
	const begun = permissionsOf((await configured(globals)).config, globals.mode).mode;
	if (begun === "read-only" && next !== begun)
		throw new CliError(
			"CLI_REFUSED",
			`this chat was begun in read-only, without the tools that change something; leave, and begin with: ${reyn`chat --mode ${next}`}`,
		);
	runtime.changePermissionMode(next);
	const asked = runtime.questions().filter(({ choices }) => choices?.includes("once"));
	const then = next === "read-only" ? "is denied, however it is answered" : "waits for its answer";
	face.say([...(await saying()), ...asked.map(({ seq }) => `#${seq}, asked before, ${then}`)]);
}

function helpLines(): readonly string[] {
	const rows = ofVerbs.map((verb) => [usage(verb), verb.summary] as const);
	const others = commands.filter(({ name }) => ofVerbs.every((verb) => verb.name !== name));
	return [
		...[...rows, ...others.map(({ name, summary }) => [`/${name}`, summary] as const)].map(
			([typed, what]) => `${typed.padEnd(32)} ${what}`,
		),
		"A ref is a seq (142), @ for the tip, @-3 for checkpoints back, a branch (b7) or a label. Files in your workspace stay, unless you say --files.",
		"On a screen: Enter sends, \\ and Enter begins a new line; Tab completes /commands and @files; Ctrl-R searches what was sent;",
		"Esc stops the answer, Esc Esc goes back in time, Ctrl-T asks the last thing otherwise; Ctrl-C clears, stops, and leaves when pressed twice; Ctrl-_ takes back what was typed.",
	];
}

/** @throws CliError `CLI_USAGE` for a command that there is not; and what it throws */
export async function runCommand(text: string, at: At): Promise<void> {
	const [, typed, words = ""] = /^\/(\S+)\s*(.*)$/s.exec(text) ?? [];
	const command = own.find(({ name }) => name === typed);
	return command && (words === "" || command.takesWords) ? command.run(at, words) : carry(text, at);
}

async function carry(line: string, at: At): Promise<void> {
	const { runtime, face, scope } = at;
	const { verb, raw: said, dryRun, yes } = readSlash(line);
	const typed = await readTyped(verb, said);
	const raw = verb.params.session ? { session: scopeText(scope), ...typed } : typed;
	if (verb.access === "work") {
		if (dryRun) return preview(verb, raw, at);
		const given = givenFor(verb, raw);
		// Whoever talks may ask whether anything is unfinished: that nothing is, is an answer.
		if (verb.name !== "resume") await verb.check?.(runtime, given, slash);
		return face.say(verb.lines(await verb.begin(runtime, given), slash));
	}
	const config = verb.params.files && (await configured(at.globals)).config;
	for (let next = config ? withFilesAlong(verb, raw, config) : raw; ; ) {
		const desk = new ChatDesk(at, verb, yes, next, config ? filesAlongOf(config) : "never");
		const { document, lines } = await carryOut(verb, next, desk, { dryRun });
		if (desk.other === undefined) {
			face.say(verb.name === "diff" && raw.stat !== true ? await drawnDiff(verb as ReadVerb, raw, document) : lines);
			if (desk.question !== undefined && face.isAnswered) face.fill(desk.question);
			return;
		}
		next = { ...next, ...desk.other };
	}
}

/** @throws CliError `CLI_USAGE` where there is none */
async function preview({ name, preview }: WorkVerb, raw: Slashed["raw"], { runtime, face }: At): Promise<void> {
	if (!preview) throw new CliError("CLI_USAGE", `/${name} has no --dry-run`);
	const given = givenFor(preview, raw);
	face.say(preview.lines(await preview.read(runtime, given), slash, given));
}

async function drawnDiff(diff: ReadVerb, raw: Slashed["raw"], found: unknown): Promise<readonly Line[]> {
	const given = givenFor(diff, raw);
	const linesOf = (of: object) => diff.lines({ ...(found as StateDiff), ...of }, slash, given);
	const [drawn, files] = [
		await changeLines(found as StateDiff, ({ projections }) => linesOf({ projections, files: [], uncovered: [] })),
		linesOf({ projections: {} }).slice(2).map(inColour),
	];
	return [...drawn, ...files];
}

type ScriptEnded = Extract<ScriptEvent, { type: "ended" }>;

/** What a script has given, or why it has ended and how it goes on, whoever began it. Never rejects. */
export async function sayEnd(
	{ runtime, face }: Pick<At, "runtime" | "face">,
	run: string,
	end: ScriptEnded,
): Promise<void> {
	try {
		const [why, ...more] = scriptEndLines(run, end, slash);
		const result = end.status === "completed" ? await runtime.scripts.result(run) : undefined;
		const given = result === undefined ? [] : scriptResultText(result).split("\n");
		face.say([`script run ${run} ${why ?? end.status}`, ...more, ...given]);
	} catch (error) {
		face.say([`script run ${run} ${end.status}: ${(error as Error).message}`]);
	}
}

/** A verb as a chat carries it out: what would happen is shown, and the answer that comes of itself is no. */
class ChatDesk implements Desk {
	readonly say = slash;
	/** A row of a screen has one less, since its last cell stays free. */
	readonly columns = terminal.columns - 1;
	/** Somebody wants to see what it would do otherwise: in another mode, with the files or without. */
	other: Readonly<Record<string, unknown>> | undefined;
	/** What was asked first of all that was left behind: one may want to ask it otherwise. */
	question: string | undefined;
	readonly #at: At;
	readonly #verb: Verb;
	readonly #yes: boolean;
	readonly #given: Slashed["raw"];
	readonly #files: FilesAlong;

	constructor(at: At, verb: Verb, yes: boolean, given: Slashed["raw"], files: FilesAlong) {
		this.#at = at;
		this.#verb = verb;
		this.#yes = yes;
		this.#given = given;
		this.#files = files;
	}

	reading: Desk["reading"] = (use) => use(this.#at.runtime);

	examining: Desk["examining"] = (use) => use(layoutOf(this.#at.state).wal);

	acting: Desk["acting"] = async (verb, seen) => {
		const { runtime, changed } = this.#at;
		this.question = firstPrompt(this.#at, seen);
		const { plan } = seen as { readonly plan?: string };
		const own = verb.name === "plan pause" || verb.name === "plan amend" ? plan : undefined;
		if (own === undefined) return verb.act(runtime, seen, "user");
		changed.add(own);
		return verb.act(runtime, seen, "user").catch((error) => {
			changed.delete(own);
			throw error;
		});
	};

	async confirm(question: string, shown: readonly string[], seen: object): Promise<boolean> {
		const { face } = this.#at;
		if (this.#yes || !face.isAnswered) face.say(shown);
		if (this.#yes) return true;
		if (!face.isAnswered)
			throw new CliError("CLI_REFUSED", "nothing was changed: this is not a terminal, so add --yes to go ahead");
		const modes = this.#verb.params.mode?.choices?.filter((mode) => mode !== "cancel") ?? [];
		const mode = modes.length === 0 ? undefined : String(this.#given.mode ?? modes[0]);
		const asked = { verb: this.#verb, question, lines: shown, seen };
		const answer = await face.ask(questionOn(asked, mode, this.#files));
		if (answer === "other" && mode !== undefined)
			this.other = { mode: modes[(modes.indexOf(mode) + 1) % modes.length] };
		if (answer === "files") this.other = { files: !hasFiles(seen), theirs: false };
		return answer === 1;
	}
}

/** Where talk is left behind, what was asked first of it. */
function firstPrompt({ runtime, scope }: At, seen: object): string | undefined {
	const { preview } = seen as { preview?: { target: number; mode?: string } };
	if (preview?.mode !== "both" && preview?.mode !== "conversation_only") return undefined;
	const { target } = preview;
	const isLeft = (item: ConversationItem): boolean => item.type === "prompt" && item.seq > target;
	const item = runtime.conversation(scope).items.toArray().find(isLeft);
	return item?.type === "prompt" ? item.text : undefined;
}

/** Somebody chooses one of the line that leads here, the newest first; where nobody can, the newest are said. */
async function rewind(at: At): Promise<void> {
	const { runtime, face } = at;
	const active = runtime.timeline.checkpoints().filter((checkpoint) => checkpoint.active);
	if (!face.isAnswered)
		return face.say([
			...active.slice(-10).map(({ seq, kind, title }) => `#${seq}  ${kind}  ${oneLine(title, 70)}`),
			"now: /rewind <seq> [mode]",
		]);
	const names = new Map((await runtime.timeline.labels()).map(({ seq, name }) => [seq, name]));
	const { list, seqOf } = momentsOf(active, names, Date.now());
	const isAlong = filesAlongOf((await configured(at.globals)).config) === "always";
	const note = isAlong ? "Files that tools have changed go back too, unless you say otherwise." : NOT_TOUCHED;
	const chosen = await face.pick({ title: "Go back to", none: "(now)", note, ...list });
	if (chosen === undefined) return face.say(["nothing was changed"]);
	return carry(slash`rewind ${String(seqOf(chosen))}`, at);
}

/** Somebody chooses one of all lines, the abandoned ones too; where nobody can, the tree is said. */
async function tree(at: At): Promise<void> {
	const { runtime, face } = at;
	if (!face.isAnswered) return carry("/tree", at);
	const log = verbs.find(({ name }) => name === "log") as ReadVerb;
	const given = givenFor(log, { graph: true });
	const history = (await log.read(runtime, given)) as History;
	const { list, seqOf } = treeOf(history, log.lines(history, slash, given));
	const chosen = await face.pick({ title: "Check out", none: "(now)", note: NOT_TOUCHED, ...list });
	if (chosen === undefined) return face.say(["nothing was changed"]);
	return carry(slash`checkout ${String(seqOf(chosen))}`, at);
}

/** Back to just before what was asked last: it is in the line then. */
async function editLast(at: At): Promise<void> {
	const { runtime, scope } = at;
	const last = runtime
		.conversation(scope)
		.items.toArray()
		.findLast(({ type }) => type === "prompt");
	if (!last) throw new CliError("CLI_NOT_FOUND", "nothing was asked here yet");
	return carry(slash`rewind ${String(last.seq - 1)}`, at);
}

async function context({ runtime, face, globals, scope }: At): Promise<void> {
	const { own, directory } = await told(globals);
	const row = (name: string, what: string): string => `${name.padEnd(13)} ${what}`;
	const text = (name: string, system: string): string =>
		row(name, `${system.length} characters, about ${tokensOf({ system })} tokens`);
	const [model, reads] = [await modelOf(globals), await readsOf(globals)];
	const { items } = runtime.conversation(scope);
	face.say([
		row("model", model),
		row("reads", readsText(model, reads)),
		text("instructions", own),
		...(directory === undefined ? [] : [theirs(directory)]),
		row("conversation", `${items.length} entries, about ${tokensSaid(runtime, scope)} tokens as it is shown now`),
		"The descriptions of the tools come on top. Each request has all of it.",
	]);

	function theirs(of: NonNullable<typeof directory>): string {
		return "unread" in of ? row("", `without those of this directory: ${of.unread}`) : text(of.name, of.text);
	}
}

function readsText(model: string, most: number | undefined): string {
	if (most !== undefined) return `at most ${most} tokens at once; what is more is told in short`;
	return model === "offline" ? "all of it" : "unknown how much at once; model_settings.max_input_tokens says it";
}

async function exportTalk({ runtime, face, scope }: At, file: string): Promise<void> {
	const path = resolve(file === "" ? `${scope.session}-${runtime.wal.tip}.md` : file);
	const ending = extname(path).slice(1);
	const transcript = verbs.find(({ name }) => name === "transcript") as ReadVerb;
	const given = givenFor(transcript, {
		session: scopeText(scope),
		format: ["md", "html", "jsonl"].includes(ending) ? ending : "text",
	});
	const said = await transcript.read(runtime, given);
	await writeNew(path, `${transcript.lines(said, slash, given).join("\n")}\n`, {
		taken: "give another name: /export <file>",
		impossible: "give the path of a file: /export <file>",
	});
	face.say([`what was said is in ${path}`]);
}

async function plans({ runtime, face, plans }: At): Promise<void> {
	const cards = await recordedPlans(runtime, plans());
	const lines = runtime.restored().plans.flatMap(({ plan, status, why, finished, size, goal }) => {
		const card = cards.find((each) => each.plan === plan);
		const head = `${plan}  ${outcomeText({ status, why })}  ${finished}/${size}  ${oneLine(goal, 70)}`;
		return [head, ...(card ? planLines(card).slice(1) : [])];
	});
	face.say(lines.length > 0 ? lines : ["no plan is in flight"]);
}

/** Those that are in flight; one that ends meanwhile is left out. */
export async function recordedPlans(runtime: Runtime, told: readonly PlanCard[]): Promise<readonly PlanCard[]> {
	const cards: PlanCard[] = [];
	for (const plan of runtime.restored().plans) {
		const steps = await runtime.planSteps(plan.plan).catch(() => []);
		const known = told.find((each) => each.plan === plan.plan);
		if (steps.length > 0) cards.push(recordedPlan(plan, steps, known));
	}
	return cards;
}
