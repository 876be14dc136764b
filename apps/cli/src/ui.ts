/** `reyn ui`: the page, served by a process of its own. It has no lock: it reads, and what is confirmed is done by whoever has the log. */
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { act, beginAnywhere, holderOf, type Places } from "@reyn/operator";
import { layoutOf, mainSession, type Runtime, type RuntimeEvent } from "@reyn/runtime";
import { serve } from "@reyn/ui";
import { filesAlongOf } from "./config/options.ts";
import { assertOurs, configured, type Globals, openForReading, openToAsk, reading, stateOf } from "./context.ts";
import { printSpace } from "./event-lines.ts";
import { CliError } from "./exit-code.ts";
import { bySignal, exitCodes } from "./exit-codes.ts";
import { placesOf } from "./held.ts";
import { openPage } from "./open-page.ts";
import { err, out } from "./print.ts";
import { untilStopped } from "./stop.ts";

export interface UiOptions {
	readonly port: number;
	readonly readOnly?: boolean;
	/** Does what was in flight go on with what the page begins? Default: true. */
	readonly restore?: boolean;
	/** Show it in the browser of this system. */
	readonly open?: boolean;
}

/** Serves until it is stopped. Gives the exit code. */
export async function ui(
	globals: Globals,
	{ port, readOnly = false, restore = true, open = false }: UiOptions,
): Promise<number> {
	// What the page does later is done without a question: whose state it is has to be known before. Who only looks changes nothing.
	if (!readOnly) await assertOurs(globals);
	const works = new Works(globals, restore);
	const served = await serve(
		{
			name: resolve(globals.cwd),
			session: mainSession,
			log: layoutOf(stateOf(globals)).wal,
			open: () => openForReading(globals),
			ahead: (use) => reading(globals, use, "as recovered"),
			...(readOnly
				? { readOnly: "it was started with --read-only" }
				: {
						act: (verb, seen) => act(verb, seen, "page", works.places),
						begin: (verb, given) => beginAnywhere(verb, given, "page", works.places),
					}),
			holder: (log) => holderOf(stateOf(globals), log),
			files: filesAlongOf((await configured(globals)).config),
		},
		{ port },
	);
	works.onEvent = served.onEvent;
	if (globals.json) out.json({ address: served.address, port: served.port });
	else out.line(served.address);
	err.line("the address is for one browser, within a minute; Ctrl-C ends the page, and nothing else");
	const forget = open ? await opened(served.address) : undefined;
	const close = async (how: { readonly withinMs: number }): Promise<void> => {
		await forget?.();
		await served.close();
		await works.stop(how);
	};
	const stopped = await untilStopped({ close }, async (signal) => {
		await new Promise<void>((resolve) => {
			signal.addEventListener("abort", () => resolve());
			// A chat that has begun this is no more.
			if (process.connected) process.once("disconnect", () => resolve());
		});
	});
	return stopped ? bySignal[stopped.by] : exitCodes.ok;
}

/** Where no browser opens it, a person does. @returns forgets the address */
async function opened(address: string): Promise<(() => Promise<void>) | undefined> {
	try {
		return await openPage(address);
	} catch (error) {
		err.line(`reyn: no browser could be opened (${(error as Error).message}); open the address yourself`);
		return undefined;
	}
}

/** What the page has begun in this process: it stops with the page, and goes on at the next start. */
class Works {
	readonly places: Places;
	readonly #open = new Set<Runtime>();
	readonly #under = new Set<Promise<unknown>>();
	#isStopped = false;
	onEvent: (event: RuntimeEvent) => void = () => {};

	constructor(globals: Globals, restore: boolean) {
		this.places = { ...placesOf(globals), restore, working: (use) => this.#working(globals, use) };
	}

	/** @throws RuntimeError `RUNTIME_NOT_QUIET` */
	async stop(how: { readonly withinMs: number }): Promise<void> {
		this.#isStopped = true;
		const stopped = Promise.allSettled(this.#under);
		for (const runtime of this.#open) runtime.cancel();
		const inTime = new AbortController();
		const late = sleep(how.withinMs, "late", { signal: inTime.signal }).catch(() => {});
		if ((await Promise.race([stopped, late])) !== "late") return inTime.abort();
		await Promise.all([...this.#open].map((runtime) => runtime.close({ withinMs: 0 })));
	}

	#working<T>(globals: Globals, use: (runtime: Runtime) => Promise<T>): Promise<T> {
		const working = this.#work(globals, use).finally(() => this.#under.delete(working));
		this.#under.add(working);
		return working;
	}

	async #work<T>(globals: Globals, use: (runtime: Runtime) => Promise<T>): Promise<T> {
		await using runtime = await openToAsk(globals, {
			onEvent: (event) => {
				printSpace(event);
				this.onEvent(event);
			},
		});
		// It may have been stopped while it was opened.
		if (this.#isStopped) throw new CliError("CLI_INTERRUPTED", "the page has ended: nothing was begun");
		this.#open.add(runtime);
		try {
			return await use(runtime);
		} finally {
			this.#open.delete(runtime);
		}
	}
}
