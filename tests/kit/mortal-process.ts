/** A process over a real log that is killed at any append; another one goes on. What it works on, plans or skills, is for its package to say. */
import { type Identity, journal, journalRecords, type Model, recall, type StepEvent } from "@reyn/journal";
import { firstBelow, recordedIn } from "@reyn/journal/internal";
import {
	type AnyProjection,
	capture,
	memorySnapshots,
	restore,
	type SnapshotStore,
	type Sources,
	straightPath,
	type View,
} from "@reyn/snapshot";
import {
	type AnyRecordKind,
	type Appended,
	type Appender,
	type Clock,
	type Draft,
	openWal,
	type Scope,
	type Wal,
	type WalRecord,
} from "@reyn/wal";
import type { MortalEngine } from "@reyn/wal/testing";

export const session: Scope = { agent: "default", session: "main" };

export interface Life {
	/** Appends that it lives for. Default: it does not die. */
	readonly appends?: number;
	/** Is what was appended but not durable lost when it dies? Default: it just made it to the disk. */
	readonly tailIsLost?: boolean;
	/** Gets each record that it appends. */
	readonly heard?: (record: WalRecord) => void;
}

export interface Work {
	/** Beside those of a journal. */
	readonly records: readonly AnyRecordKind[];
	readonly projections: readonly AnyProjection[];
	readonly clock?: Clock;
	/** Over all lives, where the log is truncated. */
	readonly snapshots?: SnapshotStore;
}

export interface Opened {
	readonly disk: MortalEngine;
	readonly wal: Wal;
	readonly view: View;
	readonly sources: Sources;
}

/** The log, and the session as it stands there. */
export async function openMortal(
	disk: MortalEngine,
	{ records, projections, clock, snapshots = memorySnapshots() }: Work,
): Promise<Opened> {
	disk.revive();
	const wal = await openWal(disk, { records: [...journalRecords, ...records], ...(clock && { clock }) });
	const sources = { wal, snapshots, projections: [journal, ...projections] };
	return { disk, wal, sources, view: await restore(sources, straightPath(wal.tip, session)) };
}

export class MortalProcess implements Appender, AsyncDisposable {
	readonly disk: MortalEngine;
	readonly events: StepEvent[] = [];
	readonly boundaries: string[] = [];
	view: View;
	protected readonly wal: Wal;
	readonly #sources: Sources;
	readonly #life: Life;
	readonly #controller = new AbortController();
	#left: number;

	constructor({ disk, wal, view, sources }: Opened, life: Life) {
		this.disk = disk;
		this.wal = wal;
		this.#sources = sources;
		this.view = view;
		this.#life = life;
		this.#left = life.appends ?? Number.POSITIVE_INFINITY;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.wal.close().catch(() => undefined);
	}

	get isDead(): boolean {
		return this.#left < 0;
	}

	append(draft: Draft, scope: Scope): Appended {
		if (--this.#left < 0) throw this.#die();
		const appended = this.wal.append(draft, scope);
		this.view = this.view.apply(appended.record);
		this.#life.heard?.(appended.record);
		return appended;
	}

	/** Takes all records away that the state stands for, which is stored. */
	async forget(): Promise<void> {
		// Reading waits for what is queued.
		await this.records();
		await capture(this.#sources, this.view);
		await this.wal.truncate({ before: this.view.seq });
	}

	cancel(reason: string): void {
		this.#controller.abort(new Error(reason));
	}

	async records(): Promise<readonly WalRecord[]> {
		const records: WalRecord[] = [];
		for await (const record of this.wal.read()) if (!record.kind.startsWith("wal_")) records.push(record);
		return records;
	}

	async kinds(): Promise<readonly string[]> {
		return (await this.records()).map(({ kind }) => kind);
	}

	/** What steps run on. A dead process pays for nothing. */
	protected portsOver(model: Model) {
		return {
			log: this,
			logId: this.wal.id,
			model: {
				id: model.id,
				generate: (...request: Parameters<Model["generate"]>) => {
					if (this.isDead) throw new Error("killed");
					return model.generate(...request);
				},
			},
			signal: this.#controller.signal,
			recall: (step: Identity, program: string) => recall(this.view.get(journal), step, program),
			recordedIn: (lane: string) => recordedIn(this.view.get(journal), lane),
			firstBelow: (lane: string) => firstBelow(this.view.get(journal), lane),
			observe: (event: StepEvent) => void this.events.push(event),
		};
	}

	#die(): Error {
		const killed = new Error("killed");
		if (this.#life.tailIsLost) this.disk.die();
		this.#controller.abort(killed);
		return killed;
	}
}
