/** `reyn ui` as a process of its own: its address, and what it takes of the machine. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const program = join(import.meta.dirname, "../../apps/cli/dist/bin.js");
/** Of `/proc/<pid>/stat`, a second. */
const TICKS = 100;

/** What it keeps for its user lies beside the state. */
const environment = (state: string): NodeJS.ProcessEnv => ({
	...process.env,
	XDG_CACHE_HOME: join(state, "../cache"),
	XDG_STATE_HOME: join(state, "../user"),
});

/** One turn of the command line, which trusts the state from then on, and stores what it folds to. */
export function oneTurn(state: string): void {
	const args = [program, "--trust", "--state", state, "run", "-p", "And how does it end?"];
	const { status, stderr } = spawnSync(process.execPath, args, { env: environment(state), encoding: "utf8" });
	if (status !== 0) throw new Error(`a turn ended with ${status}: ${stderr}`);
}

export class Server {
	readonly address: string;
	readonly #child: ChildProcess;

	private constructor(address: string, child: ChildProcess) {
		this.address = address;
		this.#child = child;
	}

	static async start(state: string): Promise<Server> {
		const child = spawn(process.execPath, [program, "--state", state, "ui"], {
			env: environment(state),
			stdio: ["ignore", "pipe", "ignore"],
		});
		let said = "";
		for await (const piece of child.stdout) {
			said += piece;
			const [address] = /http:\S+(?=\n)/.exec(said) ?? [];
			if (address !== undefined) return new Server(address, child);
		}
		throw new Error(`the page ended before it said its address: ${said}`);
	}

	/** Milliseconds of all its threads so far. */
	async cpuMs(): Promise<number> {
		const fields = (await readFile(`/proc/${this.#child.pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
		return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
	}

	/** What it has in memory now, and the most that it had at a time. */
	async memoryMiB(): Promise<{ readonly now: number; readonly peak: number }> {
		const status = await readFile(`/proc/${this.#child.pid}/status`, "utf8");
		const of = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
		return { now: of("VmRSS"), peak: of("VmHWM") };
	}

	async end(): Promise<void> {
		const ended = once(this.#child, "exit");
		this.#child.kill("SIGTERM");
		await ended;
	}
}
