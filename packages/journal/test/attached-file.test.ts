/** Which files can be attached, what names their blobs, and what a model gets of one that cannot be read. */
import { View } from "@reyn/snapshot";
import { type BlobStore, memoryBlobs, memoryEngine, openWal, type Scope } from "@reyn/wal";
import { expect, test } from "vitest";
import {
	type AttachedFile,
	askModel,
	callTool,
	journal,
	journalRecords,
	Lane,
	laneClosed,
	type Model,
	recall,
	type Tool,
} from "../src/index.ts";
import { attach, attachedNames, labelOf, mediaTypeOf } from "../src/internal.ts";

const scope: Scope = { agent: "default", session: "main" };

const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1");

test.each([
	["\x89PNG\r\n\x1a\n more", "image/png"],
	["\xff\xd8\xff\xe1", "image/jpeg"],
	["GIF87a", "image/gif"],
	["GIF89a", "image/gif"],
	["RIFF1234WEBPVP8 ", "image/webp"],
	["%PDF-2.0", "application/pdf"],
	["RIFF1234WAVE", undefined],
	["\x89PNG\n\x1a\n", undefined],
	[" GIF89a", undefined],
	["<svg xmlns", undefined],
	["", undefined],
])("what begins with %j is %s, whatever its name", (begin, mediaType) => {
	expect(mediaTypeOf(bytes(begin))).toBe(mediaType);
});

/** A lane over a log in memory, whose records say which files they name. */
async function openLane(files?: BlobStore, results?: BlobStore) {
	const wal = await openWal(memoryEngine(), { records: journalRecords });
	let view = View.empty(scope, [journal]);
	const named: string[][] = [];
	const log: Pick<typeof wal, "append"> = {
		append(draft, at) {
			const appended = wal.append(draft, at);
			view = view.apply(appended.record);
			named.push([...attachedNames.ofRecord(appended.record)]);
			return appended;
		},
	};
	const { signal } = new AbortController();
	const ports = { log, logId: wal.id, signal, files, results, whenInDoubt: () => "retry" as const };
	const lane = new Lane("turn/1", scope, { ...ports, recall: (step) => recall(view.get(journal), step) });
	return {
		lane,
		named,
		inState: () => attachedNames.ofState(view.get(journal)),
		close: () => log.append(laneClosed({ lane: "turn/1" }), scope),
	};
}

const drawing = (text: string): Tool => ({
	...{ name: "draw", description: "draws", parameters: {}, purity: "world" },
	async call(_, { attach }) {
		if (!attach) throw new Error("nowhere to keep it");
		return { text, files: [await attach("a.png", bytes("\x89PNG\r\n\x1a\n"))] };
	},
});

test.each([
	["in its record", 10],
	["beside the log", 40_000],
])(
	"the file of a result that lies %s is named by its record and by the state, until its lane is closed",
	async (_, length) => {
		const files = memoryBlobs();
		const { lane, named, inState, close } = await openLane(files, memoryBlobs());
		const { text, files: [file] = [] } = await callTool(lane, [drawing("x".repeat(length))], { id: "1", name: "draw" });
		expect(text).toBe(`${"x".repeat(length)}\n[image a.png, 8 B]`);
		const [name = ""] = await files.list("");
		expect(name).toBe(`${file?.sha256.slice(0, 2)}/${file?.sha256}`);
		expect([named, inState()]).toEqual([[[name]], [name]]);
		close();
		expect(inState()).toEqual([]);
	},
);

test("without a store of files a tool cannot keep one, and its failure is told", async () => {
	const { lane } = await openLane();
	expect(await callTool(lane, [drawing("x")], { id: "1", name: "draw" })).toMatchObject({
		text: "ERROR: nowhere to keep it",
	});
});

test("a store that cannot be read now is asked again, and the answer is to the whole request", async () => {
	const files = memoryBlobs();
	const file = await attach("a.png", bytes("\x89PNG\r\n\x1a\n"), files);
	let reads = 0;
	const failing: BlobStore = {
		...files,
		async get(...of) {
			if (reads++ === 0) throw Object.assign(new Error("read failed"), { code: "EIO" });
			return files.get(...of);
		},
	};
	const shown: (readonly AttachedFile[] | undefined)[] = [];
	const model: Model = {
		...{ id: "m", accepts: ["image/png"] },
		async *generate({ messages: [first] }) {
			shown.push((first as { files?: readonly AttachedFile[] }).files);
			yield { type: "text", text: "a fox" };
			yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
		},
	};
	const { lane } = await openLane(failing);
	const request = { system: "", tools: [], messages: [{ role: "user" as const, text: "", files: [file] }] };
	expect(await askModel(lane, model, request, undefined, { initialIntervalMs: 1 })).toMatchObject({ text: "a fox" });
	expect(shown).toEqual([[{ ...file, data: await files.get(attachedNames.of([file])[0] ?? "") }]]);
});

test.each([
	["image/png", 999, "[image a, 999 B]"],
	["image/gif", 34_400, "[image a, 34 KB]"],
	["application/pdf", 1_250_000, "[PDF a, 1.25 MB]"],
])("%s of %i bytes is shown as %s", (mediaType, size, label) => {
	expect(labelOf({ name: "a", mediaType, bytes: size, sha256: "" })).toBe(label);
});
