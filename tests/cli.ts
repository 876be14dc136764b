/** The real command line as a child process: as it was just built, or, where no build came before, from source. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Ended, type Killable, startProcess } from "./kit/killable.ts";

const app = join(import.meta.dirname, "../apps/cli");

/** How Node is told to start it. `pnpm test` builds first; without that, `dist` may be of another day. */
export const ofSource: readonly string[] = ["--conditions=@reyn/source", join(app, "src/bin.ts")];
export const reyn: readonly string[] = process.env.REYN_BUILT === "1" ? [join(app, "dist/bin.js")] : ofSource;

/** A directory to ask about, the state beside it, and the file in which the model counts its calls. */
export interface Place {
	readonly cwd: string;
	readonly state: string;
	readonly trace: string;
	/** Made somewhere else, and trusted. */
	readonly isCopy?: true;
	/** A module of it is replaced, as it stands in the source. */
	readonly isOfSource?: true;
}

/** @param via a command to start it with */
export function start(place: Place, args: readonly string[], input?: string, via: readonly string[] = []): Killable {
	const program = place.isOfSource ? ofSource : reyn;
	return startProcess([...via, process.execPath, ...program, ...whereOf(place), ...args], {
		env: { REYN_MODEL_TRACE: place.trace, NO_COLOR: "1" },
		...(input !== undefined && { input }),
	});
}

export const run = (...how: Parameters<typeof start>): Promise<Ended> => start(...how).ended;

/** How it is told that. */
export const whereOf = ({ cwd, state, isCopy }: Place): string[] => [
	...["--cwd", cwd, "--state", state],
	...(isCopy ? ["--trust"] : []),
];

/** The requests that reached the model, in order, with the process that made each. */
export function modelCalls({ trace }: Place): readonly { pid: number; request: string }[] {
	const text = readFileSync(trace, { encoding: "utf8", flag: "a+" });
	return text
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line));
}

/** The lines of `stream-json`; a killed process may leave half of the last one. */
export function streamLines({ stdout }: Ended): readonly { type: string; [key: string]: unknown }[] {
	return stdout.split("\n").flatMap((line) => {
		try {
			return [JSON.parse(line)];
		} catch {
			return [];
		}
	});
}
