/** The one reader of a page: it moves with the log, and is opened anew where it cannot. What is asked of it comes one after another. */
import type { Runtime } from "@reyn/runtime";
import { codeOf, type Seq } from "@reyn/wal";

export class Reader {
	readonly #open: () => Promise<Runtime>;
	readonly #isStill: boolean;
	#runtime: Promise<Runtime> | undefined;
	#last: Promise<unknown> = Promise.resolve();

	/**
	 * @param open opens the state `readOnly`
	 * @param how does it stay at the moment at which it was opened?
	 */
	constructor(open: () => Promise<Runtime>, { isStill = false } = {}) {
		this.#open = open;
		this.#isStill = isStill;
	}

	/**
	 * Looks at the state as it is now.
	 *
	 * @param signal what was asked is not wanted any more: it is not begun then
	 */
	use<T>(use: (runtime: Runtime) => Promise<T>, signal?: AbortSignal): Promise<T> {
		const used = this.#last.then(async () => {
			signal?.throwIfAborted();
			return use(await this.#now());
		});
		this.#last = used.catch(() => {});
		return used;
	}

	/** The tip, and then each seq that is durable behind it. */
	async *tips(signal: AbortSignal): AsyncGenerator<Seq> {
		const { wal } = await this.use(async (runtime) => runtime, signal);
		const { tip } = wal;
		yield tip;
		for await (const { seq } of wal.follow({ after: tip, signal })) yield seq;
	}

	async close(): Promise<void> {
		await this.#last;
		await this.#closeRuntime();
	}

	async #now(): Promise<Runtime> {
		try {
			this.#runtime ??= this.#open();
			const runtime = await this.#runtime;
			if (!this.#isStill) await runtime.refresh();
			return runtime;
		} catch (error) {
			await this.#closeRuntime();
			// A tail was taken off, or what was read is not there any more.
			if (!["WAL_TRUNCATED", "WAL_CORRUPT"].includes(codeOf(error) ?? "")) throw error;
			this.#runtime = this.#open();
			return this.#runtime;
		}
	}

	async #closeRuntime(): Promise<void> {
		const runtime = this.#runtime;
		this.#runtime = undefined;
		await runtime?.then((each) => each.close()).catch(() => {});
	}
}
