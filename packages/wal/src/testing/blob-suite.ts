/** The contract of blobs, for any store of them. */
import type { BlobStore } from "../engine/engine.ts";
import { codeOf } from "../errors.ts";
import type { Runner } from "./runner.ts";

export interface BlobsUnderTest {
	readonly name: string;
	/** A fresh, empty store; each call of what it gives is another one over the same blobs, as another process would have. */
	make(): Promise<() => BlobStore>;
}

/**
 * Runs the contract over a store of blobs; `testEngine` does so over those of an engine. What it cannot see: whether a `put`
 * or a `delete` that resolved survives a power cut.
 */
export function testBlobs(runner: Runner, { name, make }: BlobsUnderTest): void {
	runner.describe(`blobs over ${name}`, () => testBlobStore(runner, async (use) => use(await make())));
}

/** `within` makes a store, and lets go of it after its use. */
export function testBlobStore(
	{ test, expect }: Runner,
	within: (use: (open: () => BlobStore) => Promise<void>) => Promise<void>,
): void {
	const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => (i * 31) % 256);

	test("what was put comes back, the newest under a name, for others too", () =>
		within(async (open) => {
			const blobs = open();
			expect(await blobs.get("a/b-1.json")).toBe(undefined);
			await blobs.put("a/b-1.json", bytes);
			await blobs.put("a/c", new Uint8Array());
			await blobs.put("d", Buffer.from("the first"));
			await blobs.put("d", Buffer.from("second"));
			const again = open();
			expect(Buffer.from((await again.get("a/b-1.json")) ?? []).equals(bytes)).toBe(true);
			expect((await again.get("a/c"))?.length).toBe(0);
			expect(text(await again.get("d"))).toBe("second");
		}));

	test("a store that says how large a blob is says so of each, and of none that is not there", () =>
		within(async (open) => {
			const blobs = open();
			if (!blobs.size) return;
			expect(await blobs.size("a/b")).toBe(undefined);
			await blobs.put("a/b", bytes);
			await blobs.put("a/c", new Uint8Array());
			expect([await open().size?.("a/b"), await open().size?.("a/c")]).toEqual([bytes.length, 0]);
			expect(await codeThrownBy(async () => blobs.size?.("../a"))).toBe("WAL_INVALID_RECORD");
		}));

	test("names are listed in order, by how they begin", () =>
		within(async (open) => {
			const blobs = open();
			expect(await blobs.list("")).toEqual([]);
			const names = ["a", "a-b", "a/b", "a/b/c", "a/bc/d/e", "a0", "ab/c"];
			for (const name of names.toReversed()) await blobs.put(name, bytes);
			expect(await blobs.list("")).toEqual(names);
			expect(await blobs.list("a/")).toEqual(["a/b", "a/b/c", "a/bc/d/e"]);
			expect(await blobs.list("a/b")).toEqual(["a/b", "a/b/c", "a/bc/d/e"]);
			expect(await blobs.list("a/bc/d")).toEqual(["a/bc/d/e"]);
			for (const none of ["b", "a/b/c/", "a/x/", "/", "a//", "../", "a/../", "./a"])
				expect([none, await blobs.list(none)]).toEqual([none, []]);
		}));

	test("what was deleted is gone, once or twice, and may be put again", () =>
		within(async (open) => {
			const blobs = open();
			await blobs.delete("none/such");
			await blobs.put("a/b", bytes);
			await blobs.put("a/c", bytes);
			await blobs.delete("a/b");
			await blobs.delete("a/b");
			expect(await blobs.get("a/b")).toBe(undefined);
			expect(await open().list("")).toEqual(["a/c"]);
			await blobs.put("a", bytes);
			await blobs.put("a/b", Buffer.from("again"));
			expect(text(await open().get("a/b"))).toBe("again");
		}));

	test("every name that looks like another one, or like what a file system keeps for itself, is a blob of its own", () =>
		within(async (open) => {
			const blobs = open();
			const names = [
				...["Main", "MAIN", "main", "a.", "a", "a..", "...", ".a", "-", "_", "CON/nul.txt", "con/NUL.TXT", "com1"],
				...["a.blob", "a.blob/b.blob", "a.tmp", "a.tmp/b.tmp", ".tmp", ".blob", "a.new.tmp", "A".repeat(80)],
				...[`${"b/".repeat(39)}b`, `below/${"B".repeat(80)}`, `${"c/".repeat(44)}cc`, "x41", "41"],
			].sort();
			for (const name of names) await blobs.put(name, Buffer.from(name));
			const again = open();
			expect(await again.list("")).toEqual(names);
			for (const name of names) expect(text(await again.get(name))).toBe(name);
			for (const name of names) await blobs.delete(name);
			expect(await again.list("")).toEqual([]);
		}));

	test("a name that not every engine can keep is refused", () =>
		within(async (open) => {
			const blobs = open();
			const tooLong = ["a".repeat(81), `${"b/".repeat(50)}b`];
			for (const name of ["", "/a", "a/", "a//b", "../a", "a/..", "./a", "a b", "ü", "a%41", ...tooLong]) {
				for (const run of [() => blobs.put(name, bytes), () => blobs.get(name), () => blobs.delete(name)])
					expect([name, await codeThrownBy(run)]).toEqual([name, "WAL_INVALID_RECORD"]);
			}
			expect(await blobs.list("")).toEqual([]);
		}));

	test("what is put at once is all there, and one of those of the same name, whole", () =>
		within(async (open) => {
			const blobs = open();
			const versions = Array.from({ length: 8 }, (_, i) => Buffer.alloc(40_000 + i, i));
			await Promise.all(versions.map((version, i) => blobs.put(`many/${i}`, version)));
			await Promise.all(versions.map((version) => blobs.put("one/name", version)));
			for (const [i, version] of versions.entries())
				expect(Buffer.from((await open().get(`many/${i}`)) ?? []).equals(version)).toBe(true);
			const last = Buffer.from((await open().get("one/name")) ?? []);
			expect(versions.some((version) => version.equals(last))).toBe(true);
			expect((await blobs.list("")).length).toBe(9);
		}));

	test("a later change of the bytes changes nothing, neither of what was put nor of what was got", () =>
		within(async (open) => {
			const blobs = open();
			const mine = Buffer.from("before");
			const put = blobs.put("a", mine);
			mine.fill("x");
			await put;
			(await blobs.get("a"))?.fill(0);
			expect(text(await blobs.get("a"))).toBe("before");
		}));
}

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

async function codeThrownBy(run: () => Promise<unknown>): Promise<unknown> {
	try {
		await run();
		return "no error";
	} catch (error) {
		return codeOf(error);
	}
}
