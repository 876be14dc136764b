/** Row 35: a million records and ten thousand rewinds: it opens, lists and rewinds. What it takes is printed, not judged. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Fault } from "../fault.ts";
import { withDirectory } from "../lab/start.ts";
import type { Measured } from "./large-history.ts";

export const fault: Fault = {
	name: "large",
	title: "a million records, ten thousand rewinds",
	promise: "opens, lists, rewinds",
	rows: [
		{
			row: 35,
			title: "10^6 records, 10^4 rewinds, now and then to an abandoned branch",
			how: "generated; compared with an oracle of ten lines",
			promise: "opens, lists, rewinds",
			seen: "log opened in 149 ms, timeline in 1,546 ms, 10,001 branches listed in 4 ms, 10,000 checkpoints in 7 ms, 352,465 records folded without a snapshot in 5.4 s; peak RSS until there 255 MB; 20 rewinds and checkouts, 14 of them to abandoned branches: median 6.4 ms, at most 22.3 ms. `gc` of all but 200 checkpoints, without a snapshot to start from: 8.0 s, 901,634 records gone, peak RSS 243 MB, 1.8 MB kept; then opened in 262 ms, and folded in 92 ms. It reads the log from its front for each state that it asks for, and once for what outlives it",
		},
	],
	needs: () => undefined,
	run: ({ short, brief, seed }) =>
		withDirectory(async (root) => {
			const size = brief ? ["5000", "50"] : short ? ["20000", "200"] : ["1000000", "10000"];
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
