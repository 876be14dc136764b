/** What tools have changed in files: what each held is durable before, is said as of a moment, and is kept as long as one can go there. */
import { chmod, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileVersion, stepFailed, stepStarted, type Tool } from "@reyn/journal";
import { fileChangeOf, imageNameOf } from "@reyn/journal/internal";
import { View } from "@reyn/snapshot";
import { createFileTools, createWorkFiles } from "@reyn/tools";
import type { BlobStore, WalRecord } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
	doneIn,
	type FileWrite,
	fileWrites,
	imagesAt,
	leftIn,
	observations,
	othersIn,
} from "../src/features/files/file-writes.ts";
import { mainSession, type Runtime, type RuntimeOptions, type Store } from "../src/index.ts";
import { eachCut } from "./cut.ts";
import { filesTest } from "./files-test.ts";
import { seal } from "./kept-files.ts";
import { gate, makeProject, type Opened, open, type Project, scripted, storeAt } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
	await writeFile(at("a.txt"), "one\n");
});
afterEach(() => project[Symbol.asyncDispose]());

const at = (path: string): string => join(project.cwd, path);
const edit = (old: string, now: string, path = "a.txt") => ({ name: "edit", args: { path, old, new: now } });
const write = (path: string, text: string) => ({ name: "write", args: { path, text } });

/** A model that makes the calls which it is asked for. */
const model = () =>
	scripted(({ messages }) => {
		const last = messages.at(-1);
		return last?.role === "user" ? JSON.parse(last.text) : "done";
	});

const openIt = (options: Partial<RuntimeOptions> = {}, store = storeAt(project.state)): Promise<Opened> =>
	open(
		project,
		{
			model: model(),
			tools: createFileTools(project.cwd, { writes: true }),
			files: createWorkFiles(project.cwd),
			...options,
		},
		store,
	);

async function turn(runtime: Runtime, ...calls: readonly { readonly name: string; readonly args: object }[]) {
	await runtime.prompt(JSON.stringify(calls));
	await runtime.idle();
}

/** What is known of one file since a seq. */
async function fileOf(runtime: Runtime, path = "a.txt", since = 0) {
	const file = (await runtime.files.since(since)).files.find((each) => each.path === path);
	return file && (await runtime.files.compare(file));
}

const textOf = (content: object | undefined): string | undefined =>
	content && "bytes" in content ? Buffer.from(content.bytes as Uint8Array).toString() : undefined;

/** A state whose images are put by `put`. */
function withImages(put: (own: BlobStore, name: string, bytes: Uint8Array) => Promise<void>): Store {
	const store = storeAt(project.state);
	return {
		...store,
		blobs(area) {
			const own = store.blobs(area);
			return area === "images" ? { ...own, put: (name, bytes) => put(own, name, bytes) } : own;
		},
	};
}

async function startsIn({ wal }: Runtime): Promise<readonly WalRecord[]> {
	const starts: WalRecord[] = [];
	for await (const record of wal.read({ kinds: { only: [stepStarted.kind] } })) starts.push(record);
	return starts;
}

describe("what a file held", () => {
	test("is durable before the start of a write, which comes before the write", async () => {
		const [asked, put] = [gate(), gate()];
		const { runtime } = await openIt(
			{},
			withImages(async (own, name, bytes) => {
				asked.open();
				await put.opened;
				await own.put(name, bytes);
			}),
		);
		const done = turn(runtime, edit("one", "two"));
		await asked.opened;
		for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
		expect([await startsIn(runtime), await readFile(at("a.txt"), "utf8")]).toEqual([[], "one\n"]);
		put.open();
		await done;
		expect(await storeAt(project.state).blobs("images").list("")).toEqual(
			(await startsIn(runtime)).flatMap((start) => imageNameOf(fileChangeOf(start) ?? {})),
		);
		expect(await readFile(at("a.txt"), "utf8")).toBe("two\n");
		await runtime.close();
	});

	test("is what a write is refused for where it cannot be kept: nothing is begun, and the model is told", async () => {
		const { runtime } = await openIt(
			{},
			withImages(async () => {
				throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
			}),
		);
		await turn(runtime, edit("one", "two"), write("new.txt", "new\n"));
		expect(await readFile(at("a.txt"), "utf8")).toBe("one\n");
		const said = runtime
			.conversation()
			.items.toArray()
			.map((item) => JSON.stringify(item))
			.join("\n");
		expect(said).toContain("a.txt is not changed: what it holds could not be kept before (ENOSPC)");
		// A file that was not there has nothing to keep.
		expect(await readFile(at("new.txt"), "utf8")).toBe("new\n");
		expect((await runtime.files.since(0)).files.map(({ path }) => path)).toEqual(["new.txt"]);
		await runtime.close();
	});

	test("is known after a crash at any record, with its permissions", async () => {
		await chmod(at("a.txt"), 0o750);
		const { runtime } = await openIt();
		await turn(runtime, edit("one", "two"), edit("two", "three"), write("src/b.txt", "b\n"));
		await turn(runtime, { name: "remove", args: { path: "a.txt", version: fileVersion(Buffer.from("three\n")) } });
		const last = await startsIn(runtime);
		expect(last).toHaveLength(4);
		await runtime.close();
		let looked = 0;
		await eachCut(project, 3, async (state) => {
			const { runtime: reader } = await open(
				project,
				{ readOnly: true, files: createWorkFiles(project.cwd) },
				storeAt(state),
			);
			const starts = await startsIn(reader);
			const { files } = await reader.files.since(0);
			expect(files.flatMap(({ writes }) => writes.map(({ seq }) => seq)).sort((a, b) => a - b)).toEqual(
				starts.map(({ seq }) => seq),
			);
			for (const file of files) {
				const { before, now } = await reader.files.compare(file);
				if (file.path === "a.txt")
					expect([textOf(before), before, now.kind]).toMatchObject(["one\n", { mode: 0o750 }, "none"]);
				else expect([before.kind, textOf(now)]).toEqual(["none", "b\n"]);
				looked++;
			}
			await reader.close();
		});
		expect(looked).toBeGreaterThan(1);
	});

	test("is said to be missing, or another, where that is so; of the rest it is said what it was", async () => {
		const { runtime } = await openIt();
		for (const path of ["b.txt", "c.txt"]) await writeFile(at(path), `${path}\n`);
		await turn(runtime, edit("one", "two"), edit("b.txt", "B", "b.txt"), edit("c.txt", "C", "c.txt"));
		const images = storeAt(project.state).blobs("images");
		const { files } = await runtime.files.since(0);
		const nameOf = (path: string): string => {
			const sha256 = files.find((each) => each.path === path)?.image?.sha256 ?? "";
			return `${sha256.slice(0, 2)}/${sha256}`;
		};
		await images.delete(nameOf("a.txt"));
		await images.put(nameOf("b.txt"), Buffer.from("else\n"));
		expect((await fileOf(runtime))?.before).toEqual({
			kind: "unknown",
			why: expect.stringMatching(/^its image [0-9a-f]{64} is missing, or has changed$/),
		});
		expect((await fileOf(runtime, "b.txt"))?.before.kind).toBe("unknown");
		await images.put(nameOf("b.txt"), Buffer.alloc(2_000_000));
		expect((await fileOf(runtime, "b.txt"))?.before.kind).toBe("unknown");
		expect(textOf((await fileOf(runtime, "c.txt"))?.before)).toBe("c.txt\n");
		await runtime.close();
	});

	test("is kept whoever calls the tool: a script, and an agent in it", async () => {
		const { runtime } = await openIt();
		const source = `export default async (ctx) => {
			await ctx.tool("edit", { path: "a.txt", old: "one", new: "two" });
			await ctx.agent(${JSON.stringify(JSON.stringify([edit("two", "three")]))}, { tools: ["edit"] });
		};`;
		const { end } = await runtime.scripts.start({ name: "s.ts", source }, undefined);
		expect((await end).status).toBe("completed");
		const found = await fileOf(runtime);
		expect([textOf(found?.before), textOf(found?.now), found?.by.length]).toEqual(["one\n", "three\n", 2]);
		expect(await storeAt(project.state).blobs("images").list("")).toHaveLength(2);
		await runtime.close();
	});

	test("is not kept where that is not wanted, and that is said", async () => {
		const { runtime } = await openIt({ images: false });
		await turn(runtime, edit("one", "two"), write("new.txt", "new\n"));
		expect(await storeAt(project.state).blobs("images").list("")).toEqual([]);
		expect((await fileOf(runtime))?.before).toEqual({ kind: "unknown", why: "what it held was not kept" });
		expect((await fileOf(runtime, "new.txt"))?.before).toEqual({ kind: "none" });
		await runtime.close();
	});
});

describe("what is said of a file", () => {
	test("is since a seq, on whatever line, whoever changed it; a file is one, however its path is spelt", async () => {
		const { runtime } = await openIt({ agents: { bob: {} } });
		await turn(runtime, edit("one", "two"));
		const first = runtime.wal.tip;
		const bob = { agent: "bob", session: "main" };
		await runtime.prompt(JSON.stringify([edit("two", "three", "./a.txt")]), bob);
		await runtime.idle();
		const second = runtime.wal.tip;
		await runtime.checkout(first, "test");
		await turn(runtime, edit("three", "four"));
		const sinceBegin = await fileOf(runtime);
		expect([textOf(sinceBegin?.before), textOf(sinceBegin?.now)]).toEqual(["one\n", "four\n"]);
		expect(sinceBegin?.by.map(({ scope }) => scope)).toEqual([mainSession, bob, mainSession]);
		expect(sinceBegin?.others).toEqual({ between: false, since: false });
		expect(textOf((await fileOf(runtime, "a.txt", first))?.before)).toBe("two\n");
		expect(textOf((await fileOf(runtime, "a.txt", second))?.before)).toBe("three\n");
		expect((await runtime.files.since(runtime.wal.tip)).files).toEqual([]);
		await expect(runtime.files.since(runtime.wal.tip + 1)).rejects.toMatchObject({ code: "TIMETRAVEL_OUT_OF_RANGE" });
		await runtime.close();
	});

	test("is whether somebody else has changed it, in between or since, or whether nobody can say", async () => {
		const { runtime } = await openIt();
		await turn(runtime, edit("one", "two"));
		await writeFile(at("a.txt"), "theirs\n");
		expect((await fileOf(runtime))?.others).toEqual({ between: false, since: true });
		await turn(runtime, edit("theirs", "ours"));
		expect((await fileOf(runtime))?.others).toEqual({ between: true, since: false });
		await rm(at("a.txt"));
		expect(await fileOf(runtime)).toMatchObject({ now: { kind: "none" }, others: { between: true, since: true } });
		await runtime.close();
		const { runtime: blind } = await openIt({ files: undefined as never });
		expect(await fileOf(blind)).toMatchObject({ now: { kind: "unknown" }, others: { since: "unknown" } });
		await blind.close();
	});

	test("is nothing of what lies outside, behind a link or in a state, whatever a log says", async () => {
		const { runtime } = await openIt();
		for (const path of ["../secret", "/etc/passwd", ".reyn/own", ".git/config"]) {
			const now = await createWorkFiles(project.cwd).read(path);
			expect([path, now.kind]).toEqual([path, "unknown"]);
		}
		await runtime.close();
	});

	filesTest("its images lie elsewhere")("is said of the others where a link is in the place of one image", async () => {
		await writeFile(at("b.txt"), "one\n");
		const { runtime } = await openIt();
		await turn(runtime, edit("one", "two"), edit("one", "three", "b.txt"));
		// Their images are the same: what a.txt held is another one.
		await turn(runtime, edit("two", "four"));
		const since = (await startsIn(runtime)).at(-1)?.seq ?? 0;
		const [name = ""] = imageNameOf(fileChangeOf((await startsIn(runtime)).at(-1) as WalRecord) ?? {});
		await turn(runtime, edit("three", "five", "b.txt"));
		const path = join(project.state, "state/images", `${name}.blob`);
		await rm(path);
		await symlink("/etc/passwd", path);
		expect(await fileOf(runtime, "a.txt", since - 1)).toMatchObject({
			before: { kind: "unknown", why: expect.stringContaining("its image cannot be read") },
			now: { kind: "file" },
		});
		expect(textOf((await fileOf(runtime, "b.txt", since - 1))?.before)).toBe("three\n");
		await runtime.close();
	});

	test("counts a write that is in doubt as that, until the file tells", async () => {
		const hung = gate();
		const tools = createFileTools(project.cwd, { writes: true }).map(
			(tool): Tool => ({
				...tool,
				call: async (args, context) => {
					const answer = await tool.call(args, context);
					if (!tool.prepare) return answer;
					hung.open();
					await new Promise((_, reject) =>
						context.signal.addEventListener("abort", () => reject(context.signal.reason)),
					);
					return answer;
				},
			}),
		);
		const { runtime } = await openIt({ tools });
		await runtime.prompt(JSON.stringify([edit("one", "two")]));
		await hung.opened;
		expect((await fileOf(runtime))?.by).toMatchObject([{ lane: expect.stringMatching(/^turn\//) }]);
		expect((await fileOf(runtime))?.by[0]).not.toHaveProperty("inDoubt");
		await writeFile(at("a.txt"), "one\n");
		expect((await fileOf(runtime))?.by).toEqual([]);
		await writeFile(at("a.txt"), "theirs\n");
		expect((await fileOf(runtime))?.by).toMatchObject([{ inDoubt: true }]);
		await runtime.close();
	});

	test("leaves out what other tools did: they are named and counted, but for those that change no file", async () => {
		const shell: Tool = {
			name: "shell",
			description: "runs",
			parameters: { type: "object" },
			purity: "external",
			call: async () => "ran",
		};
		const { runtime } = await openIt({
			tools: [...createFileTools(project.cwd, { writes: true }), shell],
			askUser: true,
			ask: async () => "yes",
		});
		await turn(runtime, { name: "shell", args: {} }, edit("one", "two"), { name: "shell", args: { again: true } });
		const from = runtime.wal.tip;
		await turn(runtime, { name: "ask_user", args: { question: "so?" } }, { name: "shell", args: { last: true } });
		expect((await runtime.files.since(0)).uncovered).toEqual([{ name: "shell", calls: 3 }]);
		expect((await runtime.files.since(from)).uncovered).toEqual([{ name: "shell", calls: 1 }]);
		await runtime.close();
	});
});

describe("gc", () => {
	/** Ends the process and a segment, so that no image is young. */
	async function nextDay({ runtime }: Opened): Promise<Opened> {
		await runtime.close();
		await seal(project.state);
		return openIt();
	}
	const all = { keepDays: 0, keepCheckpoints: 1 };
	const images = () => storeAt(project.state).blobs("images").list("");

	test("keeps what files held at the moments that one can go to, and takes what they held between", async () => {
		let opened = await openIt();
		await turn(opened.runtime, edit("one", "two"));
		await turn(opened.runtime, edit("two", "three"));
		const label = opened.runtime.wal.tip;
		await opened.runtime.timeline.label(label, "here", { actor: "test" });
		for (const [old, now] of [
			["three", "four"],
			["four", "five"],
			["five", "six"],
		] as const)
			await turn(opened.runtime, edit(old, now));
		opened = await nextDay(opened);
		await turn(opened.runtime, edit("six", "seven"));
		const { runtime } = opened;
		expect(await images()).toHaveLength(6);
		const two = { keepDays: 0, keepCheckpoints: 2 };
		const planned = await runtime.gc({ ...two, dryRun: true });
		expect(await images()).toHaveLength(6);
		const { first, retainedFrom } = await runtime.gc(two);
		expect([first > label, planned.retainedFrom]).toEqual([true, retainedFrom]);
		// Of genesis, of the label, and of what the records that are left name; two, four and five were held between.
		expect(textOf((await fileOf(runtime))?.before)).toBe("one\n");
		expect(textOf((await fileOf(runtime, "a.txt", label))?.before)).toBe("three\n");
		expect(textOf((await fileOf(runtime, "a.txt", retainedFrom - 1))?.before)).toBe("six\n");
		expect(await images()).toHaveLength(3);
		await expect(runtime.files.since(label - 1)).rejects.toMatchObject({ code: "TIMETRAVEL_PRUNED" });
		await runtime.close();
	});

	test("takes an image that no record names, once the process is over that put it", async () => {
		const opened = await openIt();
		await storeAt(project.state)
			.blobs("images")
			.put(`ab/${"ab".repeat(32)}`, Buffer.from("cut off"));
		await turn(opened.runtime, edit("one", "two"));
		const { runtime } = await nextDay(opened);
		await runtime.gc(all);
		expect(await images()).toHaveLength(1);
		await runtime.close();
	});
});

describe("writes of one file that were begun beside each other", () => {
	const one = (seq: number, before: string, after: string, outcome: FileWrite["outcome"] = "done"): FileWrite => ({
		...{ path: "a", before, after, seq, scope: mainSession, lane: "l", outcome },
	});
	/** Of two that had found the same, the second is refused. */
	const beside = [one(1, "x", "a"), one(2, "x", "b", "failed"), one(5, "a", "c")];

	test("are nobody else's", () => {
		expect(othersIn(beside, "c")).toEqual({ between: false, since: false });
		expect(othersIn([one(1, "x", "a", "failed"), one(2, "x", "b"), one(5, "b", "c")], "c").between).toBe(false);
		expect(othersIn(beside.slice(0, 2), "a")).toEqual({ between: false, since: false });
		// It may have been written all the same, where only the flush failed.
		expect(othersIn(beside.slice(0, 2), "b").since).toBe(false);
		expect(othersIn(beside.slice(0, 2), "x").since).toBe(true);
		expect(othersIn([one(1, "x", "a", "failed")], "x")).toEqual({ between: false, since: false });
		expect(othersIn([one(1, "x", "a", "failed"), one(2, "y", "b")], "b")).toEqual({ between: true, since: false });
	});

	test("are nobody else's either where one was not made, or is not known to be", () => {
		const nobody = { between: false, since: false };
		// Another try of one in doubt, after another session has written the file; the process died before that was refused.
		const again = [
			one(1, "x", "a", "failed"),
			one(2, "x", "b"),
			{ ...one(3, "x", "a", "open"), again: true } as const,
			one(4, "b", "c"),
		];
		expect(othersIn(again, "c")).toEqual(nobody);
		expect(othersIn(again.slice(0, 3), "b")).toEqual(nobody);
		for (const outcome of ["open", "failed"] as const) {
			const late = [one(1, "w", "x"), one(2, "x", "a"), one(3, "x", "b", outcome), one(4, "a", "c")];
			expect(othersIn(late, "c")).toEqual(nobody);
			// Asked from a moment on that is after the one beside it.
			expect(othersIn(late.slice(2), "c", leftIn(late.slice(0, 2)))).toEqual(nobody);
			expect(othersIn(late.slice(2, 3), "a", leftIn(late.slice(0, 2)))).toEqual(nobody);
			expect(othersIn([...late.slice(0, 3), one(4, "y", "c")], "c")).toEqual({ between: true, since: false });
			expect(othersIn(late.slice(0, 3), "y")).toEqual({ between: false, since: true });
			expect(othersIn(late.slice(2, 3), "y", leftIn(late.slice(0, 2)))).toEqual({ between: false, since: true });
		}
		// It found what the one that was started last had made already.
		expect(othersIn([one(1, "x", "a"), one(2, "x", "c"), one(3, "a", "c")], "c")).toEqual(nobody);
		const first = [one(1, "x", "c"), one(2, "x", "b"), one(3, "b", "c"), one(4, "c", "d")];
		expect(othersIn(first, "d")).toEqual(nobody);
		// It has changed nothing, and looked before the first was made.
		expect(othersIn([one(1, "x", "a"), one(2, "x", "x"), one(3, "a", "c")], "c")).toEqual(nobody);
	});

	test("say what the file held, but for one that was prepared before another was made, and failed", () => {
		const seqs = (...writes: readonly FileWrite[]) => observations(writes).map(({ seq }) => seq);
		expect(seqs(...beside)).toEqual([1, 5]);
		expect(seqs(one(1, "x", "a", "failed"), one(2, "x", "b"))).toEqual([1, 2]);
		expect(seqs(one(1, "x", "a"), one(2, "a", "b", "failed"), one(3, "b", "c", "failed"))).toEqual([1, 2, 3]);
		expect(seqs(one(1, "x", "a", "open"), { ...one(2, "x", "a", "failed"), again: true })).toEqual([1]);
		expect(seqs(one(1, "x", "a", "failed"), { ...one(2, "x", "a", "open"), again: true })).toEqual([1, 2]);
		// Both take it away: the second has found what was there before the first.
		const gone: FileWrite[] = [1, 2].map((seq) => ({ ...one(seq, "x", ""), after: null }));
		expect([seqs(...gone), othersIn(gone, null)]).toEqual([[1], { between: false, since: false }]);
		// But where the first was in doubt until later, and then found that it is gone, the second has taken it away.
		expect(seqs(...gone.map((write, at) => ({ ...write, ended: at === 0 ? 4 : 3 })))).toEqual([1, 2]);
		// It was prepared before the one that was made.
		const retried: FileWrite = { ...one(3, "x", "a", "open"), again: true };
		expect(seqs(one(1, "x", "a", "failed"), one(2, "x", "b"), retried)).toEqual([1, 2]);
		expect(seqs(one(1, "x", "a"), one(2, "x", "b", "open"), one(3, "a", "c"))).toEqual([1, 3]);
		expect(seqs(one(1, "x", "a"), one(2, "x", "b", "open"), one(3, "b", "c"))).toEqual([1, 2, 3]);
		// A person has changed it before.
		expect(seqs(one(1, "x", "a"), one(2, "y", "b", "open"), one(3, "y", "c", "failed"))).toEqual([1, 2, 3]);
		expect(seqs(one(1, "x", "a"), one(2, "y", "b", "open"), one(3, "z", "c"))).toEqual([1, 2, 3]);
	});

	test("are done as far as the file tells, and the refused one is not asked", () => {
		const seqs = (writes: readonly FileWrite[], present: string) =>
			doneIn(writes, present).map(({ seq, inDoubt }) => (inDoubt ? -seq : seq));
		expect(seqs(beside, "c")).toEqual([1, 5]);
		const open = [one(1, "x", "a", "open"), one(2, "x", "b", "failed")];
		expect([seqs(open, "a"), seqs(open, "x"), seqs(open, "y")]).toEqual([[1], [], [-1]]);
		expect(seqs([...open, one(5, "a", "c")], "c")).toEqual([1, 5]);
		expect(seqs([one(1, "x", "x", "open")], "x")).toEqual([]);
	});
});

filesTest("what a killed write has left")("gc takes what a killed write of an image has left", async () => {
	const { runtime } = await openIt();
	await turn(runtime, edit("one", "two"));
	const left = join(project.state, "state/images", "0123456789abcdef.tmp");
	await writeFile(left, "half");
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	await expect(stat(left)).rejects.toMatchObject({ code: "ENOENT" });
	expect(textOf((await fileOf(runtime))?.before)).toBe("one\n");
	await runtime.close();
});

describe("the state", () => {
	const record = (seq: number, kind: string, data: object): WalRecord => ({
		seq,
		ts: 0,
		kind,
		scope: mainSession,
		data,
		crc: "00000000",
	});
	const start = (seq: number, path: string, more: object = {}): WalRecord => {
		const image = { sha256: `${seq}`.padStart(64, "0"), bytes: 1, mode: 0o644 };
		const prepared = { path, before: "0".repeat(16), after: "1".repeat(16), image, says: "" };
		return record(seq, stepStarted.kind, {
			lane: "l",
			fp: "f",
			occ: seq,
			kind: "tool",
			name: "write",
			purity: "side_effect",
			prepared,
			...more,
		});
	};

	test("shares all but the newest with the one before, however many writes there were", () => {
		let view = View.empty({}, [fileWrites]);
		for (let seq = 1; seq <= 5_000; seq++) view = view.apply(start(seq, `f${seq % 100}`));
		const before = view.get(fileWrites).writes;
		const after = view.apply(start(5_001, "f0")).get(fileWrites).writes;
		expect([after.length, after.sharedStart(before)]).toEqual([5_001, expect.any(Number)]);
		expect(after.sharedStart(before)).toBeGreaterThan(4_900);
	});

	test("names of each file the first image after each moment, and none else", () => {
		let view = View.empty({}, [fileWrites]);
		for (const [seq, path] of [
			[2, "a"],
			[4, "b"],
			[6, "a"],
			[8, "a"],
			[10, "b"],
		] as const)
			view = view.apply(start(seq, path));
		const { writes } = view.get(fileWrites);
		const at = (...moments: number[]) =>
			imagesAt(writes, moments)
				.map((name) => Number(name.slice(3)))
				.sort((a, b) => a - b);
		expect([at(0), at(2), at(5), at(8), at(10), at(5, 0, 8), at()]).toEqual([
			[2, 4],
			[4, 6],
			[6, 10],
			[10],
			[],
			[2, 4, 6, 10],
			[],
		]);
	});

	test("takes a write that took too long for one in doubt, and its next try for one that finds it undone", () => {
		const outcome = (seq: number, started: number, code: string): WalRecord => {
			const { data } = start(seq, "a");
			const reason = { message: "no", code };
			return record(seq, stepFailed.kind, { ...(data as object), started, retryable: false, told: true, reason });
		};
		let view = View.empty({}, [fileWrites]);
		const outcomes = () => [...view.get(fileWrites).writes].map(({ seq, outcome, again }) => [seq, outcome, again]);
		for (const each of [start(1, "a"), outcome(2, 1, "STEP_TIMEOUT")]) view = view.apply(each);
		expect(outcomes()).toEqual([[1, "open", undefined]]);
		view = view.apply(start(3, "a", { started: 1 }));
		view = view.apply(outcome(4, 1, "TOOL_CHANGED"));
		expect(outcomes()).toEqual([
			[1, "failed", undefined],
			[3, "failed", true],
		]);
		const named = () => imagesAt(view.get(fileWrites).writes, [1]).map((name) => Number(name.slice(3)));
		expect(named()).toEqual([]);
		// What has failed is prepared anew.
		for (const each of [start(5, "a", { started: 1 }), outcome(6, 1, "TOOL_CHANGED")]) view = view.apply(each);
		expect([outcomes().at(-1), named()]).toEqual([[5, "failed", undefined], [5]]);
	});

	test("takes what another tool is prepared with for no file, and of an older version what it says", () => {
		let view = View.empty({}, [fileWrites]);
		view = view.apply(start(1, "a", { prepared: { path: "a", before: null, after: "not a hash" } }));
		view = view.apply(start(2, "a", { prepared: { path: "a", before: "0".repeat(16), after: null, says: "" } }));
		const { writes, uncovered } = view.get(fileWrites);
		expect([writes.toArray(), uncovered.toArray()]).toEqual([
			[expect.objectContaining({ seq: 2, path: "a", after: null, outcome: "open" })],
			[{ seq: 1, name: "write" }],
		]);
	});
});

filesTest("the permissions of files")("images are for their owner alone", async () => {
	const { runtime } = await openIt();
	await turn(runtime, edit("one", "two"));
	const [name = ""] = await storeAt(project.state).blobs("images").list("");
	const { mode } = await stat(join(project.state, "state/images", `${name}.blob`));
	expect(mode & 0o777).toBe(0o600);
	await runtime.close();
});
