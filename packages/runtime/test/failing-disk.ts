/** Has the calls of this thread that change files below a directory fail from the n-th on, as where the process is killed there; or that one alone. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { sep } from "node:path";

const BESIDE = ["mkdir", "rename", "rm", "rmdir", "unlink"] as const;
const OF_FILES = ["write", "sync", "datasync"] as const;

/** What was called while `act` was under way, and what came of that. */
export interface Met<T> {
	/** The calls, the one that failed first included: `rename state`. */
	readonly calls: readonly string[];
	readonly value?: T;
	readonly error?: unknown;
}

/**
 * @param nth that fails, from 1
 * @param how `killed`: so do all that follow; `once`: it alone
 */
export async function failingAt<T>(
	root: string,
	nth: number,
	how: "killed" | "once",
	act: () => Promise<T>,
): Promise<Met<T>> {
	const calls: string[] = [];
	const change = (name: string, path: unknown): void => {
		if (!String(path).startsWith(root + sep)) return;
		if (calls.length < nth || how === "once") calls.push(`${name} ${String(path).slice(root.length + 1)}`);
		else throw dead();
		if (calls.length === nth) throw dead();
	};
	const undo: (() => void)[] = [];
	const put = (owner: object, name: string, method: unknown): void => {
		const before = Reflect.get(owner, name);
		Reflect.set(owner, name, method);
		undo.push(() => void Reflect.set(owner, name, before));
	};
	const watch = (owner: object, name: string, pathOf: (self: object, first: unknown) => unknown, isSync: boolean) => {
		const method = Reflect.get(owner, name) as (...args: unknown[]) => unknown;
		put(owner, name, function (this: object, ...args: unknown[]) {
			try {
				change(name, pathOf(this, args[0]));
			} catch (error) {
				if (isSync) throw error;
				return Promise.reject(error);
			}
			return method.apply(this, args);
		});
	};
	const paths = new WeakMap<object, unknown>();
	const { open } = fs.promises;
	const file = await open(import.meta.filename);
	for (const name of OF_FILES) watch(Object.getPrototypeOf(file), name, (self) => paths.get(self), false);
	await file.close();
	for (const name of BESIDE) {
		watch(fs.promises, name, (_, path) => path, false);
		watch(fs, `${name}Sync`, (_, path) => path, true);
	}
	put(fs.promises, "open", async (...args: Parameters<typeof open>) => {
		if (/[wa+]/.test(String(args[1] ?? "r"))) change("create", args[0]);
		const opened = await open(...args);
		paths.set(opened, args[0]);
		return opened;
	});
	// What imports them by name gets these too.
	syncBuiltinESMExports();
	try {
		return { calls, value: await act() };
	} catch (error) {
		return { calls, error };
	} finally {
		for (const each of undo.reverse()) each();
		syncBuiltinESMExports();
	}
}

const dead = (): Error => Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
