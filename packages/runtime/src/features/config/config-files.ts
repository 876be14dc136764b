/** The configuration files of a state: who changes one here records it first, and a rewind puts back what its line of history has. */

import type { View } from "@reyn/snapshot";
import {
	type FileGenerations,
	type FileStep,
	type Files,
	fileChanged,
	fileGenerations,
	files,
} from "@reyn/snapshot/files";
import type { Coverage, Moved } from "@reyn/timetravel";
import { isReynError } from "@reyn/wal";
import { RuntimeError } from "../../kernel/errors.ts";
import type { FeatureHost, Kernel } from "../../kernel/feature.ts";
import type { Session } from "../../kernel/session.ts";
import { mainSession } from "../../kernel/sessions.ts";
import { isCovered } from "../../kernel/work.ts";
import { assertTold } from "../../redaction/redact.ts";
import type { ConfigEvent } from "./events.ts";
import { configSettled, openChange } from "./records.ts";

/** The records are those of the main session: its state is there anyway, and a rewind of another session leaves the files alone. */
export class ConfigFiles implements FeatureHost {
	readonly #kernel: Kernel;
	/** Undefined: the store has no directory for them. */
	readonly #generations: FileGenerations | undefined;
	#last: Promise<unknown> = Promise.resolve();
	/** What was to be said before anybody could hear it. */
	#unsaid: ConfigEvent[] | undefined = [];

	/** Use `config` of a runtime. */
	constructor(kernel: Kernel) {
		this.#kernel = kernel;
		const { config: directory } = kernel.store;
		const refuses = (text: string): string | undefined =>
			(kernel.redact?.(text) ?? text) === text ? undefined : "it has what looks like a secret";
		this.#generations =
			directory === undefined
				? undefined
				: fileGenerations({ directory, tracks: (path) => path.endsWith(".yaml"), refuses });
	}

	/** The files that the present line of history has: text by path. An edit by hand is in it once it was recorded, at the next change or move. */
	files(): Files {
		return this.#session.view.get(files);
	}

	/**
	 * Changes a file, or removes it (null): the record is durable before the file is touched. A rewind that is under way, of whatever session, is waited for.
	 * Where the process dies in between, the next start finishes it.
	 *
	 * @param path in the directory, such as `settings.yaml`
	 * @throws RuntimeError `RUNTIME_CLOSED`, `RUNTIME_SECRET`, `RUNTIME_STORE`; SnapshotError `SNAPSHOT_FILE_NOT_RECORDED`; WalError
	 * `WAL_FULL`: nothing was changed. SnapshotError `SNAPSHOT_NOT_RESTORED`: it is recorded, and the next change or start finishes it
	 */
	async write(path: string, content: string | null): Promise<void> {
		const { sessions, redact } = this.#kernel;
		this.#kernel.assertOpen();
		const generations = this.#generations;
		if (!generations) throw new RuntimeError("RUNTIME_STORE", "this store has no directory for configuration files");
		for (const text of [path, content ?? ""]) assertTold(path, text, redact?.(text));
		for (;;) {
			await this.#kernel.beforeClose(Promise.resolve(sessions.rewinding));
			const isDone = await this.#kernel.toItsEnd(() =>
				this.#inTurn(async () => {
					// One that has begun since brings the files where it goes, and needs this turn for it.
					if (sessions.rewinding) return false;
					await this.#finish(generations);
					const { log, view } = this.#session;
					await generations.write(log, view, path, content);
					this.#settled();
					return true;
				}),
			);
			if (isDone) return;
		}
	}

	/** What a move of this coverage would do to the files, edits by hand included. Reads only. */
	async preview(coverage: Coverage, from: View, to: View): Promise<readonly FileStep[]> {
		return isMoved(coverage) ? ((await this.#generations?.preview(from, to)) ?? []) : [];
	}

	/** Records what hands have changed: it belongs to the line of history that is about to be left. */
	async quiet(coverage: Coverage): Promise<void> {
		const generations = this.#generations;
		if (!generations || !isMoved(coverage)) return;
		await this.#inTurn(async () => {
			await this.#finish(generations);
			const { log, view } = this.#session;
			await generations.record(log, view).catch((error: unknown) => {
				// The move leaves such a file as it is, or puts it aside.
				if (!isReynError(error, "SNAPSHOT_FILE_NOT_RECORDED")) throw error;
				this.#say({ type: "config_unrecorded", reason: error.message });
			});
			this.#settled();
		});
	}

	async moved({ seq, coverage }: Moved): Promise<void> {
		const generations = this.#generations;
		if (!generations || !isMoved(coverage)) return;
		const { timeline } = this.#kernel;
		await this.#inTurn(async () => {
			const [from, to] = [await timeline.at(seq - 1, mainSession), await timeline.at(seq, mainSession)];
			this.#sayKept(await generations.restore(from, to));
			this.#settled();
		});
	}

	async opened(): Promise<void> {
		for (const event of this.#unsaid ?? []) this.#kernel.emit(event);
		this.#unsaid = undefined;
		const generations = this.#generations;
		if (!generations) return;
		await this.#inTurn(() => this.#finish(generations)).catch((error: Error) =>
			this.#say({ type: "config_unfinished", reason: error.message }),
		);
	}

	/** Finishes a change that was cut between its record and its file. */
	async #finish(generations: FileGenerations): Promise<void> {
		const { view } = this.#session;
		const { seq } = view.get(openChange);
		if (seq === undefined) return;
		this.#sayKept(await generations.restore(await this.#kernel.timeline.at(seq - 1, mainSession), view));
		this.#settled();
	}

	#settled(): void {
		const { log, view, scope } = this.#session;
		if (view.get(openChange).seq !== undefined) log.append(configSettled({}), scope);
	}

	get #session(): Session {
		return this.#kernel.sessions.at(mainSession);
	}

	#sayKept({ kept }: Awaited<ReturnType<FileGenerations["restore"]>>): void {
		for (const each of kept) this.#say({ type: "config_kept", ...each });
	}

	#say(event: ConfigEvent): void {
		if (this.#unsaid) this.#unsaid.push(event);
		else this.#kernel.emit(event);
	}

	/** One at a time, each with the state that the one before has left. */
	#inTurn<T>(act: () => Promise<T>): Promise<T> {
		const done = this.#last.then(act);
		this.#last = done.catch(() => {});
		return done;
	}
}

const isMoved = (coverage: Coverage): boolean => isCovered({ scope: mainSession, kinds: [fileChanged.kind] }, coverage);
