/**
 * Test the tests: each defect is planted in a copy of the source of the log or of the journal, and a named test has to go red.
 * The copy lies outside this checkout (Node strips no types under node_modules), and resolves its packages through links to it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Fault, FaultError } from "./fault.ts";
import { withDirectory } from "./lab/start.ts";

export interface Defect {
	readonly name: string;
	/** Whose source. Default: `wal`. */
	readonly package?: "journal";
	/** In its src. */
	readonly file: string;
	readonly from: string;
	readonly to: string;
	/** Tried in order until one goes red: `vitest <file of packages/wal/test>`, `journal <file of packages/journal/test>` or `faults <name>`. */
	readonly tests: readonly string[];
}

const BATCH = "writeAll(this.#active, bytes, this.#end));";
const SYNC_OF_A_BATCH = `${BATCH}\n\t\tthis.#active.sync();`;

export const defects: readonly Defect[] = [
	{
		name: "drop fdatasync of a batch",
		file: "file/log-file.ts",
		from: SYNC_OF_A_BATCH,
		to: BATCH,
		tests: ["vitest power-cut"],
	},
	{
		name: "drop fdatasync of the real disk",
		file: "disk/node-disk.ts",
		from: "fs.fdatasyncSync(this.#fd);",
		to: "",
		tests: ["faults errors"],
	},
	{
		name: "acknowledge before the fsync",
		file: "file/log-file.ts",
		from: SYNC_OF_A_BATCH,
		to: `${BATCH}\n\t\tconst active = this.#active;\n\t\tsetTimeout(() => active.sync());`,
		tests: ["vitest power-cut"],
	},
	{
		name: "drop the fsync of the directory",
		file: "file/atomic-write.ts",
		from: "disk.syncDirectory(directory);\n}",
		to: "}",
		tests: ["vitest power-cut"],
	},
	{
		name: "drop the fsync of the file before its rename",
		file: "file/atomic-write.ts",
		from: "file.sync();\n\t\tfile.close();",
		to: "file.close();",
		tests: ["vitest power-cut"],
	},
	{
		name: "ignore how many bytes were written",
		file: "disk/disk.ts",
		from: "done += written;",
		to: "done = bytes.length;",
		tests: ["faults errors"],
	},
	{
		name: "retry a failed fsync",
		file: "file/log-file.ts",
		from: SYNC_OF_A_BATCH,
		to: `${BATCH}\n\t\ttry {\n\t\t\tthis.#active.sync();\n\t\t} catch {\n\t\t\tthis.#active.sync();\n\t\t}`,
		tests: ["vitest power-cut"],
	},
	{
		name: "skip the fsync on open",
		file: "file/log-file.ts",
		from: "this.#active.sync();\n\t\tthis.#disk.syncDirectory(this.#directory);",
		to: "this.#disk.syncDirectory(this.#directory);",
		tests: ["vitest power-cut"],
	},
	{
		name: "skip the rewrite on open",
		file: "file/log-file.ts",
		from: "for (let position = proven; position < scan.end;",
		to: "for (let position = scan.end; position < scan.end;",
		tests: ["vitest power-cut"],
	},
	{
		name: "skip the fsync of the directory on open",
		file: "file/log-file.ts",
		from: "this.#disk.syncDirectory(this.#directory);\n\t\tthis.#allocated = this.#end;",
		to: "this.#allocated = this.#end;",
		tests: ["vitest power-cut"],
	},
	{
		name: "skip the fsync of the directory above on open",
		file: "file/log-file.ts",
		from: "\t\tsyncEntry(disk, directory);",
		to: "\t\tvoid syncEntry;",
		tests: ["vitest power-cut"],
	},
	{
		name: "drop the fsync above a new directory",
		file: "file/atomic-write.ts",
		from: "if (disk.makeDirectory(path)) disk.syncDirectory(parent);",
		to: "disk.makeDirectory(path);",
		tests: ["vitest power-cut"],
	},
	{
		name: "drop the fsync of a segment before its seal",
		file: "file/log-file.ts",
		from: "this.#active.sync();\n\t\tthis.#head?.sync();\n\t\tthis.#active.close();",
		to: "this.#head?.sync();\n\t\tthis.#active.close();",
		tests: ["vitest power-cut"],
	},
	{
		name: "drop the fsync of a seal's name",
		file: "file/log-file.ts",
		from: "sealedPath(this.#directory, first));\n\t\tthis.#disk.syncDirectory(this.#directory);",
		to: "sealedPath(this.#directory, first));",
		tests: ["vitest power-cut"],
	},
	{
		name: "begin a segment on open before the seal's name is synced",
		file: "file/log-file.ts",
		from: "this.#disk.syncDirectory(this.#directory);\n\t\t\t\tthis.#begin(",
		to: "this.#begin(",
		tests: ["vitest power-cut", "faults recut"],
	},
	{
		name: "skip bad lines",
		file: "file/scan.ts",
		from: "const decoded = lines.decode();\n\t\tconst why =",
		to: 'const decoded = lines.decode();\n\t\tif (decoded.type === "bad") continue;\n\t\tconst why =',
		tests: ["faults torn", "vitest recovery"],
	},
	{
		name: "keep the old descriptor after a rename",
		file: "file/log-file.ts",
		from: 'this.#active = this.#disk.open(activePath(this.#directory), "write");\n\t\tthis.#header = header;',
		to: 'this.#active ??= this.#disk.open(activePath(this.#directory), "write");\n\t\tthis.#header = header;',
		tests: ["vitest power-cut"],
	},
	{
		name: "lock by a pid file",
		file: "disk/node-disk.ts",
		from: "if (!tryLock(file)) {",
		to: 'void tryLock;\n\t\t\tif (fs.readFileSync(path, "utf8") !== "") {',
		tests: ["vitest engines", "faults writers"],
	},
	{
		name: "take a crc in capitals",
		file: "record/codec.ts",
		from: "byte >= 0x61 && byte <= 0x66 ? byte - 0x57 : -1",
		to: "(byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66 ? (byte | 0x20) - 0x57 : -1",
		tests: ["faults mutate"],
	},
	{
		name: "write the head before the fsync",
		file: "file/log-file.ts",
		from: SYNC_OF_A_BATCH,
		to: `${BATCH}
		const before = [this.#tail, this.#end, this.#sum] as const;
		this.#tail = { seq: last, crc };
		this.#end += bytes.length;
		this.#sum = crc32(bytes, this.#sum);
		this.#writeHead();
		[this.#tail, this.#end, this.#sum] = before;
		this.#active.sync();`,
		tests: ["vitest power-cut"],
	},
	{
		name: "cut a torn tail without keeping it",
		file: "file/log-file.ts",
		from: "const aside = torn && this.#setAside(torn, scan);",
		to: "const aside = undefined;",
		tests: ["faults torn"],
	},
	{
		name: "ignore the head",
		file: "file/decide.ts",
		from: "head?.seq ?? 0);",
		to: "0);",
		tests: ["faults mutate"],
	},
	{
		name: "ignore what lines say was durable",
		file: "file/decide.ts",
		from: "active?.durable ?? 0,",
		to: "0,",
		tests: ["faults mutate"],
	},
	{
		name: "take a log that ends too early",
		file: "file/decide.ts",
		from: "if (next - 1 < acknowledged)",
		to: "if (next < 0)",
		tests: ["faults mutate"],
	},
	{
		name: "sync and cut at the close of a poisoned log",
		file: "file/log-file.ts",
		from: "if (this.#active && !this.#broken",
		to: "if (this.#active",
		tests: ["faults moved", "faults errors"],
	},
	{
		name: "do not look whether the file is still ours",
		file: "file/log-file.ts",
		from: "if (!this.#next) {\n\t\t\tthis.#assertUntouched();",
		to: "if (!this.#next) {",
		tests: ["faults moved"],
	},
	{
		name: "do not check the order of records",
		file: "file/scan.ts",
		from: "if (decoded.record.prev !== prev)",
		to: 'if (decoded.record.prev === "")',
		tests: ["vitest log-file"],
	},
	{
		name: "believe the head without its sum",
		file: "file/scan.ts",
		from: "if (hex(sumOf(file, 0, head.offset)) !== head.sum) return undefined;",
		to: "",
		tests: ["vitest recovery"],
	},
	{
		name: "believe the seq of the head",
		file: "file/scan.ts",
		from: "return last?.seq === head.seq ?",
		to: "return last ?",
		tests: ["vitest log-file"],
	},
	{
		name: "do not sync again a directory that an opening before has made",
		file: "file/atomic-write.ts",
		from: "else syncEntry(disk, parent);",
		to: "",
		tests: ["vitest power-cut"],
	},
	{
		name: "lock the lock file alone",
		file: "file/log-file.ts",
		from: "if (head.tryLock()) return head;",
		to: "if (head) return head;",
		tests: ["vitest log-file"],
	},
	{
		name: "call before the start is durable",
		package: "journal",
		file: "perform.ts",
		from: "await durable;",
		to: "durable.catch(() => {});",
		tests: ["faults in-doubt"],
	},
	{
		name: "take a step in doubt for a fresh one",
		package: "journal",
		file: "entry.ts",
		from: '{ kind: "in_doubt", started, ...made, attempt };',
		to: '{ kind: "fresh" };',
		tests: ["faults in-doubt"],
	},
	{
		name: "skip the record of a completion",
		package: "journal",
		file: "perform.ts",
		from: "// A world answer that is the same as before needs no second record.",
		to: "if (started !== undefined) return (await revive(kept, results)) as T;",
		tests: ["faults in-doubt"],
	},
	{
		name: "make the key of the last start",
		package: "journal",
		file: "perform.ts",
		from: "started ??= seq;",
		to: "started = seq;",
		tests: ["faults in-doubt"],
	},
	{
		name: "make the key of the last start, after a crash",
		package: "journal",
		file: "entry.ts",
		from: "(before?.started ?? seq)",
		to: "seq",
		tests: ["faults in-doubt"],
	},
	{
		name: "do not ask the far side",
		package: "journal",
		file: "perform.ts",
		from: 'if (!reconcile) return { kind: "unknown" };',
		to: 'return { kind: "unknown" };',
		tests: ["faults in-doubt"],
	},
	{
		name: "do not believe the far side",
		package: "journal",
		file: "perform.ts",
		from: '\t\tif (isKnown(found)) {\n\t\t\tthis.#tell({ type: "in_doubt", decision: "reconciled" });',
		to: '\t\tif (isKnown(found) && attempt < 0) {\n\t\t\tthis.#tell({ type: "in_doubt", decision: "reconciled" });',
		tests: ["faults in-doubt"],
	},
	{
		name: "call what is to be skipped",
		package: "journal",
		file: "perform.ts",
		from: "return this.#complete(started, attempt, this.#step.empty as T);",
		to: "return this.#try({ attempt, started });",
		tests: ["faults in-doubt"],
	},
	{
		name: "go on where the policy is to stop",
		package: "journal",
		file: "perform.ts",
		from: '\t\t\tcase "discard":\n\t\t\t\tthrow',
		to: '\t\t\tcase "discard":\n\t\t\t\tif (started > 0) return this.#complete(started, attempt, this.#step.empty as T);\n\t\t\t\tthrow',
		tests: ["faults in-doubt"],
	},
	{
		name: "do not say what is in doubt",
		package: "journal",
		file: "perform.ts",
		from: 'this.#tell({ type: "in_doubt", decision });',
		to: "void decision;",
		tests: ["faults in-doubt"],
	},
	{
		name: "begin again with the first try after a crash",
		package: "journal",
		file: "perform.ts",
		from: "return this.#try({ attempt, started });",
		to: "return this.#try({ attempt: 1, started });",
		tests: ["faults in-doubt"],
	},
	{
		name: "forget a failure",
		package: "journal",
		file: "entry.ts",
		from: '\t\t\treturn { kind: "failed", reason, ...start, order, ...again };',
		to: '\t\t\treturn { kind: "fresh" };',
		tests: ["faults in-doubt"],
	},
	{
		name: "take what a discarded step has stopped for failed",
		package: "journal",
		file: "perform.ts",
		from: "if (isCut || isStop(error)) throw error;",
		to: "if (isCut) throw error;",
		tests: ["faults in-doubt"],
	},
	{
		name: "call though the open start may not be durable",
		package: "journal",
		file: "perform.ts",
		from: "\t\t\tawait durable;\n",
		to: "\t\t\tif (started === undefined || attempt > 1) await durable;\n",
		tests: ["faults in-doubt"],
	},
	{
		name: "call what was given up meanwhile",
		package: "journal",
		file: "perform.ts",
		from: "\t\t// The call may have been cancelled during the waits above.\n\t\tthis.#using.signal.throwIfAborted();\n",
		to: "",
		tests: ["journal given-up", "faults in-doubt"],
	},
	{
		name: "do not look again after the far side was asked",
		package: "journal",
		file: "perform.ts",
		from: '\t\tif (now.kind !== "in_doubt") return this.#ending(now);\n',
		to: "",
		tests: ["faults in-doubt"],
	},
	{
		name: "price a call by what stood at its place",
		package: "journal",
		file: "script/explain.ts",
		from: "const cost = this.#alike(id);",
		to: "const cost = this.#atThisPlace(id);",
		tests: ["journal order/to-pay"],
	},
	{
		name: "take a price that nobody knows for 0",
		package: "journal",
		file: "script/explain.ts",
		from: "whole === undefined ? undefined :",
		to: "whole === undefined ? 0 :",
		tests: ["journal order/to-pay"],
	},
	{
		name: "take what is guessed for certain",
		package: "journal",
		file: "script/explain.ts",
		from: "this.#isGuessing = true;",
		to: "",
		tests: ["journal order/to-pay"],
	},
	{
		name: "preview as far as is proven alone",
		file: "wal.ts",
		from: 'readOnly === "as recovered" ? found : seq',
		to: "seq",
		tests: ["vitest log-file"],
	},
];

export const fault: Fault = {
	name: "defects",
	title: "defects planted in the source of the log and of the journal",
	promise: "each turns a named test red",
	rows: [],
	needs: () => (process.platform === "win32" ? "needs links" : undefined),
	async run({ short }) {
		const figures: Record<string, string> = {};
		const survived: string[] = [];
		// A test that is red without a defect catches nothing.
		const sound = new Map<string, boolean>();
		for (const test of new Set(defects.flatMap(({ tests }) => tests))) {
			sound.set(test, !(await withCopy(undefined, (root) => isRed(root, test))));
			if (!sound.get(test)) figures[`${test} without a defect`] = "RED: it proves nothing below";
		}
		const planted = short ? defects.filter((_, i) => i % 4 === 0) : defects;
		for (const defect of planted) {
			const caught = await withCopy(defect, async (root) => {
				for (const test of defect.tests) if (sound.get(test) && (await isRed(root, test))) return test;
				return undefined;
			});
			figures[defect.name] = caught ?? "SURVIVED";
			if (caught === undefined) survived.push(defect.name);
		}
		figures["caught / planted"] = `${planted.length - survived.length} / ${planted.length}`;
		if (survived.length > 0) throw new FaultError(`nobody noticed: ${survived.join("; ")}`, figures);
		return figures;
	},
};

const repository = join(import.meta.dirname, "../..");

/** The log, its tests and these faults in a directory of their own, the defect planted. */
async function withCopy<T>(defect: Defect | undefined, use: (root: string) => Promise<T>): Promise<T> {
	return withDirectory(async (root) => {
		await chmod(root, 0o755);
		const from = (path: string): string => join(repository, path);
		// The links between packages are relative: what the faults need of the others lies over the copy of the log too.
		const packages = (await readdir(from("packages"))).map((name) => `packages/${name}`);
		for (const path of packages.flatMap((path) =>
			["src", "node_modules", "package.json"].map((part) => join(path, part)),
		))
			await cp(from(path), join(root, path), { recursive: true, verbatimSymlinks: true });
		for (const path of [
			"packages/wal/test",
			"packages/wal/vitest.config.ts",
			"packages/journal/test",
			"packages/journal/vitest.config.ts",
			"vitest.base.ts",
			"tests/package.json",
			"tests/node_modules",
			"tests/faults",
			"tests/kit",
			"tests/cli.ts",
			"tests/sample.ts",
			"tests/workspace.ts",
		])
			await cp(from(path), join(root, path), { recursive: true, verbatimSymlinks: true });
		await writeFile(join(root, "package.json"), '{ "private": true, "type": "module" }');
		await symlink(from("node_modules"), join(root, "node_modules"));
		if (defect) {
			const path = join(root, "packages", defect.package ?? "wal", "src", defect.file);
			const source = await readFile(path, "utf8");
			const parts = source.split(defect.from);
			if (parts.length !== 2)
				throw new Error(`"${defect.name}": its place is ${parts.length - 1} times in ${defect.file}:\n${defect.from}`);
			await writeFile(path, parts.join(defect.to));
		}
		return use(root);
	});
}

async function isRed(root: string, test: string): Promise<boolean> {
	const [kind = "", name = ""] = test.split(" ");
	const tested = { vitest: "packages/wal", journal: "packages/journal" }[kind];
	const args =
		tested !== undefined
			? [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", join(root, tested), name]
			: ["--conditions=@reyn/source", join(root, "tests/faults/run.ts"), name, "--short"];
	const env = { ...process.env, REYN_STATES: "16", REYN_DEEP: "1" };
	delete (env as Record<string, string | undefined>).VITEST;
	// A defect may hang a test as well as fail it.
	const child = spawn(process.execPath, args, {
		cwd: root,
		env,
		stdio: "ignore",
		timeout: 120_000,
		killSignal: "SIGKILL",
	});
	const [code] = await once(child, "close");
	return code !== 0;
}
