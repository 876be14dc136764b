/** A process over a real log that is killed at any append; another one goes on. What it works on, plans or skills, is for its package to say. */
import { type Identity, journal, journalRecords, type Model, recall, type StepEvent } from "@reyn/journal";
import { firstBelow, recordedIn } from "@reyn/journal/internal";
import { type AnyProjection, memorySnapshots, restore, straightPath, type View } from "@reyn/snapshot";
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
}

export interface Work {
	/** Beside those of a journal. */
	readonly records: readonly AnyRecordKind[];
	readonly projections: readonly AnyProjection[];
	readonly clock?: Clock;
}

export interface Opened {
	readonly disk: MortalEngine;
	readonly wal: Wal;
	readonly view: View;
}

/** The log, and the session as it stands there. */
export async function openMortal(disk: MortalEngine, { records, projections, clock }: Work): Promise<Opened> {
	disk.revive();
	const wal = await openWal(disk, { records: [...journalRecords, ...records], ...(clock && { clock }) });
	const sources = { wal, snapshots: memorySnapshots(), projections: [journal, ...projections] };
	return { disk, wal, view: await restore(sources, straightPath(wal.tip, session)) };
}

export class MortalProcess implements Appender, AsyncDisposable {
	readonly disk: MortalEngine;
	readonly events: StepEvent[] = [];
	readonly boundaries: string[] = [];
	view: View;
	protected readonly wal: Wal;
	readonly #life: Life;
	readonly #controller = new AbortController();
	#left: number;

	constructor({ disk, wal, view }: Opened, life: Life) {
		this.disk = disk;
		this.wal = wal;
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
		return appended;
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
