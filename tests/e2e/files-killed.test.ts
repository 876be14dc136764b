/**
 * A rewind with files, of the command line, killed at any moment: the next command finds all of it done, files and history, or none;
 * then undo and redo lead exactly to and fro. Killed with the line that says that it is done, it is.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileVersion } from "@reyn/journal";
import { expect, test } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { startProcess } from "../kit/killable.ts";
import { SEED, seeded } from "../kit/seeded.ts";
import { sample } from "../sample.ts";

const KILLS = Number(process.env.REYN_RUNS ?? sample(1, 2));
const FILES = 30;

// biome-ignore lint/suspicious/noExplicitAny: the body of a request
type Said = any;

test(`${KILLS} kills of a rewind that takes ${FILES} files along: done or not begun, and exact both ways`, async () => {
	const random = seeded(SEED);
	const root = await mkdtemp(join(tmpdir(), "reyn-files-killed-"));
	const [cwd, state] = [join(root, "work"), join(root, "state")];
	await using wire = await openWire(chat, ({ messages }: Said) => {
		const last = messages.at(-1);
		if (last.role !== "user") return { text: "done" };
		const text = typeof last.content === "string" ? last.content : last.content[0].text;
		const calls = (JSON.parse(text) as [string, object][]).map(([name, args], at) => ({
			...{ id: `call_${at}`, name, args: JSON.stringify(args) },
		}));
		return { calls };
	});
	const env = { NO_COLOR: "1", REYN_MODEL: "openai/gpt-x", OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: wire.url };
	const start = (...args: readonly string[]) =>
		startProcess([process.execPath, ...reyn, "--cwd", cwd, "--state", state, ...args], { env });
	const run = async (...args: readonly string[]): Promise<string> => {
		const { code, stdout, stderr } = await start(...args).ended;
		expect(code, `${args.join(" ")}: ${stderr}`).toBe(0);
		return stdout;
	};
	const make = (calls: readonly unknown[]) => run("run", "-p", JSON.stringify(calls), "--mode", "all");
	const resets = async (): Promise<number> =>
		(await readFile(join(state, "state/wal.jsonl"), "utf8")).split('"kind":"reset"').length - 1;
	const tree = async (): Promise<Readonly<Record<string, string>>> => {
		const names = (await readdir(cwd)).sort();
		return Object.fromEntries(
			await Promise.all(names.map(async (name) => [name, await readFile(join(cwd, name), "utf8")] as const)),
		);
	};
	try {
		await mkdir(cwd);
		await make([["write", { path: "first.txt", text: "first" }]]);
		await writeFile(join(cwd, "mine.txt"), "mine");
		const texts = Array.from({ length: FILES }, (_, at) => ({ path: `f${at}.txt`, text: `one ${at}` }));
		await make(texts.map((each) => ["write", each]));
		const target = JSON.parse(await run("log", "--json")).tip as number;
		const then = await tree();
		// A third is changed, a third removed, and as many are new.
		await make(
			texts.map(({ path, text }, at) => {
				if (at % 3 === 0) return ["edit", { path, old: "one", new: "two" }];
				if (at % 3 === 1) return ["remove", { path, version: fileVersion(Buffer.from(text)) }];
				return ["write", { path: `new-${path}`, text }];
			}),
		);
		const now = await tree();
		let [kills, finished, unbegun] = [0, 0, 0];
		while (kills < KILLS) {
			const before = await resets();
			const working = start("rewind", String(target), "--files", "--yes");
			let isOver = false;
			void working.ended.then(() => {
				isOver = true;
			});
			// Some before there is anything of it.
			if (random.chance(0.3)) await pause(random.below(1_500));
			else {
				while (!isOver && (await resets()) === before) await pause(1);
				await pause(random.below(60));
			}
			if (!isOver) {
				await working.kill();
				kills++;
			}
			// The next writer finishes what is begun; `resume` is one where a move was cut.
			const isCut = JSON.parse(await run("status", "--json")).moves.length > 0;
			if (isCut && random.chance(0.5)) await run("resume");
			else await make([["list", {}]]);
			const found = await tree();
			if (JSON.stringify(found) === JSON.stringify(then)) finished++;
			else {
				expect(found).toEqual(now);
				unbegun++;
				continue;
			}
			await run("undo", "--yes");
			expect(await tree()).toEqual(now);
			await run("redo", "--yes");
			expect(await tree()).toEqual(then);
			await run("undo", "--yes");
			expect(await tree()).toEqual(now);
		}
		// With the line that says so all is there.
		const told = start("rewind", String(target), "--files", "--yes");
		await told.says("done: rewound");
		await told.kill();
		expect(await tree()).toEqual(then);
		await make([["list", {}]]);
		expect(await tree()).toEqual(then);
		console.log(`${kills} kills: ${finished} rewinds were finished, ${unbegun} had not begun`);
		if (kills > 5) expect(finished).toBeGreaterThan(0);
	} finally {
		await rm(root, { recursive: true, force: true });
	}
});
