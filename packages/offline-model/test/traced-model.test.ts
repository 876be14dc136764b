/** The trace of model calls. */
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fingerprint, type ModelRequest } from "@reyn/journal";
import { testModel } from "@reyn/journal/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { offlineModel } from "../src/offline-model.ts";
import { tracedModel } from "../src/traced-model.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-traced-"));
});
afterAll(() => rm(root, { recursive: true }));

testModel(
	{ describe, test, expect },
	{ name: "offline, traced", make: () => tracedModel(offlineModel(), join(root, "all.calls")) },
);

test("the trace names a call as the log does, for its owner alone", async () => {
	const file = { name: "a.png", mediaType: "image/png", bytes: 9, sha256: "ab".repeat(32) };
	const asked = (more: object): ModelRequest => ({
		...{ system: "s", tools: [], messages: [{ role: "user", text: "hello", files: [{ ...file, ...more }] }] },
	});
	const request = asked({});
	const trace = join(root, "one.calls");
	const model = tracedModel(offlineModel(), trace);
	const { signal } = new AbortController();
	// It is asked with the bytes of the file, which the log does not have.
	for await (const _ of model.generate(asked({ data: new Uint8Array(9) }), { signal }));
	expect(JSON.parse(await readFile(trace, "utf8"))).toMatchObject({
		pid: process.pid,
		model: "offline",
		request: fingerprint("model", "offline", request),
	});
	if (process.platform !== "win32") expect(((await stat(trace)).mode & 0o777).toString(8)).toBe("600");
});
