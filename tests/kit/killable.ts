/** A process that a test may kill: what it prints as it prints it, and how it ended. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export interface Ended {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
	readonly stdout: string;
	readonly stderr: string;
	readonly pid: number;
}

export interface Killable {
	readonly child: ChildProcess;
	/** What came on stdout, line by line. */
	readonly lines: readonly string[];
	/** What came on stderr, of it or of what it was started with. */
	stderr(): string;
	/**
	 * The first line that begins so, or is such a one: of those that are there, or that are to come.
	 *
	 * @param from how many lines are passed over
	 * @throws when it ends without
	 */
	line(such: string | ((line: string) => boolean), from?: number): Promise<string>;
	/**
	 * Resolves once that stands in what it has written, whole lines or not.
	 *
	 * @throws when it ends without
	 */
	says(text: string, on?: "stdout" | "stderr"): Promise<void>;
	/** Ends it on the spot, unless it has ended. */
	kill(): Promise<Ended>;
	readonly ended: Promise<Ended>;
}

export interface How {
	/** Beside the variables of this process. */
	readonly env?: NodeJS.ProcessEnv;
	/** All of its stdin, or that the test writes it as it goes. Default: it has none. */
	readonly input?: string | "as it goes";
	/** Is told each line at once. */
	readonly heard?: (line: string) => void;
}

/** A program in TypeScript, over the packages as they stand in the source. */
export function startSource(program: string, args: readonly string[] = [], how?: How): Killable {
	return startProcess([process.execPath, "--conditions=@reyn/source", program, ...args], how);
}

export function startProcess([command = "", ...args]: readonly string[], { env, input, heard }: How = {}): Killable {
	const child = spawn(command, args, {
		stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
		env: { ...process.env, ...env },
	}) as ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };
	// Whoever is killed reads no more.
	child.stdin?.on("error", () => {});
	if (input !== "as it goes") child.stdin?.end(input);
	const text = { stdout: "", stderr: "" };
	const lines: string[] = [];
	const waiting = new Set<() => void>();
	let isOver = false;
	const wake = (): void => {
		for (const look of [...waiting]) look();
	};
	for (const on of ["stdout", "stderr"] as const)
		child[on].setEncoding("utf8").on("data", (piece: string) => {
			text[on] += piece;
			wake();
		});
	createInterface({ input: child.stdout }).on("line", (line) => {
		lines.push(line);
		heard?.(line);
		wake();
	});
	const ended = new Promise<Ended>((resolve) =>
		child.on("close", (code, signal) => {
			isOver = true;
			wake();
			resolve({ code, signal, ...text, pid: child.pid ?? 0 });
		}),
	);
	const until = <T>(look: () => T | undefined, what: string): Promise<T> =>
		new Promise((resolve, reject) => {
			const again = (): void => {
				const found = look();
				if (found === undefined && !isOver) return;
				waiting.delete(again);
				if (found !== undefined) resolve(found);
				else reject(new Error(`it ended without ${what}: ${lines.slice(-3).join(" | ")} ${text.stderr}`));
			};
			waiting.add(again);
			again();
		});
	return {
		child,
		lines,
		stderr: () => text.stderr,
		line: (such, from = 0) => {
			const isSuch = typeof such === "string" ? (line: string) => line.startsWith(such) : such;
			let next = from;
			const look = (): string | undefined => {
				for (; next < lines.length; next++) if (isSuch(lines[next] as string)) return lines[next];
				return undefined;
			};
			return until(look, typeof such === "string" ? `"${such}"` : "such a line");
		},
		says: async (what, on = "stdout") => void (await until(() => text[on].includes(what) || undefined, `"${what}"`)),
		kill() {
			child.kill("SIGKILL");
			return ended;
		},
		ended,
	};
}
