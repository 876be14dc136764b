/** A contender as the bench sees it: a process of its own, so that its memory, its threads and its faults are its own. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Order, Start } from "./contend.ts";
import type { Contender } from "./contenders.ts";
import type { Figures, Workload } from "./workloads.ts";

export class Rival {
	readonly contender: Contender;
	readonly #child: ChildProcess;

	private constructor(contender: Contender, child: ChildProcess) {
		this.contender = contender;
		this.#child = child;
	}

	/** Gives why not, where a contender cannot be loaded. */
	static async start(contender: Contender, directory: string): Promise<Rival | { readonly skipped: string }> {
		// Without the condition that this process may run with: what is built is measured.
		const child = fork(join(import.meta.dirname, "contend.ts"), [contender.name, directory], {
			execArgv: ["--expose-gc"],
		});
		const start = await answer<Start>(child).catch((error: Error) => ({ skipped: error.message }));
		if ("ready" in start) return new Rival(contender, child);
		if (child.connected) child.disconnect();
		return start;
	}

	async measure<W extends Workload>(workload: W, ms: number): Promise<Figures[W]> {
		this.#child.send({ workload, ms } satisfies Order);
		const { figures } = await answer<{ figures: Figures[W] }>(this.#child);
		return figures;
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
