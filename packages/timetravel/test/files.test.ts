/** Files of a directory follow a history that is cut and gone back to: by hand, and at random against a model. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { memorySnapshots, type View } from "@reyn/snapshot";
import { type FileGenerations, fileChanged, fileGenerations, files } from "@reyn/snapshot/files";
import { defineRecord, memoryEngine, openWal, type Seq, type Wal } from "@reyn/wal";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { histories } from "../../../tests/sample.ts";
import { type Checkout, openTimeline, reset, type Timeline, timetravelRecords } from "../src/index.ts";
import { collect } from "./house.ts";

const { numRuns: runs, seed } = histories(30, 100);
const said = defineRecord("said", z.object({}));

type Contents = Readonly<Record<string, string>>;

test("each change is recorded with all of the file", async () => {
	const desk = await Desk.open();
	await desk.write("a.yaml", "1");
	await desk.edit("a.yaml", "2\n".repeat(1000));
	await desk.record();
	const recorded = (await collect(desk.wal.read())).filter(fileChanged.is);
	expect(recorded.map(({ data }) => data)).toEqual([
		{ path: "a.yaml", content: "1" },
		{ path: "a.yaml", content: "2\n".repeat(1000) },
	]);
});

test("a rewind brings back the newest content on the active branch, though a newer one lies on another", async () => {
	const desk = await Desk.open();
	await desk.write("a.yaml", "1");
	const fork = await desk.say();
	await desk.write("a.yaml", "2 on a branch that is left");
	await desk.go(fork);
	await desk.write("b.yaml", "b");
	const here = await desk.say();
	await desk.write("a.yaml", "3");
	await desk.go(here);
	expect(await desk.listing()).toEqual({ "a.yaml": "1", "b.yaml": "b" });
});

test("a file that was created after the cut is removed, and comes back with its branch", async () => {
	const desk = await Desk.open();
	await desk.write("old.yaml", "old");
	const cut = await desk.say();
	await desk.write("agents/new.yaml", "new");
	const later = await desk.say();
	await desk.go(cut);
	expect(await desk.listing()).toEqual({ "old.yaml": "old" });
	await desk.go(later);
	expect(await desk.listing()).toEqual({ "old.yaml": "old", "agents/new.yaml": "new" });
	await desk.go(0);
	expect(await desk.listing()).toEqual({});
});

test("an edit on an abandoned branch disappears and comes back with it, byte for byte, as often as one goes", async () => {
	const desk = await Desk.open();
	await desk.write("a.yaml", "\uFEFFkey: 1\r\n");
	const fork = await desk.say();
	await desk.edit("a.yaml", "on A\r\n");
	await desk.record();
	const onA = desk.wal.tip;
	await desk.go(fork);
	expect(await desk.listing()).toEqual({ "a.yaml": "\uFEFFkey: 1\r\n" });
	await desk.edit("a.yaml", "on B");
	await desk.record();
	const onB = desk.wal.tip;
	for (const _ of [1, 2]) {
		await desk.go(onA);
		expect(await desk.listing()).toEqual({ "a.yaml": "on A\r\n" });
		await desk.go(onB);
		expect(await desk.listing()).toEqual({ "a.yaml": "on B" });
	}
});

test("an edit that nobody recorded is recorded before the rewind, on the branch that it was made on", async () => {
	const desk = await Desk.open();
	await desk.write("a.yaml", "1");
	const cut = await desk.say();
	await desk.say();
	await desk.edit("a.yaml", "by hand");
	await desk.edit("b.yaml", "by hand too");
	const { seq } = await desk.go(cut);
	expect(await desk.listing()).toEqual({ "a.yaml": "1" });
	await desk.go(seq - 1);
	expect(await desk.listing()).toEqual({ "a.yaml": "by hand", "b.yaml": "by hand too" });
});

test("a rewind that moves another scope leaves the files alone", async () => {
	const desk = await Desk.open();
	const cut = await desk.say();
	await desk.write("a.yaml", "1");
	await desk.timeline.checkout(cut, { scope: { agent: "alice" } });
	await desk.timeline.checkout(cut, { drop: ["said"] });
	expect(await desk.listing()).toEqual({ "a.yaml": "1" });
	await desk.timeline.checkout(cut, { drop: [fileChanged.kind] });
	expect(await desk.listing()).toEqual({});
});

test("a rewind that was cut short after its reset is finished at the next start, and an edit of meanwhile is kept", async () => {
	const desk = await Desk.open();
	await desk.write("a.yaml", "1");
	const cut = await desk.say();
	await desk.write("a.yaml", "2");
	await desk.write("b.yaml", "2");
	desk.dies = "before";
	await expect(desk.go(cut)).rejects.toThrow("killed");
	await desk.edit("a.yaml", "while nothing ran");
	await desk.restart();
	expect(await desk.listing()).toEqual({ "a.yaml": "1" });
	expect(await desk.kept()).toEqual(["while nothing ran"]);
});

const paths = ["a", "b", "d/x", "f", "f/x", "f/x/y"] as const;
/** None of them is a folder of another. */
const apart = ["a", "b", "d/x"] as const;
const content = fc.option(fc.constantFrom("", "1", "2\r\n", "日本"), { freq: 4 });

type Command =
	| { readonly type: "write" | "edit"; readonly path: string; readonly content: string | null }
	| { readonly type: "record" | "restart" | "say" | "mark" }
	| {
			readonly type: "go";
			readonly to: number;
			readonly dies: "before" | "after" | undefined;
			/** What a person does before the next start. */
			readonly meanwhile: readonly { readonly path: string; readonly content: string | null }[];
	  };

const anyCommand: fc.Arbitrary<Command> = fc.oneof(
	{
		weight: 4,
		arbitrary: fc.record({ type: fc.constant("write" as const), path: fc.constantFrom(...apart), content }),
	},
	{ weight: 6, arbitrary: fc.record({ type: fc.constant("edit" as const), path: fc.constantFrom(...paths), content }) },
	{ weight: 2, arbitrary: fc.record({ type: fc.constant("record" as const) }) },
	{ weight: 2, arbitrary: fc.record({ type: fc.constantFrom("restart" as const, "say" as const, "mark" as const) }) },
	{
		weight: 5,
		arbitrary: fc.record({
			type: fc.constant("go" as const),
			to: fc.nat(1_000),
			dies: fc.constantFrom(undefined, undefined, "before" as const, "after" as const),
			meanwhile: fc.array(fc.record({ path: fc.constantFrom(...apart), content }), { maxLength: 2 }),
		}),
	},
);

test("after any history the directory is what the model has copied", async () => {
	const met = { undo: 0, fork_switch: 0, none: 0, kept: 0 };
	await fc.assert(
		fc.asyncProperty(fc.array(anyCommand, { minLength: 4, maxLength: 16, size: "max" }), async (history) => {
			const desk = await Desk.open();
			const model = new Model();
			for (const command of history) {
				if (command.type === "go") {
					const { kind, kept } = await go(desk, model, command);
					met[kind]++;
					met.kept += kept;
				} else {
					if ("path" in command) model.change(command.path, command.content);
					if (command.type === "write") await desk.write(command.path, command.content);
					if (command.type === "edit") await desk.edit(command.path, command.content);
					if (command.type === "record") await desk.record();
					if (command.type === "say") await desk.say();
					if (command.type === "mark") await desk.mark();
					if (command.type === "restart") await desk.restart();
				}
				expect(await desk.listing()).toEqual(model.disk);
			}
			await desk.record();
			await model.follow(desk.wal);
			// Whatever the hands have done is what the records add up to, and what the fold of each line has.
			expect(model.states.at(-1)).toEqual(model.disk);
			for (const [seq, state] of model.states.entries()) expect((await desk.at(seq)).get(files)).toEqual(state);
			expect((await desk.kept()).sort()).toEqual([...model.kept].sort());
			await desk.close();
		}),
		{ numRuns: runs, seed },
	);
	expect(Math.min(met.undo, met.fork_switch, met.none, met.kept)).toBeGreaterThan(0);
});

async function go(
	desk: Desk,
	model: Model,
	{ to, dies, meanwhile }: Command & { type: "go" },
): Promise<{ kind: Checkout["kind"]; kept: number }> {
	const target = to % (desk.wal.tip + 1);
	const { kind } = await desk.timeline.preview(target);
	if (kind === "none") {
		await desk.go(target);
		return { kind, kept: 0 };
	}
	desk.dies = dies;
	await desk.go(target).catch((error: Error) => expect(error.message).toBe("killed"));
	await model.follow(desk.wal);
	const resetAt = model.resets.at(-1) as Seq;
	const [from, next] = [model.states[resetAt - 1] as Contents, model.states[target] as Contents];
	// All that was on the disk is in the log, on the line that was left.
	expect(from).toEqual(model.disk);
	if (dies !== undefined) {
		const there: Record<string, string> = { ...(dies === "before" ? from : next) };
		for (const { path, content } of meanwhile) {
			await desk.edit(path, content);
			delete there[path];
			if (content !== null) there[path] = content;
		}
		await desk.restart();
		const before = model.kept.length;
		model.disk = restored(from, next, there, model.kept);
		return { kind, kept: model.kept.length - before };
	}
	model.disk = next;
	return { kind, kept: 0 };
}

/** What a restore makes of what is there; what is in neither state goes to `kept`. */
function restored(from: Contents, to: Contents, there: Contents, kept: string[]): Contents {
	const result: Record<string, string> = {};
	for (const path of new Set([from, to, there].flatMap(Object.keys))) {
		const [found, old, next] = [there[path], from[path], to[path]];
		const left = old === next ? found : next;
		if (left !== undefined) result[path] = left;
		if (old !== next && found !== undefined && found !== old && found !== next) kept.push(found);
	}
	return result;
}

/** Copies everything: the directory as the hands left it, and for every seq all files. */
class Model {
	disk: Contents = {};
	readonly kept: string[] = [];
	readonly states: Contents[] = [{}];
	readonly resets: Seq[] = [];

	change(path: string, content: string | null): void {
		this.disk = changed(this.disk, path, content);
	}

	/** Copies what the log has come to. */
	async follow(wal: Wal): Promise<void> {
		for await (const record of wal.read({ after: this.states.length - 1 })) {
			const before = this.states[record.seq - 1] as Contents;
			if (reset.is(record)) this.resets.push(record.seq);
			if (reset.is(record)) this.states.push(this.states[record.data.target] as Contents);
			else if (fileChanged.is(record)) this.states.push(changed(before, record.data.path, record.data.content));
			else this.states.push(before);
		}
	}
}

/** As a person would: what is in the way goes. */
function changed(contents: Contents, path: string, content: string | null): Contents {
	const next: Record<string, string> = {};
	for (const [each, text] of Object.entries(contents)) {
		const isInTheWay = content !== null && (`${each}/`.startsWith(`${path}/`) || path.startsWith(`${each}/`));
		if (each !== path && !isInTheWay) next[each] = text;
	}
	return content === null ? next : { ...next, [path]: content };
}

/** A directory whose files follow a timeline. */
class Desk {
	readonly #directory: string;
	readonly #engine = memoryEngine();
	readonly #snapshots = memorySnapshots();
	wal!: Wal;
	timeline!: Timeline;
	#files!: FileGenerations;
	/** The process of the next rewind dies before its files are restored, or after. */
	dies: "before" | "after" | undefined;

	private constructor(directory: string) {
		this.#directory = directory;
	}

	static async open(): Promise<Desk> {
		const desk = new Desk(await mkdtemp(join(tmpdir(), "reyn-desk-")));
		onTestFinished(() => desk.close());
		await desk.#start();
		return desk;
	}

	async #start(): Promise<void> {
		this.dies = undefined;
		this.#files = fileGenerations({ directory: this.#directory, tracks: () => true });
		this.wal = await openWal(this.#engine, { records: [fileChanged, said, ...timetravelRecords] });
		this.timeline = await openTimeline({
			wal: this.wal,
			snapshots: this.#snapshots,
			projections: [files],
		});
		this.timeline.attend({
			quiet: () => this.record().then(() => () => {}),
			rebuild: async ({ seq }) => {
				if (this.dies === "before") throw new Error("killed");
				await this.#files.restore(await this.at(seq - 1), await this.at(seq));
				if (this.dies === "after") throw new Error("killed");
			},
		});
		await this.timeline.settle();
	}

	async restart(): Promise<void> {
		await this.wal.close();
		await this.#start();
	}

	async close(): Promise<void> {
		await this.wal.close();
		await rm(this.#directory, { recursive: true, force: true });
	}

	at(seq: Seq): Promise<View> {
		return this.timeline.at(seq, {});
	}

	async say(): Promise<Seq> {
		const { seq, durable } = this.wal.append(said({}), {});
		await durable;
		return seq;
	}

	/** A checkpoint, with the snapshot that belongs to it. */
	async mark(): Promise<Seq> {
		const view = await this.at(this.wal.tip);
		return this.timeline.checkpoint("turn", "mark", {}, view);
	}

	async write(path: string, content: string | null): Promise<void> {
		await this.#files.write(this.wal, await this.at(this.wal.tip), path, content);
	}

	async record(): Promise<void> {
		await this.#files.record(this.wal, await this.at(this.wal.tip));
	}

	go(seq: Seq): Promise<Checkout> {
		return this.timeline.checkout(seq);
	}

	/** A person's hand. */
	async edit(path: string, content: string | null): Promise<void> {
		const file = join(this.#directory, path);
		if (content === null) return rm(file, { force: true }).catch(() => {});
		for (let folder = dirname(path); folder !== "."; folder = dirname(folder))
			if (folder in (await this.listing())) await rm(join(this.#directory, folder));
		await rm(file, { recursive: true, force: true });
		await mkdir(dirname(file), { recursive: true });
		await writeFile(file, content);
	}

	/** Without what was set aside. */
	async listing(): Promise<Contents> {
		return Object.fromEntries((await this.#all()).filter(([path]) => !path.includes(".unrecorded-")));
	}

	/** What was set aside. */
	async kept(): Promise<string[]> {
		return (await this.#all()).filter(([path]) => path.includes(".unrecorded-")).map(([, text]) => text);
	}

	async #all(): Promise<[path: string, text: string][]> {
		const entries = await readdir(this.#directory, { recursive: true, withFileTypes: true });
		return Promise.all(
			entries
				.filter((entry) => entry.isFile())
				.map(({ parentPath, name }) => join(parentPath, name))
				.map(async (file) => [file.slice(this.#directory.length + 1), await readFile(file, "utf8")]),
		);
	}
}
