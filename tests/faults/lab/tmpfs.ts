/** A file system of a few pages, to be full on purpose. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { unmount } from "./loop-disk.ts";

/** @param size as `mount` takes it: `64k` */
export async function mounted<T>(where: string, size: string, use: () => Promise<T>): Promise<T> {
	// A state may lie in no directory that others may write to.
	mount(where, `size=${size},mode=0700`);
	try {
		return await use();
	} finally {
		unmount(where);
	}
}

export const resize = (where: string, size: string): void => remount(where, `size=${size}`);

export const remount = (where: string, options: string): void => mount(where, `remount,${options}`);

function mount(where: string, options: string): void {
	const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", where]);
	assert.equal(status, 0, String(stderr));
}
