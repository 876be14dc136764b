/** What is measured, each in a process of its own: going back in a history, and bringing files back with it. */
import { closeSync, fdatasyncSync, fsyncSync, mkdtempSync, openSync, renameSync, writeSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Model } from "@reyn/journal";
import { fileStore, openRuntime, type Runtime } from "@reyn/runtime";
import { createFileTools, createWorkFiles } from "@reyn/tools";
import { randomFrom } from "../random.ts";
import { writeHistory } from "./history.ts";

export interface Order {
	readonly records: number;
	readonly files: number;
	readonly times: number;
	readonly reach?: Reach;
}

/** How far back it goes: some turns, however long the history is, or anywhere in it. */
export type Reach = "near" | "far";

/** Of moves, of those far back a tenth as many, in ms each; memory in MiB. */
export interface Moves {
	readonly previewMs: readonly number[];
	readonly applyMs: readonly number[];
	readonly undoMs: readonly number[];
	readonly filesMs: readonly number[];
	readonly openMiB: number;
	readonly moreMiB: number;
}

/** In ms a file. */
export interface Restored {
	readonly previewMs: number;
	readonly backMs: number;
	readonly undoMs: number;
	readonly redoMs: number;
}

/** Files of one turn. */
const A_TURN = 100;
/** Files lie in so many directories. */
const DIRECTORIES = 20;
/** Near is up to so many turns back; a preview of files looks at all of their writes. */
const TURNS_BACK = 100;

export const jobs = {
	async history(directory: string, { records }: Order) {
		const runtime = await opened(directory);
		const history = await writeHistory(runtime, records);
		await runtime.close();
		return history;
	},

	/** The first opening folds the whole log and stores what it has found: that is not measured. */
	async settle(directory: string): Promise<void> {
		await (await opened(directory)).close();
	},

	/** Each time to another turn of the current line, and back to where one was. */
	async moves(directory: string, { times, reach }: Order): Promise<Moves> {
		const runtime = await opened(directory);
		const { wal, timeline } = runtime;
		const line = timeline.checkpoints().filter(({ active }) => active);
		const targets = reach === "near" ? line.slice(-TURNS_BACK) : line;
		const random = randomFrom(times);
		const openMiB = usedMiB();
		const [previewMs, applyMs, undoMs, filesMs]: number[][] = [[], [], [], []];
		// The first is for what Node makes of the code, and what is read once.
		for (let i = -1; i < (reach === "far" ? times / 10 : times); i++) {
			const kept = (all: number[] | undefined) => (i < 0 ? [] : all);
			const target = targets[Math.floor(random() * targets.length)]?.seq ?? 0;
			const near = line.at(-TURNS_BACK)?.seq ?? 0;
			const preview = await timed(kept(previewMs), () => runtime.previewRewind(target, "both"));
			await timed(kept(applyMs), () => runtime.applyRewind(preview, "bench"));
			await timed(kept(undoMs), () => runtime.undo("bench"));
			await timed(kept(filesMs), () => runtime.previewFiles(near));
		}
		const moreMiB = usedMiB() - openMiB;
		if (wal.tip < times) throw new Error("nothing has moved");
		await runtime.close();
		return { previewMs, applyMs, undoMs, filesMs, openMiB, moreMiB } as Moves;
	},

	/** Tools make files, and change them all; then all go back, and forth, and back. */
	async restore(directory: string, { files }: Order): Promise<Restored> {
		const runtime = await opened(directory);
		// Others than those of the round before.
		const root = `at-${runtime.wal.tip}`;
		const names = Array.from({ length: files }, (_, i) => `${root}/d${i % DIRECTORIES}/f${i}.txt`);
		await turns(runtime, names, (path) => ["write", { path, text: `one of ${path}\n` }]);
		const target = runtime.wal.tip;
		await turns(runtime, names, (path) => ["edit", { path, old: "one", new: "two" }]);
		const ms = async (move: () => Promise<{ readonly changes: readonly unknown[] } | undefined>): Promise<number> => {
			const times: number[] = [];
			const done = await timed(times, move);
			if (done?.changes.length !== files) throw new Error(`${done?.changes.length} of ${files} files`);
			return (times[0] ?? 0) / files;
		};
		const found = {
			previewMs: await ms(() => runtime.previewFiles(target)),
			backMs: await ms(async () => (await runtime.checkout(target, "bench", {}, { files: true })).files),
			undoMs: await ms(async () => (await runtime.undo("bench")).files),
			redoMs: await ms(async () => (await runtime.redo("bench")).files),
		};
		await runtime.close();
		return found;
	},

	/** The least that it can cost one after the other: what a file held and what it shall hold, each written whole, and a line between. */
	async raw(directory: string, { files }: Order): Promise<number> {
		const at = mkdtempSync(join(directory, "raw-"));
		const [log, folder] = [openSync(join(at, "log"), "w"), openSync(at, "r")];
		const put = (name: string, text: string): void => {
			const file = openSync(join(at, `${name}.tmp`), "w");
			writeSync(file, text);
			fsyncSync(file);
			closeSync(file);
			renameSync(join(at, `${name}.tmp`), join(at, name));
			fsyncSync(folder);
		};
		const times: number[] = [];
		await timed(times, async () => {
			for (let i = 0; i < files; i++) {
				put(`image${i}`, `two of f${i}\n`);
				writeSync(log, `${"x".repeat(300)}\n`);
				fdatasyncSync(log);
				put(`file${i}`, `one of f${i}\n`);
			}
		});
		for (const each of [log, folder]) closeSync(each);
		return (times[0] ?? 0) / files;
	},
} as const;

export type JobName = keyof typeof jobs;
export type FoundOf<Name extends JobName> = Awaited<ReturnType<(typeof jobs)[Name]>>;

/** A model that asks for the tools that its prompt names. */
const obedient: Model = {
	id: "none",
	async *generate({ messages }) {
		const last = messages.at(-1);
		const calls = last?.role === "user" ? (JSON.parse(last.text) as readonly (readonly [string, object])[]) : [];
		for (const [i, [name, args]] of calls.entries()) yield { type: "toolCall", call: { id: `${i}`, name, args } };
		if (calls.length === 0) yield { type: "text", text: "done" };
		yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
	},
};

async function opened(directory: string): Promise<Runtime> {
	const cwd = join(directory, "work");
	await mkdir(cwd, { recursive: true });
	return openRuntime({
		store: fileStore(join(directory, "state")),
		model: obedient,
		tools: createFileTools(cwd, { writes: true }),
		files: createWorkFiles(cwd),
		onMessage: async () => {},
	});
}

async function turns(
	runtime: Runtime,
	names: readonly string[],
	call: (path: string) => readonly [string, object],
): Promise<void> {
	for (let i = 0; i < names.length; i += A_TURN) {
		await runtime.prompt(JSON.stringify(names.slice(i, i + A_TURN).map(call)));
		await runtime.idle();
	}
}

async function timed<T>(times: number[] | undefined, work: () => Promise<T>): Promise<T> {
	const from = performance.now();
	const found = await work();
	times?.push(performance.now() - from);
	return found;
}

function usedMiB(): number {
	globalThis.gc?.();
	return process.memoryUsage().rss / 2 ** 20;
}
