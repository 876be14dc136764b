/** A state in a realm of an engine: all of it, nothing beside it, and what is refused before anything is written. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type BlobStore, type LogEngine, memoryEngine } from "@reyn/wal";
import { sqliteEngine } from "@reyn/wal/sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { engineStore, fileStore, openRuntime, type Store } from "../src/index.ts";
import { makeProject, open, type Project } from "./project.ts";
import { echo, five, resumeToEnd, runToEnd } from "./script-runs.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const isUntouched = async (engine: LogEngine): Promise<boolean> => (await engine.realms()).length === 0;

test("all of a runtime lies in the realm, and another realm of the engine knows nothing of it", async () => {
	const engine = sqliteEngine(join(project.root, "notes.db"));
	const store = engineStore(engine, "one");
	expect(store.local).toBe(undefined);
	const first = await open(project, { model: echo() }, store);
	for (let turn = 0; turn < 45; turn++) {
		await first.runtime.prompt(`hello ${turn}`);
		await first.runtime.idle();
	}
	const { run } = await runToEnd(first.runtime, five());
	await first.runtime.close();
	const names = await engine.blobs("one").list("");
	const areas = new Set(names.map((name) => name.split("/")[0]));
	expect([...areas].sort()).toEqual(["scripts", "snapshots", "store"]);
	const other = await open(project, { model: echo() }, engineStore(engine, "two"));
	expect(other.runtime.conversation().items.toArray()).toEqual([]);
	await other.runtime.close();

	const model = echo();
	const next = await open(project, { model }, engineStore(engine, "one"));
	expect(next.runtime.conversation().items.toArray()).toHaveLength(90);
	expect(await resumeToEnd(next.runtime, run)).toMatchObject({ status: "completed" });
	expect(model.asked).toEqual([]);
	await next.runtime.close();
	await engine.close();
	expect((await readdir(project.root)).filter((name) => !name.startsWith("notes.db"))).toEqual(["project"]);
});

test("where a stored state is damaged it is set aside, whatever its area has for a name", async () => {
	const engine = memoryEngine();
	const blobs = engine.blobs("main");
	const first = await open(project, { model: echo() }, engineStore(engine));
	for (let turn = 0; turn < 45; turn++) {
		await first.runtime.prompt(`hello ${turn}`);
		await first.runtime.idle();
	}
	await first.runtime.close();
	const stored = await blobs.list("snapshots/");
	const chunk = `snapshots/chunks/${"a".repeat(64)}`;
	const root = stored.find((name) => name.startsWith("snapshots/roots/")) ?? "";
	expect(root).not.toBe("");
	await blobs.put(root, Buffer.from("rotten"));
	await blobs.put(chunk, Buffer.from("nobody's"));
	const { runtime } = await open(project, { model: echo() }, engineStore(engine));
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	expect(await blobs.list("snapshots/broken/")).toEqual([root.replace("snapshots/", "snapshots/broken/")]);
	await runtime.close();
});

test.each<[what: string, blobs: (blobs: BlobStore) => unknown]>([
	["has none", () => undefined],
	["gives none", () => () => undefined],
])("an engine that %s is refused, and nothing is written", async (_, change) => {
	const engine = memoryEngine();
	const none = { ...engine, blobs: change(engine.blobs("main")) } as LogEngine;
	for (const readOnly of [true, false])
		await expect(open(project, { readOnly }, engineStore(none))).rejects.toMatchObject({ code: "RUNTIME_STORE" });
	expect(await isUntouched(engine)).toBe(true);
});

test("a store of a newer format is refused, and nothing is written", async () => {
	const engine = memoryEngine();
	await engine.blobs("main").put("store", Buffer.from("2"));
	for (const readOnly of [true, false])
		await expect(open(project, { readOnly }, engineStore(engine))).rejects.toMatchObject({
			code: "WAL_NEWER_FORMAT",
			detail: { version: 2 },
		});
	expect(await isUntouched(engine)).toBe(true);
	const { runtime } = await open(project, {}, engineStore(engine, "other"));
	await runtime.close();
});

test("either a directory or a store is given", async () => {
	const how = { model: echo(), tools: [] };
	const both = { ...how, state: project.state, store: fileStore(project.state) };
	for (const options of [how, both])
		await expect(openRuntime(options)).rejects.toMatchObject({ code: "RUNTIME_STORE" });
	expect(await readdir(project.root)).toEqual(["project"]);
});

test("a store that can do no more than it has to is enough", async () => {
	const all = engineStore(memoryEngine());
	const store: Store = {
		engine: all.engine,
		realm: all.realm,
		local: undefined,
		blobs(area) {
			const { put, get, list, delete: remove } = all.blobs(area);
			return { put, get, list, delete: remove };
		},
	};
	const { runtime } = await open(project, { model: echo() }, store);
	const { run } = await runToEnd(runtime, five());
	expect(await runtime.scripts.result(run)).toHaveLength(5);
	expect((await runtime.gc()).artifacts).toEqual({ files: 0, bytes: 0 });
	await runtime.close();
});
