/** A contender in a process of its own, so that its memory, its threads and its faults are its own. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Request, Start } from "./contend.ts";
import type { Contender } from "./contenders.ts";
import type { FoundOf, JobName, OrderOf } from "./jobs.ts";

export class Rival {
	readonly contender: Contender;
	readonly #child: ChildProcess;

	private constructor(contender: Contender, child: ChildProcess) {
		this.contender = contender;
		this.#child = child;
	}

	/** @throws where the contender cannot be loaded */
	static async start(contender: Contender, store: string, messages: string): Promise<Rival> {
		// Without the condition that this process may run with: what is built is measured.
		const child = fork(join(import.meta.dirname, "contend.ts"), [contender.name, store, messages], {
			execArgv: ["--expose-gc"],
		});
		const rival = new Rival(contender, child);
		const start = await rival.#answer<Start>();
		if ("ready" in start) return rival;
		await rival.end();
		throw new Error(start.skipped);
	}

	async do<Name extends JobName>(job: Name, order: OrderOf<Name>): Promise<FoundOf<Name>> {
		this.#child.send({ job, order } satisfies Request<Name>);
		return this.#answer();
	}

	async end(): Promise<void> {
		if (!this.#child.connected) return;
		const ended = once(this.#child, "exit");
		this.#child.disconnect();
		await ended;
	}

	async #answer<T>(): Promise<T> {
		const settled = new AbortController();
		const { signal } = settled;
		const exit = once(this.#child, "exit", { signal }).then(([code, by]) => {
			throw new Error(`the process of "${this.contender.name}" ended with ${by ?? `code ${code}`}`);
		});
		try {
			const [message] = await Promise.race([once(this.#child, "message", { signal }), exit]);
			return message as T;
		} finally {
			settled.abort();
		}
	}
}
