/** Row 35: a million records and ten thousand rewinds: it opens, lists and rewinds. What it takes is printed, not judged. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Fault } from "../fault.ts";
import { withDirectory } from "../lab/start.ts";
import type { Measured } from "./large-history.ts";

export const fault: Fault = {
	name: "large",
	rows: [35],
	title: "a million records, ten thousand rewinds",
	promise: "opens, lists, rewinds",
	needs: () => undefined,
	run: ({ short, seed }) =>
		withDirectory(async (root) => {
			const size = short ? ["20000", "200"] : ["1000000", "10000"];
			const program = join(import.meta.dirname, "large-history.ts");
			// Each in a process of its own: what building took is no part of what using it takes.
			const run = async (what: string): Promise<Measured> => {
				const args = ["--conditions=@reyn/source", program, what, join(root, "state"), ...size, String(seed)];
				const { stdout } = await promisify(execFile)(process.execPath, args, {
					env: { ...process.env, NODE_OPTIONS: "" },
				});
				return JSON.parse(stdout) as Measured;
			};
			const built = await run("build");
			return { records: Number(size[0]), ...built, ...(await run("use")), ...(await run("gc")) };
		}),
};
