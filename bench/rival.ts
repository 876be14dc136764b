/** A contender as a bench sees it: a process of its own, so that its memory, its threads and its faults are its own. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** What its program says once at the start. */
export type Start = { readonly ready: true } | { readonly skipped: string };

export class Rival {
	readonly name: string;
	readonly #child: ChildProcess;

	private constructor(name: string, child: ChildProcess) {
		this.name = name;
		this.#child = child;
	}

	/** Runs `program <name> …`. Gives why not, where the contender cannot be loaded. */
	static async start(name: string, program: string, ...args: string[]): Promise<Rival | { readonly skipped: string }> {
		// Without the condition that this process may run with: what is built is measured.
		const child = fork(program, [name, ...args], { execArgv: ["--expose-gc"] });
		const start = await answer<Start>(child).catch((error: Error) => ({ skipped: error.message }));
		if ("ready" in start) return new Rival(name, child);
		if (child.connected) child.disconnect();
		return start;
	}

	/** @throws when the process ends instead */
	async ask<T>(order: object): Promise<T> {
		this.#child.send(order);
		return answer<T>(this.#child).catch((error: Error) => {
			throw new Error(`${this.name}: ${error.message}`);
		});
	}

	async end(): Promise<void> {
		if (!this.#child.connected) return;
		const ended = once(this.#child, "exit");
		this.#child.disconnect();
		await ended;
	}
}

function answer<T>(child: ChildProcess): Promise<T> {
	return new Promise((resolve, reject) => {
		const settle = (): void => {
			child.off("message", onMessage);
			child.off("exit", onExit);
		};
		const onMessage = (message: unknown): void => {
			settle();
			resolve(message as T);
		};
		const onExit = (code: number | null, signal: string | null): void => {
			settle();
			reject(new Error(`its process ended with ${signal ?? `code ${code}`}`));
		};
		child.on("message", onMessage);
		child.on("exit", onExit);
	});
}
