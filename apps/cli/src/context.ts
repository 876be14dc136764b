/** What every command starts from: where to work, where the state is, how to speak. */
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Model } from "@reyn/journal";
import { tracedModel } from "@reyn/offline-model";
import { type Moment, type ServeOptions, serveVerbs } from "@reyn/operator";
import {
	besideState,
	engineStore,
	fileStore,
	isUnreadable,
	layoutOf,
	mainSession,
	openRuntime,
	type PermissionMode,
	type Runtime,
	type RuntimeOptions,
	redactSecrets,
	stateOrigin,
	withoutSecrets,
} from "@reyn/runtime";
import type { SkillResume } from "@reyn/skill-resume";
import { createFileTools, createWorkFiles, type RootOptions } from "@reyn/tools";
import { createFetchTool } from "@reyn/tools/fetch";
import { createShellTool } from "@reyn/tools/shell";
import { codeOf, memoryEngine } from "@reyn/wal";
import { assertOwnDirectory } from "@reyn/wal/internal";
import {
	budgetOf,
	modelSettingsOf,
	permissionsOf,
	plansOf,
	pricesOf,
	runtimeOptionsOf,
	tasksAlongOf,
} from "./config/options.ts";
import type { Config } from "./config/schema.ts";
import { type Setting, type Settings, settingsOf } from "./config/settings.ts";
import { digestSkill } from "./digest-skill.ts";
import { printSpace } from "./event-lines.ts";
import { CliError } from "./exit-code.ts";
import { type Instructions, instructionsText, readInstructions } from "./instructions.ts";
import { assertModel, chosenModel, freeModels, isModel, modelName, OFFLINE, unchosen } from "./models.ts";
import { err } from "./print.ts";
import { skillPlaces, skillsHere } from "./skills/places.ts";
import { finishUnread } from "./stop.ts";
import { watchTimeSlices } from "./stuck-scripts.ts";
import { reyn } from "./suggest.ts";
import { tasksOf } from "./tasks.ts";
import { assertKnown, assertTrusted, secretsDirectory } from "./trust.ts";

export interface Globals {
	readonly cwd: string;
	readonly state?: string;
	readonly json?: boolean;
	readonly verbose?: boolean;
	readonly model?: string;
	/** What tools do without a question. */
	readonly mode?: PermissionMode | undefined;
	/** May models propose plans? */
	readonly plan?: "auto" | "never" | undefined;
	/** What becomes of steps of skills in doubt, in this process. */
	readonly policy?: SkillResume["default"] | undefined;
	/** A file with answers to what is asked. */
	readonly answers?: string | undefined;
	readonly pace: number;
	readonly allowNetwork?: boolean;
	readonly trust?: boolean;
	readonly allowUnsafePaths?: boolean;
}

/** The same for another process of this program. */
export const argsOf = ({
	cwd,
	state,
	model,
	pace,
	allowNetwork,
	trust,
	allowUnsafePaths,
}: Globals): readonly string[] => [
	...["--cwd", cwd, "--pace", String(pace)],
	...(state === undefined ? [] : ["--state", state]),
	...(model === undefined ? [] : ["--model", model]),
	...(allowNetwork ? ["--allow-network"] : []),
	...(trust ? ["--trust"] : []),
	...(allowUnsafePaths ? ["--allow-unsafe-paths"] : []),
];

/** One for the process, to be given to all that runs scripts. */
export const watchTimeSlice = watchTimeSlices();

/** The state directory: `.reyn` of the working directory, unless told otherwise. */
export function stateOf({ cwd, state }: Globals): string {
	return resolve(state ?? join(cwd, ".reyn"));
}

/** What was read of a directory: one command asks several times. */
let read: { readonly of: string; readonly settings: Promise<Settings> } | undefined;

/** What is configured for this command. @throws CliError `CLI_CONFIG` */
export function configured(globals: Globals): Promise<Settings> {
	const { cwd, model } = globals;
	const where = { cwd, model, state: stateOf(globals) };
	const of = JSON.stringify(where);
	if (read?.of !== of) {
		const settings = settingsOf(where, process.env);
		read = { of, settings };
		// Who asks for them hears why they cannot be read.
		settings.then(({ unknown }) => err.lines(unknown.map((each) => `reyn: ${each}`))).catch(() => {});
	}
	return read.settings;
}

/** The name of the model that answers. @throws CliError `CLI_CONFIG`, `CLI_USAGE` */
export const modelOf = async (globals: Globals): Promise<string> =>
	modelName((await configured(globals)).from.get("model"));

/** The models of the classes that a step of a plan may name, by class. @throws CliError `CLI_CONFIG`, `CLI_USAGE` */
async function classesOf(globals: Globals): Promise<Readonly<Record<string, string>>> {
	const { value = {}, source = "" } = (await configured(globals)).from.get("models") ?? {};
	const names = Object.entries(value as NonNullable<Config["models"]>);
	return Object.fromEntries(names.map(([of, name]) => [of, modelName({ value: name, source }, `models.${of}`)]));
}

/** Can the models be asked that work begins with? @throws CliError `CLI_CONFIG`, `CLI_USAGE`, `CLI_MODEL` */
export async function assertModels(globals: Globals): Promise<void> {
	await assertModel(await modelOf(globals), process.env);
	for (const [of, name] of Object.entries(await classesOf(globals))) {
		try {
			await assertModel(name, process.env);
		} catch (error) {
			throw new CliError("CLI_MODEL", `models.${of}: ${(error as Error).message}, or leave it out of models`);
		}
	}
}

/** Who answers, and how to choose another, where nobody has chosen. @throws CliError `CLI_CONFIG` */
export const hintOf = async (globals: Globals): Promise<string | undefined> =>
	unchosen((await configured(globals)).from.get("model"), process.env);

/** How many tokens that model reads at once; undefined: unknown. @throws CliError `CLI_CONFIG`, `CLI_USAGE` */
export async function readsOf(globals: Globals): Promise<number | undefined> {
	const { config } = await configured(globals);
	return chosenModel(await modelOf(globals), process.env, globals.pace, modelSettingsOf(config)).maxInputTokens;
}

/** What is closed to the file tools, and what they may do where the system cannot keep them inside their directory. */
export const rootOptionsOf = ({ allowUnsafePaths = false }: Globals, state: string) => ({
	closed: [state, ...besideState(state), secretsDirectory()],
	allowUnsafePaths,
});

/** Opens the state to look at it: no lock, nothing written, nothing run. */
export async function openForReading(globals: Globals, more: Pick<RuntimeOptions, "readOnly"> = {}): Promise<Runtime> {
	try {
		const { state = "", allowNetwork, ...rest } = await options(globals);
		const withoutSnapshots = (await stateOrigin(state, secretsDirectory())) === "unknown";
		const store = fileStore(state, { allowNetwork, withoutSnapshots });
		return await openRuntime({ ...rest, store, readOnly: true, ...more });
	} catch (error) {
		throw asNoHistory(error, stateOf(globals));
	}
}

/** Where there is no log, that is what is said. */
function asNoHistory(error: unknown, state: string): unknown {
	const { code, detail } = error as { code?: unknown; detail?: { code?: unknown } };
	if (code !== "WAL_IO" || detail?.code !== "ENOENT") return error;
	return new CliError(
		"CLI_NOT_FOUND",
		`there is no history in ${state} yet; start with: ${reyn`run -p "…"`} or ${reyn`chat`}`,
	);
}

/**
 * Looks at the state, and closes it. What looks ahead runs scripts, so the state has to be trusted.
 *
 * @param orNone where there is no history, is it looked at as an empty one? Default: that is refused
 */
export async function reading<T>(
	globals: Globals,
	read: (runtime: Runtime) => Promise<T>,
	at?: Moment,
	orNone = false,
): Promise<T> {
	if (at) await assertOurs(globals);
	const opening = openForReading(globals, at && { readOnly: at });
	await using runtime = await (orNone ? opening.catch((error) => openEmpty(globals, error)) : opening);
	return await read(runtime);
}

/** A history in memory, for what lies beside one. @throws the error, where there is one that cannot be read */
async function openEmpty(globals: Globals, error: unknown): Promise<Runtime> {
	if (codeOf(error) !== "CLI_NOT_FOUND") throw error;
	const { state: _none, ...rest } = await options(globals);
	return openRuntime({ ...rest, store: engineStore(memoryEngine()) });
}

/**
 * Looks at the files of the log.
 *
 * @throws CliError `CLI_NOT_FOUND` when there is no log
 */
export async function examining<T>(globals: Globals, use: (log: string) => Promise<T>): Promise<T> {
	const state = stateOf(globals);
	try {
		assertOwnDirectory(state);
		return await use(layoutOf(state).wal);
	} catch (error) {
		throw asNoHistory(error, state);
	}
}

/** Opens the state to work in it. The directory has to be one that a question can be asked about. */
export async function openForWork(
	globals: Globals,
	{ onActed, ...more }: Pick<RuntimeOptions, "ask" | "unanswered" | "onEvent" | "onMessage"> & ServeOptions = {},
): Promise<Runtime> {
	await assertReady(globals);
	await askAboutSkills(globals);
	finishUnread();
	const runtime = await openRuntime({ ...(await options(globals)), onEvent: printSpace, ...more });
	await assertKnown(stateOf(globals));
	await serve(runtime, stateOf(globals), onActed ? { onActed } : {});
	return runtime;
}

/** The ids of the models that what goes on was begun with; undefined: unknown. */
type BegunWith = (runtime: Runtime) => readonly (string | undefined)[];

function unfinished(runtime: Runtime): ReturnType<BegunWith> {
	const { turns, plans, runs } = runtime.restored();
	return [...turns, ...plans, ...runs].map(({ model }) => model);
}

/** The same, with a model that can be asked. @param begunWith by default, that of all that goes on by itself @throws CliError `CLI_MODEL` */
export async function openToAsk(
	globals: Globals,
	more?: Parameters<typeof openForWork>[1],
	begunWith?: BegunWith,
): Promise<Runtime> {
	await assertModels(globals);
	const hint = await hintOf(globals);
	if (hint !== undefined && err.isTerminal && !globals.json) err.line(`reyn: ${hint}`);
	const { directory } = await told(globals);
	if (directory && "unread" in directory)
		err.line(`reyn: works without the instructions of this directory: ${directory.unread}`);
	const runtime = await openForWork(globals, more);
	await assertGoesOn(runtime, globals, begunWith);
	return runtime;
}

/** Work goes on with the models that it was begun with. @throws CliError `CLI_MODEL` where one cannot be asked; it is closed then */
export async function assertGoesOn(
	runtime: Runtime,
	globals: Globals,
	begunWith: BegunWith = unfinished,
): Promise<void> {
	if (isSaid((await configured(globals)).from.get("model"))) return;
	const models = new Set(begunWith(runtime).filter((model) => model !== undefined && isModel(model)));
	try {
		for (const model of models) await assertModel(model as string, process.env);
	} catch (error) {
		await runtime.close();
		throw new CliError(
			"CLI_MODEL",
			`${(error as Error).message}; what is unfinished was begun with it, and nothing of that is lost. --model says another one`,
		);
	}
}

/** May skills of the project that are new run here? Where there are none, nothing is loaded that asks. */
export async function askAboutSkills(globals: Globals): Promise<void> {
	const { project } = skillPlaces(stateOf(globals));
	if (existsSync(project)) await (await import("./skills/trusted.ts")).askAboutSkills(project, globals);
}

/** Other processes of this user act here from now on. Where they cannot, this one works all the same. */
async function serve(runtime: Runtime, state: string, options: ServeOptions): Promise<void> {
	try {
		await serveVerbs(runtime, state, options);
	} catch (error) {
		err.line(`reyn: other commands cannot act while this one works: ${(error as Error).message}`);
	}
}

/** There is something to ask about, and the state is this user's own. @throws CliError `CLI_USAGE`, `CLI_REFUSED` */
export async function assertReady(globals: Globals): Promise<void> {
	// A model that writes begins with nothing.
	await assertUsable(globals.cwd, { mayBeBare: (await modelOf(globals)) !== OFFLINE });
	await assertOurs(globals);
}

/** The state is this user's own, or said to be trusted. @throws CliError `CLI_REFUSED` */
export function assertOurs(globals: Globals): Promise<void> {
	return assertTrusted(stateOf(globals), globals, async () => {
		try {
			// What would go on is more than what is known to be durable.
			await using runtime = await openForReading(globals, { readOnly: "as recovered" });
			return { restored: runtime.restored(), isBlank: await isBlank(runtime) };
		} catch (error) {
			if (codeOf(error) !== "CLI_NOT_FOUND") throw error;
			return undefined;
		}
	});
}

/** Was nothing ever done in it? Its log is whole from its first record on, and has none but those of the log itself. */
async function isBlank({ wal, timeline }: Runtime): Promise<boolean> {
	if (wal.first !== 1 || timeline.retainedFrom !== 1 || wal.torn) return false;
	for await (const { kind } of wal.read()) if (!kind.startsWith("wal_")) return false;
	return true;
}

/** What the model is told in this directory, as it is now. */
export async function told(globals: Globals): Promise<Instructions> {
	const { config } = await configured(globals);
	const { rules = [], mode } = permissionsOf(config, globals.mode);
	return readInstructions(globals.cwd, {
		...rootOptionsOf(globals, stateOf(globals)),
		isClosed: (path) => isUnreadable(rules, path),
		changes: mode !== "read-only",
		plans: plansOf(config, globals.plan).offer !== "never",
	});
}

/** Was the model said with this very command? */
const isSaid = (chosen: Setting | undefined): boolean =>
	chosen !== undefined && (chosen.source === "--model" || chosen.source.startsWith("REYN_"));

async function options(globals: Globals): Promise<RuntimeOptions> {
	const state = stateOf(globals);
	const { config, from } = await configured(globals);
	const trace = process.env.REYN_MODEL_TRACE;
	const modelNamed = (name: string): Model => {
		const model = chosenModel(name, process.env, globals.pace, modelSettingsOf(config));
		return trace ? tracedModel(model, trace) : model;
	};
	const chosen = from.get("model");
	const classes = Object.entries(await classesOf(globals)).map(([of, name]) => [of, modelNamed(name)] as const);
	const permissions = permissionsOf(config, globals.mode);
	const { closed } = rootOptionsOf(globals, state);
	const root: RootOptions = {
		...rootOptionsOf(globals, state),
		isClosed: (path) => isUnreadable(permissions.rules ?? [], path),
	};
	const fileTools = createFileTools(globals.cwd, { ...root, writes: permissions.mode !== "read-only" });
	const records = layoutOf(state).commands;
	const redact = redactSecrets(process.env);
	const shell = createShellTool(globals.cwd, { records, env: withoutSecrets(process.env), closed, redact });
	// What is always denied would be paid for, and asked for in vain.
	const tools = permissions.mode === "read-only" ? fileTools : [...fileTools, shell, createFetchTool()];
	const built = [digestSkill(tools, layoutOf(state).workspace(mainSession))];
	return {
		state,
		...(globals.allowNetwork ? { allowNetwork: true } : {}),
		model: modelNamed(modelName(chosen)),
		// What was begun with another one goes on with that, unless somebody says a model now.
		...(!isSaid(chosen) && { models: (id) => (isModel(id) ? modelNamed(id) : undefined) }),
		tools,
		files: createWorkFiles(globals.cwd, root),
		instructions: async () => instructionsText(await told(globals)),
		skills: built,
		findSkills: () =>
			skillsHere({
				...skillPlaces(state),
				packages: config.skills ?? [],
				taken: built,
				trust: globals.trust ?? false,
			}),
		tasks: tasksOf(state, tasksAlongOf(config)),
		redact,
		watchTimeSlice,
		permissions,
		budget: budgetOf(config),
		prices: { ...pricesOf(config), ...freeModels },
		askUser: true,
		...runtimeOptionsOf(config, globals.policy),
		plans: { ...plansOf(config, globals.plan), models: Object.fromEntries(classes) },
	};
}

/** @throws CliError `CLI_USAGE` */
export async function assertUsable(cwd: string, { mayBeBare = false } = {}): Promise<void> {
	const path = resolve(cwd);
	let names: string[];
	try {
		if (!(await stat(path)).isDirectory())
			throw new CliError("CLI_USAGE", `${path} is not a directory; --cwd takes the directory to work on`);
		names = await readdir(path);
	} catch (error) {
		if (error instanceof CliError) throw error;
		throw new CliError(
			"CLI_USAGE",
			`cannot read ${path} (${codeOf(error)}); --cwd takes a directory that this user may read`,
		);
	}
	if (isBare(names) && !mayBeBare)
		throw new CliError(
			"CLI_USAGE",
			`${path} has no files, and the offline model makes none; --cwd takes a directory with something to ask about, --model a model that writes`,
		);
}

/** Has a directory nothing to ask about? */
export const isBare = (names: readonly string[]): boolean => names.every((name) => name === ".git" || name === ".reyn");
