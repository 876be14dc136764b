/** What is put before the record that names it, and a collection that comes in between. */
import { type BlobStore, memoryBlobs } from "@reyn/wal";
import { beforeEach, expect, test } from "vitest";
import { Beside } from "../src/stores/beside.ts";
import { gate } from "./project.ts";

let areas: Map<string, BlobStore>;
beforeEach(() => {
	areas = new Map(["a", "b"].map((area) => [area, memoryBlobs()]));
});

/** As another opening of the same state has it. */
const beside = (): Beside => new Beside({ blobs: (area) => areas.get(area) as BlobStore });
const bytes = Buffer.from("bytes");
const everything = (): boolean => true;
const namesIn = async (area: string) => areas.get(area)?.list("");

test("what was put since the opening stays, of the area where it was put; the next opening takes it", async () => {
	const first = beside();
	await first.blobs("a").put("x", bytes);
	await areas.get("a")?.put("y", bytes);
	await areas.get("b")?.put("x", bytes);
	expect(await first.remove("a", everything, false)).toEqual({ files: 1, bytes: 5 });
	expect(await first.remove("b", everything, false)).toEqual({ files: 1, bytes: 5 });
	expect([await namesIn("a"), await namesIn("b")]).toEqual([["x"], []]);
	const next = beside();
	expect(await next.remove("a", everything, true)).toEqual({ files: 1, bytes: 5 });
	expect(await namesIn("a")).toEqual(["x"]);
	expect(await next.remove("a", (name) => name !== "x", false)).toEqual({ files: 0, bytes: 0 });
	expect(await next.remove("a", everything, false)).toEqual({ files: 1, bytes: 5 });
	expect(await namesIn("a")).toEqual([]);
});

test("what is put again while it is about to go stays", async () => {
	const blobs = areas.get("a") as BlobStore;
	await blobs.put("x", bytes);
	const [listed, goOn] = [gate(), gate()];
	areas.set("a", {
		...blobs,
		async list(prefix) {
			const names = await blobs.list(prefix);
			listed.open();
			await goOn.opened;
			return names;
		},
	});
	const opened = beside();
	const removed = opened.remove("a", everything, false);
	await listed.opened;
	await opened.blobs("a").put("x", bytes);
	goOn.open();
	expect(await removed).toEqual({ files: 0, bytes: 0 });
	expect(await blobs.list("")).toEqual(["x"]);
});

test("what is put while it goes comes after", async () => {
	const blobs = areas.get("a") as BlobStore;
	await blobs.put("x", bytes);
	const [deleting, goOn] = [gate(), gate()];
	areas.set("a", {
		...blobs,
		async delete(name) {
			deleting.open();
			await goOn.opened;
			await blobs.delete(name);
		},
	});
	const opened = beside();
	const removed = opened.remove("a", everything, false);
	await deleting.opened;
	const put = opened.blobs("a").put("x", bytes);
	goOn.open();
	await Promise.all([put, removed]);
	expect(await blobs.list("")).toEqual(["x"]);
});

test("a store that does not say how large a blob is, is read", async () => {
	const { size: _none, ...blobs } = areas.get("a") as BlobStore;
	await blobs.put("x", bytes);
	areas.set("a", blobs);
	expect(await beside().remove("a", everything, false)).toEqual({ files: 1, bytes: 5 });
});
