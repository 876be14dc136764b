/** What the real disk asks of the system, which no other test sees where the power stays on. */
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { nodeDisk } from "../src/disk/node-disk.ts";

let directory: string;
beforeEach(() => {
	directory = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "reyn-disk-")));
});
afterEach(() => {
	vi.restoreAllMocks();
	fs.rmSync(directory, { recursive: true });
});

test("the sync of a file is the system's, of that file", () => {
	const file = nodeDisk.open(join(directory, "file"), "create");
	const synced = vi.spyOn(fs, "fdatasyncSync");
	file.sync();
	expect(synced.mock.calls).toEqual([[expect.any(Number)]]);
	expect(`${fs.fstatSync(synced.mock.calls[0]?.[0] ?? -1).ino}`).toBe(file.identity().split(":")[1]);
	file.close();
});
