/** A small project to ask about, a place for the state, and a model whose answers a test writes. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Model, ModelRequest, ToolCall } from "@reyn/journal";
import { offlineModel } from "@reyn/offline-model";
import { createFileTools } from "@reyn/tools";
import type { LogEngine } from "@reyn/wal";
import { sqliteEngine } from "@reyn/wal/sqlite";
import { pauseless } from "../../../tests/kit/timers.ts";
import {
	type BackgroundMessage,
	engineStore,
	fileStore,
	openRuntime,
	type Runtime,
	type RuntimeEvent,
	type RuntimeOptions,
	type Store,
} from "../src/index.ts";

/** What the tests run over: `REYN_STORE=sqlite` runs them over a database, but for those of `filesTest`. */
export const overSqlite = process.env.REYN_STORE === "sqlite";

export interface Project extends AsyncDisposable {
	readonly root: string;
	readonly cwd: string;
	readonly state: string;
}

export async function makeProject(): Promise<Project> {
	const root = await mkdtemp(join(tmpdir(), "reyn-runtime-"));
	const cwd = join(root, "project");
	const files = {
		"README.md": "# Calc\n\nThe parser reads an expression, the printer writes it back.\n",
		"src/parser.ts":
			"/** Reads an expression. */\nexport function parse(text: string): Tree {\n\treturn new Parser(text).tree();\n}\n",
		"src/printer.ts":
			"/** Writes a tree back as text. */\nexport function print(tree: Tree): string {\n\treturn tree.toString();\n}\n",
		"test/parser.test.ts": 'test("the parser reads a sum", () => expect(parse("1+2")).toEqual(sum(1, 2)));\n',
	};
	for (const [path, text] of Object.entries(files)) {
		await mkdir(join(cwd, path, ".."), { recursive: true });
		await writeFile(join(cwd, path), text);
	}
	return {
		root,
		cwd,
		state: join(root, "state"),
		async [Symbol.asyncDispose]() {
			for (const path of engines.keys()) if (path.startsWith(join(root, "/"))) await letGo(path);
			await rm(root, { recursive: true, force: true });
		},
	};
}

/** Databases that are open, by their paths. */
const engines = new Map<string, LogEngine>();

/** As when the process ends that had a database open. */
export async function letGo(path: string): Promise<void> {
	await engines.get(path)?.close();
	engines.delete(path);
}

/** The store of a state, whatever the tests run over: over a database, the one beside where the directory would be. */
export function storeAt(state: string): Store {
	if (!overSqlite) return fileStore(state);
	const path = `${state}.db`;
	const engine = engines.get(path) ?? sqliteEngine(path);
	engines.set(path, engine);
	return engineStore(engine);
}

/** Takes away all that lies in an area beside a log. */
export async function emptyArea(state: string, area: string): Promise<void> {
	const blobs = storeAt(state).blobs(area);
	for (const name of await blobs.list("")) await blobs.delete(name);
}

export interface Opened {
	readonly runtime: Runtime;
	readonly events: RuntimeEvent[];
	readonly shown: BackgroundMessage[];
}

export async function open(
	{ cwd, state }: Project,
	options: Partial<RuntimeOptions> = {},
	store = storeAt(state),
): Promise<Opened> {
	const events: RuntimeEvent[] = [];
	const shown: BackgroundMessage[] = [];
	const runtime = await openRuntime({
		store,
		model: offlineModel(),
		tools: createFileTools(cwd),
		onEvent: (event) => events.push(event),
		onMessage: async (message) => void shown.push(message),
		timers: pauseless(),
		...options,
	});
	return { runtime, events, shown };
}

/** What a scripted model says to a request: text, or tools to call. */
export type Script = (
	request: ModelRequest,
) => string | readonly Omit<ToolCall, "id">[] | Promise<string | readonly Omit<ToolCall, "id">[]>;

/** A model of a test: it answers by a script, and keeps what it was asked. A deaf one does not hear that it is cancelled. */
export function scripted(script: Script, { deaf = false } = {}): Model & { readonly asked: ModelRequest[] } {
	const asked: ModelRequest[] = [];
	return {
		id: "scripted",
		asked,
		async *generate(request, { signal }) {
			asked.push(request);
			const answer = await (deaf ? script(request) : Promise.race([script(request), aborted(signal)]));
			if (typeof answer === "string") yield { type: "text", text: answer };
			else
				for (const [i, call] of answer.entries())
					yield { type: "toolCall", call: { id: `${asked.length}-${i}`, ...call } };
			yield { type: "usage", usage: { inputTokens: 10, outputTokens: 1 } };
		},
	};
}

async function aborted(signal: AbortSignal): Promise<never> {
	signal.throwIfAborted();
	await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
	throw signal.reason;
}

/** The last thing said in a request. */
export const lastOf = ({ messages }: ModelRequest): string => messages.at(-1)?.text ?? "";

/** A promise that a test resolves, to hold a model in the middle of a call. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
	const { promise, resolve } = Promise.withResolvers<void>();
	return { opened: promise, open: resolve };
}

/** Resolves when the condition holds; looks again at each turn of the event loop. */
export async function until(holds: () => boolean): Promise<void> {
	while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** Arguments of a plan that pays with the tool `pay`, and then says so. */
export const payingPlan = {
	goal: "pay",
	steps: [
		{ id: "a", description: "pay it", tools: ["pay"], depends_on: [] },
		{ id: "b", description: "say so", tools: [], depends_on: ["a"] },
	],
};
