/** A state with a history: two questions, a plan that is in flight, a rewind, a label. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { offlineModel } from "@reyn/offline-model";
import { layoutOf, openRuntime, type Runtime, type RuntimeOptions } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import { carryOut, type Desk, type Say, type Told, type Verb, verbs } from "../src/index.ts";

export const say: Say = (texts, ...words) => texts.map((text, at) => text + (words[at] ?? "")).join("");

export function verbOf(name: string): Verb {
	const found = verbs.find((each) => each.name === name);
	if (!found) throw new Error(`there is no verb ${name}`);
	return found;
}

export interface House extends AsyncDisposable {
	readonly runtime: Runtime;
	readonly state: string;
	readonly options: RuntimeOptions;
	/** What was asked of the person, and what they answer. */
	readonly asked: string[];
	answer: boolean;
	do(name: string, raw?: Readonly<Record<string, unknown>>, how?: { readonly dryRun?: boolean }): Promise<Told>;
	/** Another reader of the same state. */
	reader(): Promise<Runtime>;
}

export async function openHouse(more: Partial<RuntimeOptions> = {}): Promise<House> {
	const root = await mkdtemp(join(tmpdir(), "reyn-operator-"));
	const [cwd, state] = [join(root, "project"), join(root, "state")];
	await mkdir(cwd);
	await writeFile(join(cwd, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
	const options = { state, model: offlineModel(), tools: createFileTools(cwd), ...more };
	const runtime = await openRuntime(options);
	const asked: string[] = [];
	const house: House = {
		runtime,
		state,
		options,
		asked,
		answer: true,
		do(name, raw = {}, how = {}) {
			const verb = verbOf(name);
			if (verb.access === "work" || verb.access === "stream" || verb.access === "closed")
				throw new Error(`${name} is ${verb.access}`);
			return carryOut(verb, raw, desk, how);
		},
		reader: () => openRuntime({ ...options, readOnly: true }),
		async [Symbol.asyncDispose]() {
			await runtime.close();
			await rm(root, { recursive: true });
		},
	};
	const desk: Desk = {
		reading: (use) => use(runtime),
		examining: (use) => use(layoutOf(state).wal),
		acting: (verb, seen) => verb.act(runtime, seen, "user"),
		async confirm(question) {
			asked.push(question);
			return house.answer;
		},
		say,
	};
	for (const question of ["where does a fox sleep?", "what does a fox do by day?"]) {
		await runtime.prompt(question);
		await runtime.idle();
	}
	return house;
}
