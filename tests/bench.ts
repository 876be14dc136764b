/** `pnpm bench` as a child process. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

export const bench = async (...args: readonly string[]): Promise<string> => {
	const script = join(import.meta.dirname, "../bench/run.ts");
	const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@reyn/source", script, ...args]);
	return stdout;
};

export function namesOf(rows: readonly { readonly name: string }[]): string[] {
	return rows.map(({ name }) => name);
}
