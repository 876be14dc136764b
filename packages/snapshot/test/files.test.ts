/** Tracked files of a directory, recorded in the log and restored from it. */
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Appender, memoryEngine, openWal, type Seq, type Wal, type WalRecord } from "@reyn/wal";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startSource } from "../../../tests/kit/killable.ts";
import { pointsOf } from "../../../tests/sample.ts";
import { type FileGenerations, fileChanged, fileGenerations, files } from "../src/files/index.ts";
import { capture, memorySnapshots, restore, type Sources, straightPath, type View } from "../src/index.ts";
import { viewOf } from "./files-view.ts";

let home: string;
let root: string;
let wal: Wal;
let sources: Sources;
let config: FileGenerations;

beforeEach(async () => {
	home = await mkdtemp(join(tmpdir(), "reyn-files-"));
	root = join(home, "config");
	wal = await openWal(memoryEngine(), { records: [fileChanged] });
	sources = { wal, snapshots: memorySnapshots(), projections: [files] };
	config = fileGenerations({ directory: root, tracks: () => true });
});
afterEach(async () => {
	await wal.close();
	await rm(home, { recursive: true, force: true });
});

const at = (seq: Seq): Promise<View> => restore(sources, straightPath(seq, {}));
const now = (): Promise<View> => at(wal.tip);
const record = async (): Promise<readonly WalRecord[]> => config.record(wal, await now());
const write = async (path: string, content: string | null): Promise<readonly WalRecord[]> =>
	config.write(wal, await now(), path, content);
const edit = async (path: string, content: string | Uint8Array): Promise<void> => {
	await mkdir(join(root, path, ".."), { recursive: true });
	await writeFile(join(root, path), content);
};
const changes = (records: readonly WalRecord[]): unknown[] => records.map(({ data }) => data);

/** A log that takes records, and has none on its disk until that is resolved. */
function slowLog(): { slow: Appender; disk: PromiseWithResolvers<void> } {
	const disk = Promise.withResolvers<void>();
	const append: Appender["append"] = (draft, scope) => {
		const { seq, record } = wal.append(draft, scope);
		return { seq, record, durable: disk.promise };
	};
	return { slow: { append }, disk };
}

/** Time enough for what does not wait. */
async function longEnough(): Promise<void> {
	const other = fileGenerations({ directory: join(home, "other"), tracks: () => true });
	await using log = await openWal(memoryEngine(), { records: [fileChanged] });
	for (const content of ["1", "2", "3"]) await other.write(log, viewOf({}), "a.yaml", content);
}

/** Every path below the directory with its text, but for what a killed write leaves; a folder that is empty ends with `/`. */
async function listing(folder = root): Promise<Record<string, string>> {
	const found: Record<string, string> = {};
	// Not `recursive`: from Node 26 on that goes through links.
	for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
		if (entry.name.endsWith(".tmp")) continue;
		const path = join(folder, entry.name);
		if (entry.isSymbolicLink()) found[entry.name] = `-> ${await readlink(path)}`;
		else if (entry.isFile()) found[entry.name] = await readFile(path, "utf8");
		else {
			const below = Object.entries(await listing(path));
			if (below.length === 0 && (await readdir(path)).length === 0) found[`${entry.name}/`] = "";
			for (const [name, text] of below) found[`${entry.name}/${name}`] = text;
		}
	}
	return found;
}

test("what was created, edited and removed by hand is recorded whole, one record a file, and nothing twice", async () => {
	await edit("a.yaml", "a: 1\n");
	await edit("agents/main.yaml", "model: small\n");
	expect(changes(await record())).toEqual([
		{ path: "a.yaml", content: "a: 1\n" },
		{ path: "agents/main.yaml", content: "model: small\n" },
	]);
	expect(wal.durableTip).toBe(wal.tip);
	expect(await record()).toEqual([]);
	await edit("agents/main.yaml", "model: large\n");
	await rm(join(root, "a.yaml"));
	expect(changes(await record())).toEqual([
		{ path: "a.yaml", content: null },
		{ path: "agents/main.yaml", content: "model: large\n" },
	]);
	expect((await now()).get(files)).toEqual({ "agents/main.yaml": "model: large\n" });
});

test("what was recorded is durable", async () => {
	await edit("a.yaml", "1");
	const { slow, disk } = slowLog();
	const done = vi.fn();
	const recording = config.record(slow, await now()).then(done);
	await longEnough();
	expect([wal.tip, done.mock.calls.length]).toEqual([2, 0]);
	disk.resolve();
	await recording;
});

test("only what is tracked is recorded, and what was recorded once is looked at for good", async () => {
	await edit("a.yaml", "a");
	await edit("notes.txt", "mine");
	await edit("a.yaml.unrecorded-0123abcd", "kept");
	await edit("0123456789abcdef.tmp", "half");
	config = fileGenerations({ directory: root, tracks: (path) => !path.endsWith(".txt") });
	expect(changes(await record())).toEqual([{ path: "a.yaml", content: "a" }]);
	config = fileGenerations({ directory: root, tracks: () => false });
	await edit("a.yaml", "b");
	expect(changes(await record())).toEqual([{ path: "a.yaml", content: "b" }]);
});

test("every byte of a text comes back: line ends, a byte order mark, none at all", async () => {
	const texts = {
		crlf: "a\r\nb\r\n",
		bom: "\uFEFFa",
		empty: "",
		nul: "a\0b",
		far: "日本 🙂 \u2028",
		"with space": "é e\u0301",
	};
	for (const [path, text] of Object.entries(texts)) await edit(path, text);
	await record();
	const full = await now();
	await config.restore(full, viewOf({}));
	expect(await listing()).toEqual({});
	await config.restore(viewOf({}), full);
	expect(await listing()).toEqual(texts);
	expect(await record()).toEqual([]);
});

test("a write is in the log before it is on the disk, and a log that refuses it leaves the file as it was", async () => {
	await write("a.yaml", "1");
	const { slow, disk } = slowLog();
	const writing = config.write(slow, await now(), "a.yaml", "2");
	await longEnough();
	expect(await listing()).toEqual({ "a.yaml": "1" });
	disk.resolve();
	await writing;
	expect(await listing()).toEqual({ "a.yaml": "2" });

	const stale: Appender = {
		append() {
			throw new Error("STALE_LINEAGE");
		},
	};
	await expect(config.write(stale, viewOf({ "a.yaml": "2" }), "a.yaml", "3")).rejects.toThrow("STALE_LINEAGE");
	expect(await listing()).toEqual({ "a.yaml": "2" });
});

test("a write records first what was edited by hand; one of what is there does nothing", async () => {
	await write("a.yaml", "1");
	await edit("a.yaml", "by hand");
	expect(changes(await write("a.yaml", "2"))).toEqual([
		{ path: "a.yaml", content: "by hand" },
		{ path: "a.yaml", content: "2" },
	]);
	expect(await write("a.yaml", "2")).toEqual([]);
	await rm(join(root, "a.yaml"));
	expect(await write("a.yaml", "2")).toEqual([]);
	expect(await listing()).toEqual({ "a.yaml": "2" });
	expect(changes(await write("a.yaml", null))).toEqual([{ path: "a.yaml", content: null }]);
	expect(await listing()).toEqual({});
});

test("text that UTF-8 cannot hold is neither written nor appended", async () => {
	await expect(write("a", "\uD800")).rejects.toMatchObject({ code: "WAL_INVALID_RECORD" });
	expect([wal.tip, await listing()]).toEqual([1, {}]);
});

test("calls take turns: a write that is under way is no edit by hand", async () => {
	await write("a.yaml", "1");
	const before = await now();
	const first = config.write(wal, before, "a.yaml", "2");
	// As one that follows the log sees it, before the file is written.
	const ahead = viewOf({ "a.yaml": "2" });
	const [, recorded] = await Promise.all([first, config.record(wal, ahead)]);
	expect(recorded).toEqual([]);
	expect((await now()).get(files)).toEqual({ "a.yaml": "2" });
});

test("a restore writes what differs, removes what came later, and touches nothing else", async () => {
	for (const [path, text] of Object.entries({ same: "same", edited: "old", gone: "gone" })) await write(path, text);
	const then = await now();
	await write("edited", "new");
	await write("gone", null);
	await write("later/deep/er", "later");
	await edit("foreign", "not mine");
	await edit("same", "edited and not recorded");
	const done = await config.restore(await now(), then);
	expect(done).toEqual({ written: ["edited", "gone"], removed: ["later/deep/er"], kept: [] });
	expect(await listing()).toEqual({
		same: "edited and not recorded",
		edited: "old",
		gone: "gone",
		foreign: "not mine",
	});
	expect(await config.restore(await at(wal.tip), then)).toEqual({ written: [], removed: [], kept: [] });
});

test("a file may take the name of a folder, and a folder that of a file", async () => {
	const [file, folder] = [viewOf({ a: "file" }), viewOf({ "a/b/c": "in folder" })];
	await config.restore(viewOf({}), file);
	for (const _ of [1, 2]) {
		await config.restore(file, folder);
		expect(await listing()).toEqual({ "a/b/c": "in folder" });
	}
	for (const _ of [1, 2]) {
		await config.restore(folder, file);
		expect(await listing()).toEqual({ a: "file" });
	}
});

test("empty folders give way to a file of their name", async () => {
	await mkdir(join(root, "a/b/c"), { recursive: true });
	await mkdir(join(root, "a/d"));
	await config.restore(viewOf({}), viewOf({ a: "file" }));
	expect(await listing()).toEqual({ a: "file" });
});

test("what nobody recorded is renamed and never lost, whatever it is; what it was to be is written", async () => {
	const [from, to] = [
		viewOf({ text: "1", bytes: "1", link: "1", later: "1" }),
		viewOf({ text: "2", bytes: "2", link: "2" }),
	];
	const bytes = Uint8Array.of(0xff, 0xfe, 0x00);
	await edit("text", "by hand");
	await edit("bytes", bytes);
	await symlink("/etc/hostname", join(root, "link"));
	await edit("later", "by hand too");
	const { written, removed, kept } = await config.restore(from, to);
	expect([written, removed]).toEqual([["text", "bytes", "link"], ["later"]]);
	expect(kept.map(({ path }) => path)).toEqual(["later", "text", "bytes", "link"]);
	const keptIn = Object.fromEntries(kept.map(({ path, keptIn }) => [path, join(root, keptIn)])) as Record<
		string,
		string
	>;
	expect(await readFile(keptIn.text as string, "utf8")).toBe("by hand");
	expect(await readFile(keptIn.later as string, "utf8")).toBe("by hand too");
	expect(Uint8Array.from(await readFile(keptIn.bytes as string))).toEqual(bytes);
	expect(await readlink(keptIn.link as string)).toBe("/etc/hostname");
	expect(await listing()).toMatchObject({ text: "2", bytes: "2", link: "2" });
	expect(await config.restore(from, to)).toEqual({ written: [], removed: [], kept: [] });
	// They are no files of the application.
	expect((await config.record(wal, to)).length).toBe(0);
});

test("what no record can hold is named, with all others recorded, and a restore that it does not concern goes on", async () => {
	await edit("big", Buffer.alloc(8 * 1024 * 1024 + 1, "a"));
	// Each takes six bytes as JSON.
	await edit("grows", "\u0001".repeat(2 * 1024 * 1024));
	await edit("image", Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff));
	await edit("ok", "fine");
	await symlink("/etc/hostname", join(root, "link"));
	await edit("real/x", "x");
	await symlink("real", join(root, "linked"));
	await edit("a:b", "no name on Windows");
	const refused = await record().catch((error: unknown) => error);
	expect(refused).toMatchObject({
		name: "SnapshotError",
		code: "SNAPSHOT_FILE_NOT_RECORDED",
		detail: {
			files: [
				{ path: "a:b", why: expect.stringMatching(/no path/) },
				{ path: "big", why: expect.stringMatching(/larger than 8388608 bytes/) },
				{ path: "grows", why: expect.stringMatching(/8388608/) },
				{ path: "image", why: "it is not UTF-8" },
				{ path: "link", why: "it is no plain file" },
				{ path: "linked", why: "it is no plain file" },
			],
		},
	});
	const view = await now();
	expect([view.get(files), wal.durableTip]).toEqual([{ ok: "fine", "real/x": "x" }, wal.tip]);
	expect((await config.restore(view, viewOf({ "real/x": "x" }))).removed).toEqual(["ok"]);
	await expect(write("image", "text")).rejects.toMatchObject({ code: "SNAPSHOT_FILE_NOT_RECORDED" });
	await expect(write("new", "a".repeat(9 * 1024 * 1024))).rejects.toMatchObject({ code: "SNAPSHOT_FILE_NOT_RECORDED" });
	expect(Object.keys(await listing())).not.toContain("new");
});

test.each([
	"../out",
	"a/../../out",
	"/etc/out",
	"a//b",
	"a/",
	"",
	".",
	"C:/out",
	"..\\out",
	"a\0b",
	"__proto__",
	"\uFFFD",
	"\uD800",
])("the path %j is neither written nor appended", async (path) => {
	await expect(write(path, "x")).rejects.toMatchObject({ code: "WAL_INVALID_RECORD" });
	expect([wal.tip, await listing(home)]).toEqual([1, {}]);
});

test("a state never has a file and a folder of one name, in whatever order the log says so", () => {
	expect(viewOf({ a: "1", "a.b": "2", "a/b/c": "3" }).get(files)).toEqual({ "a.b": "2", "a/b/c": "3" });
	expect(viewOf({ "a/b/c": "3", "a/d": "4", ab: "2", a: "1" }).get(files)).toEqual({ ab: "2", a: "1" });
});

test("a path in a log that leads out stops a restore before anything is written", async () => {
	const hostile = viewOf({ "a.yaml": "1", "../out": "x" });
	await expect(config.restore(viewOf({}), hostile)).rejects.toMatchObject({ code: "SNAPSHOT_NOT_RESTORED" });
	await expect(config.restore(hostile, viewOf({}))).rejects.toMatchObject({ code: "SNAPSHOT_NOT_RESTORED" });
	expect(await listing(home)).toEqual({});
});

test("nothing is written, removed or recorded behind a link", async () => {
	await mkdir(join(home, "outside"));
	await writeFile(join(home, "outside", "a"), "theirs");
	await mkdir(root);
	await symlink("../outside", join(root, "link"));
	const behind = viewOf({ "link/a": "theirs", b: "b" });
	await expect(config.restore(behind, viewOf({}))).rejects.toThrow(
		/link\/a .*link is a symbolic link; nothing was changed/,
	);
	await expect(config.restore(viewOf({}), viewOf({ "link/new": "x", b: "b" }))).rejects.toThrow(/symbolic link/);
	await expect(config.write(wal, viewOf({}), "link/a", "ours")).rejects.toThrow(/symbolic link/);
	await expect(config.record(wal, viewOf({ "link/a": "old" }))).rejects.toThrow(/symbolic link/);
	expect(await listing(home)).toEqual({ "outside/a": "theirs", "config/link": "-> ../outside" });
});

test("a file that cannot be put in its place is named, and the next restore finishes", async () => {
	const [from, to] = [viewOf({ z: "old" }), viewOf({ a: "file", z: "new" })];
	await edit("z", "old");
	await edit("a/mine", "in the way");
	await expect(config.restore(from, to)).rejects.toMatchObject({
		code: "SNAPSHOT_NOT_RESTORED",
		detail: { path: "a" },
	});
	expect((await listing())["a/mine"]).toBe("in the way");
	await rm(join(root, "a"), { recursive: true });
	await config.restore(from, to);
	expect(await listing()).toEqual({ a: "file", z: "new" });
});

test("from a snapshot, over a log that lost its beginning, it is the same", async () => {
	for (const [path, text] of [
		["a", "1"],
		["b", "1"],
		["a", "2"],
	] as const)
		await write(path, text);
	const [last] = await write("c", "1");
	await capture(sources, await now());
	await wal.truncate({ before: wal.tip });
	await write("b", null);
	await rm(root, { recursive: true });
	await config.restore(viewOf({}), await at((last as WalRecord).seq));
	expect(await listing()).toEqual({ a: "2", b: "1", c: "1" });
	await config.restore(await at((last as WalRecord).seq), await now());
	expect(await listing()).toEqual({ a: "2", c: "1" });
});

test("two directories in one log are told apart by their scopes", async () => {
	const [alice, bob] = [{ agent: "alice" }, { agent: "bob" }];
	const other = fileGenerations({ directory: join(home, "bob"), tracks: () => true });
	const of = (scope: { agent: string }): Promise<View> => restore(sources, straightPath(wal.tip, scope));
	await config.write(wal, await of(alice), "a", "alice's");
	await other.write(wal, await of(bob), "a", "bob's");
	expect([(await of(alice)).get(files), (await of(bob)).get(files)]).toEqual([{ a: "alice's" }, { a: "bob's" }]);
	expect(await other.record(wal, await of(bob))).toEqual([]);
});

const old = { edited: "old", gone: "gone", "folder/only": "only", name: "a file", same: "same" };
const next = { edited: "new", "made/deep": "made", "name/inner": "in a folder", same: "same" };
const found = { ...old, edited: "by hand", foreign: "not mine" };

test("killed before any change that a restore makes, it is finished by the next one, and no edit is lost", async () => {
	const told = await killedAtEach("restore", found, [old, next], async (directory, calls) => {
		const half = await listing(directory);
		for (const path of ["same", "foreign"] as const) expect(half[path]).toBe(found[path]);
		expect(Object.values(half), `after ${calls.at(-1)}`).toContain("by hand");

		const again = fileGenerations({ directory, tracks: () => true });
		await again.restore(viewOf(old), viewOf(next));
		const { "edited.unrecorded-*": kept, ...others } = Object.fromEntries(
			Object.entries(await listing(directory)).map(([path, text]) => [path.replace(/[0-9a-f]{8}$/, "*"), text]),
		);
		expect([others, kept], `after ${calls.at(-1)}`).toEqual([{ ...next, foreign: "not mine" }, "by hand"]);
		expect(await again.restore(viewOf(old), viewOf(next))).toEqual({ written: [], removed: [], kept: [] });
	});
	// There was every kind of step.
	const steps = ["unlink gone", "rmdir folder", "rename edited", "create *", "write *", "rename *"];
	expect(told.map((call) => call.replace(/\S+\.tmp$/, "*"))).toEqual(
		expect.arrayContaining([...steps, "mkdir made", "sync name"]),
	);
});

test("what a restore removed, wrote and renamed is synced after it, also where another process had come so far", async () => {
	for (const [path, text] of Object.entries(found)) await edit(path, text);
	const { calls } = await child(root, "restore", 0, [old, next]);
	const last = (pattern: RegExp): number => calls.findLastIndex((call) => pattern.test(call));
	expect(last(/^sync $/)).toBeGreaterThan(Math.max(last(/^unlink/), last(/^rmdir/), last(/^rename/)));
	// The edit is safe under its new name before its place is taken.
	expect(calls[calls.indexOf("rename edited") + 1]).toBe("sync ");
	expect((await child(root, "restore", 0, [old, next])).calls).toEqual([
		"rmdir folder",
		"sync ",
		"sync made",
		"sync name",
	]);
});

test("killed anywhere in a write, the file is the old or the new one, and never new before its record", async () => {
	const [one, two] = [{ a: "1" }, { a: "2" }];
	const told = await killedAtEach("write", one, [one, two], async (directory, calls) => {
		const isRecorded = calls.includes("durable log");
		const isWritten = calls.some((call) => call.startsWith("rename "));
		expect(await listing(directory)).toMatchObject(isWritten ? two : one);
		// A restore over the record finishes it.
		if (isRecorded) await fileGenerations({ directory, tracks: () => true }).restore(viewOf(one), viewOf(two));
		expect(await listing(directory)).toEqual(isRecorded ? two : one);
	});
	expect(told[0]).toBe("durable log");
});

/** Runs the child over a directory of its own for each change that it makes, killed before that; gives all changes. */
async function killedAtEach(
	action: "restore" | "write",
	contents: Readonly<Record<string, string>>,
	states: readonly object[],
	check: (directory: string, calls: readonly string[]) => Promise<void>,
): Promise<readonly string[]> {
	const run = async (n: number): Promise<readonly string[]> => {
		const directory = join(home, `killed-${n}`);
		for (const [path, text] of Object.entries(contents)) await edit(join("..", `killed-${n}`, path), text);
		const { killed, calls } = await child(directory, action, n, states);
		expect(killed).toBe(n > 0);
		await check(directory, calls);
		return calls;
	};
	const all = await run(0);
	const points = [...pointsOf(1, all.length, 9)];
	for (let i = 0; i < points.length; i += 4) await Promise.all(points.slice(i, i + 4).map(run));
	return all;
}

/** Runs the child: it is killed before its n-th change (0: never), and has told those before. */
async function child(
	directory: string,
	action: "restore" | "write",
	n: number,
	states: readonly object[],
): Promise<{ killed: boolean; calls: readonly string[] }> {
	const script = join(import.meta.dirname, "kill-at-call.ts");
	const { code, signal, stdout, stderr } = await startSource(
		script,
		[directory, action, String(n), JSON.stringify(states)],
		// Many start, with the same code.
		{ env: { NODE_COMPILE_CACHE: join(home, "cache") } },
	).ended;
	expect(signal ?? code, stderr).toBe(signal ? "SIGKILL" : 0);
	return { killed: signal !== null, calls: stdout.split("\n").slice(0, -1) };
}
