/** Before-images: bytes that are durable beside the log before the step that names them begins. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileBlobs, memoryBlobs } from "@reyn/wal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fileChangeOf, imageNameOf, keepImage, readImage } from "../src/file-change.ts";
import { Lane, type Step, stepStarted } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

let root: string;
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-images-"));
});
afterEach(() => rm(root, { recursive: true }));

const bytes = Buffer.from("what it held\n");
const change = { path: "a.txt", before: "0".repeat(16), after: null };

describe("an image", () => {
	test("is a blob under its hash, and is read as what it was, or not at all", async () => {
		const images = memoryBlobs();
		const image = { ...(await keepImage(bytes, images)), mode: 0o644 };
		const [name = ""] = imageNameOf({ image });
		expect([await images.list(""), image.bytes]).toEqual([[name], bytes.length]);
		expect(Buffer.from((await readImage(image, images)) ?? [])).toEqual(bytes);
		await images.put(name, Buffer.from("what it said\n"));
		expect(await readImage(image, images)).toBeUndefined();
		await images.delete(name);
		expect(await readImage(image, images)).toBeUndefined();
		expect(imageNameOf({})).toEqual([]);
	});

	test("that is larger than it was is not read, and another error is no answer", async () => {
		const images = fileBlobs(root);
		const image = { ...(await keepImage(bytes, images)), mode: 0o644 };
		await images.put(imageNameOf({ image })[0] ?? "", Buffer.alloc(bytes.length + 1));
		expect(await readImage(image, images)).toBeUndefined();
		const broken = { ...images, get: () => Promise.reject(Object.assign(new Error("disk"), { code: "EIO" })) };
		await expect(readImage(image, broken)).rejects.toMatchObject({ code: "EIO" });
	});
});

describe("a step", () => {
	const step = (prepare: Step<string>["prepare"]): Step<string> => ({
		...{ kind: "tool", name: "write", args: {}, purity: "side_effect" as const, call: async () => "done" },
		...(prepare && { prepare }),
	});
	const changeIn = ({ records }: DyingLog) => records.map(fileChangeOf).find((each) => each !== undefined);

	test("keeps what it replaces before its start is recorded, and says in that what it keeps", async () => {
		const [log, images] = [new DyingLog(), memoryBlobs()];
		const seen: unknown[] = [];
		const prepare: Step<string>["prepare"] = async ({ keep }) => {
			const image = { ...(await keep?.(bytes)), mode: 0o600 };
			seen.push([...log.kinds], await images.list(""));
			return { ...change, image };
		};
		await new Lane("a", scope, using(log, { images })).perform(step(prepare));
		const found = changeIn(log);
		expect(found).toEqual({ ...change, image: expect.objectContaining({ bytes: bytes.length, mode: 0o600 }) });
		expect(seen).toEqual([[], imageNameOf(found ?? {})]);
	});

	test("has nobody to keep anything where no store is given", async () => {
		const log = new DyingLog();
		let kept: unknown = "not asked";
		const prepare: Step<string>["prepare"] = async ({ keep }) => {
			kept = keep;
			return change;
		};
		await new Lane("a", scope, using(log)).perform(step(prepare));
		expect([kept, changeIn(log)]).toEqual([undefined, change]);
	});
});

test.each([
	["another path", { ...change, path: "" }],
	["a version that is none", { ...change, before: "other" }],
	["a hash that is none", { ...change, image: { sha256: "../../x", bytes: 1, mode: 0 } }],
	["permissions that are none", { ...change, image: { sha256: "a".repeat(64), bytes: 1, mode: 0o4755 } }],
	["nothing", undefined],
])("a log that says %s says nothing of a file", (_what, prepared) => {
	expect(fileChangeOf({ kind: stepStarted.kind, data: { prepared } })).toBeUndefined();
});
