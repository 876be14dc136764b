/** Where the addon that locks files cannot be loaded: what needs no lock works, and a writer of files is told what to do. */
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { defineRecord, nodeDisk, openWal } from "../src/index.ts";

const said = defineRecord("said", z.object({ text: z.string() }));

/** A module that each thread of a process begins with. */
const beginning = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;

/** Fails the addon, as a loader does. */
const without = (error: string): string =>
	beginning(`
import { registerHooks } from "node:module";
registerHooks({
	resolve(name, context, next) {
		if (name === "fs-native-extensions") throw ${error};
		return next(name, context);
	},
});`);

/** An architecture that nobody has a binary for. */
const elsewhere = beginning('Object.defineProperty(process, "arch", { value: "riscv64" });');

/** By this file the addon tells Alpine, and looks for a binary of musl. */
const alpine = beginning(`
import fs from "node:fs";
const { existsSync } = fs;
fs.existsSync = (path) => path === "/etc/alpine-release" || existsSync(path);`);

const index = JSON.stringify(new URL("../src/index.ts", import.meta.url).href);

async function someDirectory(): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "reyn-lock-"));
	onTestFinished(() => rm(directory, { recursive: true }));
	return directory;
}

test.each([
	[
		"that is not installed",
		["--import", without('Object.assign(new Error("Cannot find it"), { code: "MODULE_NOT_FOUND" })')],
		"package",
		/is not installed \(Cannot find it\).*bundler/,
	],
	[
		"that does not load",
		["--import", without('new Error("no such symbol\\nin it")')],
		"addon",
		/cannot be loaded on .* \(no such symbol\)/,
	],
	[
		"without a binary for this machine",
		["--import", elsewhere],
		"binary",
		/has no binary for \w+-riscv64; it has them for Linux, macOS and Windows/,
	],
	["that Node may not load", ["--no-addons"], "permission", /--allow-addons/],
])(
	"with an addon %s memory and readers work, and a writer of files is told what is missing",
	async (_, flags, missing, message) => {
		const directory = await someDirectory();
		const wal = await openWal(directory, { records: [said] });
		await wal.append(said({ text: "a" })).durable;
		await wal.close();
		const file = join(directory, "program.mjs");
		await writeFile(
			file,
			`
const { memoryEngine, openWal } = await import(${index});
const memory = await openWal(memoryEngine(), { records: [] });
await memory.close();
const reader = await openWal(${JSON.stringify(directory)}, { records: [], readOnly: true });
console.log(reader.tip);
await reader.close();
await openWal(${JSON.stringify(directory)}, { records: [] }).catch(({ code, detail, message }) =>
	console.log(code, detail.code, detail.missing, message));`,
		);
		const args = ["--conditions=@reyn/source", ...flags, file];
		const { stdout } = await promisify(execFile)(process.execPath, args);
		expect(stdout).toMatch(
			new RegExp(`^2\nWAL_IO NO_LOCK ${missing} no file can be locked here: .*readOnly, memoryEngine`),
		);
		expect(stdout).toMatch(message);
	},
);

/** A process as on Alpine that opens a log: says what came of it, and has it open until it is killed. */
async function startOnAlpine(directory: string) {
	const file = join(directory, "alpine.mjs");
	await writeFile(
		file,
		`
const { openWal } = await import(${index});
await openWal(${JSON.stringify(directory)}, { records: [] }).then(
	({ tip }) => console.log("tip", tip),
	({ code, message }) => console.log(code, message),
);
setInterval(() => {}, 1000);`,
	);
	const args = ["--conditions=@reyn/source", "--import", alpine, file];
	const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
	onTestFinished(() => void child.kill("SIGKILL"));
	const said = once(child.stdout, "data").then(String);
	return {
		said,
		async kill(): Promise<void> {
			const ended = once(child, "exit");
			child.kill("SIGKILL");
			await ended;
		},
	};
}

/** Has a binary of glibc, which musl can load. */
const isLinux = process.platform === "linux" && ["x64", "arm64"].includes(process.arch);

test.skipIf(!isLinux)(
	"on Alpine the binary of glibc locks, and the same bytes as elsewhere (it needs Linux)",
	async () => {
		const directory = await someDirectory();
		const wal = await openWal(directory, { records: [said] });
		const refused = await startOnAlpine(directory);
		expect(await refused.said).toMatch(/^WAL_LOCKED .*open for writing in process/);
		await refused.kill();
		await wal.close();
		const holder = await startOnAlpine(directory);
		expect(await holder.said).toBe("tip 2\n");
		await expect(openWal(directory, { records: [said] })).rejects.toMatchObject({ code: "WAL_LOCKED" });
		await holder.kill();
		await using again = await openWal(directory, { records: [said] });
		expect(again.tip).toBe(3);
	},
);

/** What is asked of the binary, as Node does it: bound late, since what it wants of Node is not here. */
const host = `
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
int uv_translate_sys_error(int code) { return -code; }
int main(int count, char **given) {
	void *addon = dlopen(given[1], RTLD_LAZY | RTLD_LOCAL);
	if (!addon) return puts(dlerror()), 1;
	int (*lock)(int, uint64_t, size_t, int) = dlsym(addon, "fs_ext__try_lock");
	return printf("%d\\n", lock(open(given[2], O_RDWR), 2147483647, 1, 2)), 0;
}`;

const hasMusl = isLinux && spawnSync("musl-gcc", ["--version"]).status === 0;

test.skipIf(!hasMusl)(
	"musl itself loads that binary, and its lock and ours exclude each other (it needs musl-gcc)",
	async () => {
		const directory = await someDirectory();
		const [source, program, locked] = ["host.c", "host", "locked"].map((name) => join(directory, name)) as [
			string,
			string,
			string,
		];
		await writeFile(source, host);
		await writeFile(locked, "");
		execFileSync("musl-gcc", ["-rdynamic", "-o", program, source]);
		const addon = createRequire(import.meta.url).resolve("fs-native-extensions");
		const binary = join(dirname(addon), `prebuilds/linux-${process.arch}/fs-native-extensions.node`);
		const run = (): string => execFileSync(program, [binary, locked], { encoding: "utf8" }).trim();
		expect(run()).toBe("0");
		const file = nodeDisk.open(locked, "write");
		expect(file.tryLock()).toBe(true);
		// EAGAIN.
		expect(run()).toBe("-11");
		file.close();
		expect(run()).toBe("0");
	},
);

test.each([
	["with a flag of V8", ["--expose-gc"]],
	["from a text of a module", ["--input-type=module"]],
	["with both, in two words", ["--expose-gc", "--input-type", "module"]],
])("a process that was begun %s opens a log", async (_, flags) => {
	const directory = await mkdtemp(join(tmpdir(), "reyn-flags-"));
	onTestFinished(() => rm(directory, { recursive: true }));
	const program = `
import(${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)}).then(async ({ openWal }) => {
	const wal = await openWal(${JSON.stringify(directory)}, { records: [] });
	console.log(wal.tip);
	await wal.close();
});`;
	const args = ["--conditions=@reyn/source", ...flags, "-e", program];
	expect((await promisify(execFile)(process.execPath, args)).stdout).toBe("1\n");
});
