/** Delivers texts from the background: records each once, shows it when its work is over, and records that it was shown. */
import type { SpilledText } from "@reyn/journal";
import { reasonOf } from "@reyn/journal/internal";
import type { Appended, Seq } from "@reyn/wal";
import type { Kernel } from "../../kernel/feature.ts";
import type { BackgroundMessages, From } from "../../kernel/services.ts";
import type { Session } from "../../kernel/session.ts";
import { conversation, hasMessageFrom } from "./conversation.ts";
import type { BackgroundMessage, TurnEvent } from "./events.ts";
import { beginningOf, wholeText } from "./large-texts.ts";
import { deliveryWork, type Undelivered, undeliveredIn } from "./pieces.ts";
import { assistantMessage, messageDelivered } from "./records.ts";

export class Outbox implements BackgroundMessages {
	readonly #kernel: Kernel;
	readonly #onMessage: ((message: BackgroundMessage) => Promise<void>) | undefined;
	/** The messages that are being shown. */
	readonly #showing = new Set<Seq>();

	constructor(kernel: Kernel, onMessage: ((message: BackgroundMessage) => Promise<void>) | undefined) {
		this.#kernel = kernel;
		this.#onMessage = onMessage;
	}

	record(session: Session, from: From, since: Seq, text: string, spilled?: SpilledText): Appended | undefined {
		if (this.hasRecorded(session, from, since)) return undefined;
		const said = spilled ? { text: beginningOf(text), spilled } : { text };
		const { kind, id, chain } = from;
		const by = { kind, id, ...(chain !== undefined && { chain }) };
		return session.log.append(assistantMessage({ ...said, from: by }), session.scope);
	}

	hasRecorded({ view }: Session, from: From, since: Seq): boolean {
		return hasMessageFrom(view.get(conversation), from, since);
	}

	async show(session: Session, { id }: From, signal: AbortSignal = new AbortController().signal): Promise<void> {
		const messages = undeliveredIn(session.view).filter(({ from }) => from === id);
		await this.#deliver(messages, signal);
	}

	/** Shows the texts that wait in a session, except those of work that is under way: it shows its own texts when it is over. */
	deliverWaiting(session: Session): void {
		const work = deliveryWork(session.scope);
		if (session.isRunning(work)) return;
		session.start(work, async (signal) => {
			// A microtask later, all work that is resumed has begun.
			await undefined;
			const under = session.scopesUnderWay();
			const messages = undeliveredIn(session.view).filter(({ from }) => !under.some(({ run }) => run === from));
			await this.#deliver(messages, signal);
		});
	}

	/** Shows messages one after the other. One that fails waits, is reported, and does not hold up the others. Never rejects. */
	async #deliver(messages: readonly Undelivered[], signal: AbortSignal): Promise<void> {
		for (const message of messages) {
			try {
				await this.#deliverOne(message, signal);
			} catch (error) {
				// Shown, but not recorded for lack of space: it is shown again at the next start.
				if (signal.aborted && error === signal.reason) return;
				const { seq, scope, from } = message;
				const { message: reason } = reasonOf(error);
				this.#kernel.emit({ type: "undelivered", scope, message: seq, from, reason } satisfies TurnEvent);
			}
		}
	}

	/** Shows a message and records that. While the record waits for space the message counts as being shown, so it is not shown twice. */
	async #deliverOne({ spilled, ...message }: Undelivered, signal: AbortSignal): Promise<void> {
		const { sessions, results, space, wal } = this.#kernel;
		if (!this.#onMessage || this.#showing.has(message.seq)) return;
		// The message is not durable, since the log has failed: the next start shows it.
		if (message.seq > wal.durableTip) return;
		this.#showing.add(message.seq);
		try {
			// Events of earlier records come first.
			await this.#kernel.told();
			await this.#onMessage({ ...message, text: await wholeText({ text: message.text, spilled }, results) });
			const write = (): Appended | undefined => {
				const session = sessions.find(message.scope);
				const isWaiting = session?.view.get(conversation).undelivered.includes(message.seq);
				return isWaiting ? session?.log.append(messageDelivered({ message: message.seq }), message.scope) : undefined;
			};
			await (await space.keep(message.from, "shown", write, signal))?.durable;
		} finally {
			this.#showing.delete(message.seq);
		}
	}
}
