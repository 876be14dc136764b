/** Configuration files follow rewinds: by hand, in random histories against a model that copies them, cut after each record, and killed. */
import { cp, mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { memoryEngine } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startSource } from "../../../tests/kit/killable.ts";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { engineStore, fileStore, type RuntimeOptions, redactSecrets } from "../src/index.ts";
import { type Contents, changed, contentsOf, copied, edit, seqsOf } from "./config-kit.ts";
import { cutAfter, kindsIn } from "./cut.ts";
import { makeProject, type Opened, open, overSqlite, type Project, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const directory = (state = project.state): string => join(state, "config");
const begin = (options: Partial<RuntimeOptions> = {}, state = project.state): Promise<Opened> =>
	open({ ...project, state }, { model: scripted(() => "so it is"), tools: [], ...options }, fileStore(state));
const listing = async (state = project.state): Promise<Contents> => (await contentsOf(directory(state))).files;

describe("a configuration file", () => {
	test("edited on a line that is left is as it was, one of after the rewind stays, one that came after the cut goes", async () => {
		const { runtime } = await begin();
		await runtime.config.write("settings.yaml", "a: 1\n");
		const cut = await runtime.prompt("hello");
		await runtime.idle();
		await runtime.config.write("settings.yaml", "a: 2\n");
		await edit(directory(), "new.yaml", "by hand\n");
		await runtime.checkout(cut, "ada");
		expect(await listing()).toEqual({ "settings.yaml": "a: 1\n" });
		expect(runtime.config.files()).toEqual({ "settings.yaml": "a: 1\n" });
		await runtime.config.write("after.yaml", "b: 1\n");
		expect(await listing()).toEqual({ "settings.yaml": "a: 1\n", "after.yaml": "b: 1\n" });
		await runtime.undo("ada");
		expect(await listing()).toEqual({ "settings.yaml": "a: 2\n", "new.yaml": "by hand\n" });
		await runtime.redo("ada");
		expect(await listing()).toEqual({ "settings.yaml": "a: 1\n", "after.yaml": "b: 1\n" });
		await runtime.close();
	});

	test("stays where another session is moved, or what was said alone", async () => {
		const { runtime } = await begin();
		const other = { agent: "default", session: "other" };
		await runtime.prompt("hello", other);
		await runtime.idle();
		const cut = runtime.wal.tip;
		await runtime.prompt("hello");
		await runtime.prompt("again", other);
		await runtime.idle();
		await runtime.config.write("settings.yaml", "a: 1\n");
		await runtime.checkout(cut, "ada", other);
		await runtime.applyRewind(await runtime.previewRewind(cut, "conversation_only"), "ada");
		expect(await listing()).toEqual({ "settings.yaml": "a: 1\n" });
		await runtime.applyRewind(await runtime.previewRewind(cut, "code_only"), "ada");
		expect(await listing()).toEqual({});
		await runtime.close();
	});

	test("that a hand puts back to what it was, while nothing runs, stays so", async () => {
		const first = await begin();
		await first.runtime.config.write("settings.yaml", "a: 1\n");
		await first.runtime.config.write("settings.yaml", "a: 2\n");
		await first.runtime.close();
		await edit(directory(), "settings.yaml", "a: 1\n");
		const next = await begin();
		expect(await listing()).toEqual({ "settings.yaml": "a: 1\n" });
		await next.runtime.close();
	});

	test("with a secret is refused, and one that a hand wrote so is said, and put aside rather than lost", async () => {
		const redact = redactSecrets({ API_KEY: "sk-canary-7f3a9c51d2e84b60" });
		const { runtime, events } = await begin({ redact });
		await runtime.config.write("settings.yaml", "a: 1\n");
		const cut = runtime.wal.tip;
		await runtime.config.write("settings.yaml", "a: 2\n");
		const secret = "key: sk-canary-7f3a9c51d2e84b60\n";
		await expect(runtime.config.write("settings.yaml", secret)).rejects.toMatchObject({ code: "RUNTIME_SECRET" });
		await edit(directory(), "settings.yaml", secret);
		await runtime.checkout(cut, "ada");
		expect(await contentsOf(directory())).toEqual({ files: { "settings.yaml": "a: 1\n" }, aside: [secret] });
		expect(events).toContainEqual(
			expect.objectContaining({ type: "config_unrecorded", reason: expect.stringContaining("a secret") }),
		);
		expect(events).toContainEqual(expect.objectContaining({ type: "config_kept", path: "settings.yaml" }));
		await runtime.close();
	});

	test.skipIf(overSqlite)(
		"that is changed while a rewind is under way is so on the line that this leads to",
		async () => {
			const { runtime } = await begin();
			const other = { agent: "default", session: "other" };
			await runtime.prompt("hello", other);
			await runtime.idle();
			await runtime.config.write("a.yaml", "0");
			const cut = runtime.wal.tip;
			for (let n = 1; n <= 12; n++) {
				// One of another session is none of its business, and is waited for all the same.
				const moving = runtime.checkout(n % 3 === 0 ? 2 : cut, "ada", n % 4 === 0 ? other : {});
				for (let pause = n % 5; pause > 0; pause--) await new Promise((resolve) => setImmediate(resolve));
				const writes = [runtime.config.write("a.yaml", `${n}`), runtime.config.write("b.yaml", `${n}`)];
				await Promise.all([moving, ...writes]);
				expect(await listing()).toEqual({ "a.yaml": `${n}`, "b.yaml": `${n}` });
				expect((await copied(project.state)).at(-1)).toEqual(await listing());
			}
			await runtime.close();
		},
	);

	test("that cannot be written is finished by the next start that can, and until then each says so", async () => {
		const first = await begin();
		await edit(directory(), "a.yaml/in-the-way.txt", "mine");
		await expect(first.runtime.config.write("a.yaml", "1")).rejects.toMatchObject({ code: "SNAPSHOT_NOT_RESTORED" });
		await first.runtime.close();
		const second = await begin();
		await second.runtime.close();
		expect(second.events).toContainEqual(expect.objectContaining({ type: "config_unfinished" }));
		await rm(join(directory(), "a.yaml"), { recursive: true });
		const third = await begin();
		await third.runtime.close();
		expect([await listing(), third.events.filter(({ type }) => type.startsWith("config"))]).toEqual([
			{ "a.yaml": "1" },
			[],
		]);
	});

	test("is refused where there is no directory for it, outside of its own, and once all is closed", async () => {
		const store = engineStore(memoryEngine());
		const held = await open(project, { model: scripted(() => "") }, store);
		await expect(held.runtime.config.write("a.yaml", "")).rejects.toMatchObject({ code: "RUNTIME_STORE" });
		await held.runtime.close();
		const { runtime } = await begin();
		for (const path of ["../a.yaml", "/a.yaml", "", "a/../b.yaml"])
			await expect(runtime.config.write(path, "x")).rejects.toMatchObject({ code: "WAL_INVALID_RECORD" });
		await runtime.close();
		await expect(runtime.config.write("a.yaml", "")).rejects.toMatchObject({ code: "RUNTIME_CLOSED" });
	});

	test.skipIf(overSqlite)("lies in a directory of this user's own, or nothing is opened", async () => {
		await (await begin()).runtime.close();
		await mkdir(join(project.root, "elsewhere"));
		await symlink(join(project.root, "elsewhere"), directory());
		await expect(begin()).rejects.toMatchObject({ code: "WAL_UNSAFE" });
	});
});

type Command =
	| { readonly type: "write" | "edit"; readonly path: string; readonly content: string | null }
	| { readonly type: "say" | "undo" | "redo" | "restart" | "gc" }
	| { readonly type: "go"; readonly to: number }
	| { readonly type: "rewind"; readonly to: number; readonly mode: "both" | "code_only" | "conversation_only" };

const types = [
	...["write", "write", "edit", "edit", "edit", "say", "say"],
	...["undo", "undo", "redo", "redo", "restart", "gc", "go", "go", "rewind", "rewind"],
] as readonly Command["type"][];

function draw(random: Random): Command {
	const type = random.pick(types);
	const to = random.below(10_000);
	if (type === "go") return { type, to };
	if (type === "rewind") return { type, to, mode: random.pick(["both", "code_only", "conversation_only"]) };
	if (type !== "write" && type !== "edit") return { type };
	return {
		type,
		path: random.pick(["a.yaml", "b.yaml", "d/c.yaml"]),
		content: random.pick(["", "1", "2\r\n", "日本", null]),
	};
}

const runs = Number(process.env.REYN_RUNS ?? sample(6, 20));

test.skipIf(overSqlite)("after any history is what a model has copied", async () => {
	const met = { undo: 0, redo: 0, moved: 0, changed: 0 };
	for (let i = 0; i < runs; i++) {
		const random = seeded(SEED * 1000 + i);
		await using own = await makeProject();
		const { state } = own;
		let { runtime } = await begin({}, state);
		let disk: Contents = {};
		for (let n = 4 + random.below(11); n > 0; n--) {
			const command = draw(random);
			const before = runtime.wal.tip;
			if (command.type === "write") await runtime.config.write(command.path, command.content);
			else if (command.type === "edit") await edit(directory(state), command.path, command.content);
			else if (command.type === "say") {
				await runtime.prompt("hello");
				await runtime.idle();
			} else if (command.type === "restart") {
				await runtime.close();
				({ runtime } = await begin({}, state));
			} else if (command.type === "gc") await runtime.gc({ keepDays: 0, keepCheckpoints: 1000 });
			else if (command.type === "go") await runtime.checkout(command.to % (before + 1), "ada");
			else if (command.type === "rewind") {
				const preview = await runtime.previewRewind(command.to % (before + 1), command.mode).catch(() => undefined);
				if (preview) await runtime.applyRewind(preview, "ada");
			} else {
				const done = await runtime[command.type]("ada").catch(({ code }) => expect(code).toMatch(/NOTHING_TO/));
				if (done) met[command.type]++;
			}
			if (command.type === "write" || command.type === "edit") disk = changed(disk, command);
			const states = await copied(state);
			for (const seq of await seqsOf(state, "reset")) {
				if (seq <= before || states[seq] === states[seq - 1]) continue;
				// All that hands had done was recorded on the line that was left.
				expect(states[seq - 1]).toEqual(disk);
				met.moved++;
				if (JSON.stringify(states[seq]) !== JSON.stringify(disk)) met.changed++;
				disk = states[seq] as Contents;
			}
			expect([i, await contentsOf(directory(state))]).toEqual([i, { files: disk, aside: [] }]);
		}
		// What hands have done since is recorded with the next move.
		if ((await runtime.checkout(0, "ada")).kind !== "none") await runtime.undo("ada");
		expect([await listing(state), runtime.config.files()]).toEqual([disk, disk]);
		await runtime.close();
	}
	expect(Math.min(...Object.values(met))).toBeGreaterThan(0);
});

describe("where its process died", () => {
	test.skipIf(overSqlite)(
		"after any record, with the file of before or of after it, the next start has what the log says",
		async () => {
			const { runtime } = await begin();
			const { state } = project;
			/** What lay there while the log came to each tip. */
			const steps: { readonly tip: number; readonly files: Contents }[] = [{ tip: runtime.wal.tip, files: {} }];
			const did = async (act: () => Promise<unknown>): Promise<void> => {
				await act();
				await runtime.idle();
				steps.push({ tip: runtime.wal.tip, files: await listing() });
			};
			await did(() => runtime.config.write("a.yaml", "1"));
			await did(() => runtime.prompt("hello"));
			const cut = runtime.wal.tip;
			await did(() => runtime.config.write("a.yaml", "2"));
			await did(() => runtime.config.write("b.yaml", "b"));
			await did(() => runtime.checkout(cut, "ada"));
			await did(() => runtime.config.write("a.yaml", null));
			await did(() => runtime.undo("ada"));
			await runtime.close();
			const states = await copied(state);
			const kinds = await kindsIn(project);
			let finished = 0;
			for (const [i, { tip, files: after }] of steps.entries()) {
				const { tip: from, files: before } = steps[i - 1] ?? { tip: 0, files: {} };
				for (let seq = Math.max(1, from); seq <= tip; seq++) {
					const since = kinds.slice(from, seq);
					const isRecorded = since.some((kind) => kind === "file_changed" || kind === "reset");
					const isSettled = since.some((kind) => kind === "config_settled" || kind === "reset_settled");
					for (const files of [...(isSettled ? [] : [before]), ...(isRecorded ? [after] : [])]) {
						const at = await cutAfter(project, seq);
						await rm(directory(at), { recursive: true, force: true });
						for (const [path, text] of Object.entries(files)) await edit(directory(at), path, text);
						const next = await begin({}, at);
						expect([seq, await contentsOf(directory(at))]).toEqual([seq, { files: states[seq], aside: [] }]);
						if (files !== states[seq] && JSON.stringify(files) !== JSON.stringify(states[seq])) finished++;
						await next.runtime.checkout(0, "ada");
						expect(await listing(at)).toEqual({});
						await next.runtime.undo("ada");
						expect(await listing(at)).toEqual(states[seq]);
						await next.runtime.close();
						await rm(at, { recursive: true });
					}
				}
			}
			expect(finished).toBeGreaterThan(3);
		},
	);

	test.skipIf(overSqlite)(
		"at any moment, by a signal, what was said to be done is, and the directory is what the log says",
		async () => {
			const { state } = project;
			let met = 0;
			for (let life = 1; life <= sample(3, 8); life++) {
				const process = startSource(join(import.meta.dirname, "config-child.ts"), [state, String(life * 7919)]);
				await process.line("open");
				for (let n = 1; n <= life % 4; n++) await process.line((line) => line.startsWith("{"), n);
				await new Promise((resolve) => setTimeout(resolve, (life * 7) % 30));
				const { lines } = process;
				await process.kill();
				const said = lines.flatMap((line) => (line.startsWith("{") ? [(JSON.parse(line) as { tip: number }).tip] : []));
				met += said.length;
				const { runtime } = await begin();
				expect(runtime.wal.tip).toBeGreaterThanOrEqual(said.at(-1) ?? 0);
				const states = await copied(state);
				expect([life, await contentsOf(directory())]).toEqual([life, { files: states.at(-1), aside: [] }]);
				expect(runtime.config.files()).toEqual(states.at(-1));
				await runtime.close();
			}
			expect(met).toBeGreaterThan(2);
		},
	);
});

test("what a copy of it holds is of its own log", async () => {
	const { runtime } = await begin();
	await runtime.config.write("a.yaml", "1");
	await runtime.close();
	await cp(project.state, join(project.root, "copy"), { recursive: true });
	const copy = await begin({}, join(project.root, "copy"));
	await copy.runtime.checkout(0, "ada");
	await copy.runtime.close();
	expect([await listing(), await listing(join(project.root, "copy"))]).toEqual([{ "a.yaml": "1" }, {}]);
});
