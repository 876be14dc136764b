/** Says what work does, in the form that was asked for, and takes note of what its exit code is made of. */
import type { BackgroundMessage, OpenQuestion, PlanEntry, RuntimeEvent } from "@reyn/runtime";
import { eventLines, isPaused, isUnfinished, messageText, printSpace, type StreamLine } from "./event-lines.ts";
import { exitCodes } from "./exit-codes.ts";
import { err, out } from "./print.ts";

export type OutputFormat = "text" | "json" | "stream-json";

export class Telling {
	readonly #format: OutputFormat;
	readonly #asksItself: boolean;
	readonly messages: { from: string; text: string }[] = [];
	/** Why work is not over that `resume` goes on with, by the id of its turn, plan or run. */
	readonly unfinished = new Map<string, string>();
	/** The turns that have ended here, or stopped. */
	readonly turns = new Set<number>();
	/** Of the newest compaction: how many tokens a model is shown of what was said. */
	compacted: { readonly before: number; readonly after: number } | undefined;
	/** Which plans and skill runs are paused, and why, by their ids. */
	readonly paused = new Map<string, { readonly plan?: string; readonly run?: string; readonly why: string }>();
	/** The calls that were in doubt, and what was decided of each. */
	readonly inDoubt: Pick<Extract<RuntimeEvent, { type: "in_doubt" }>, "name" | "lane" | "decision">[] = [];
	/** What became of the steps of skill runs that have gone on. */
	readonly resumed: Omit<Extract<RuntimeEvent, { type: "skill_resumed" }>, "type">[] = [];
	/** The plans that ended with a step that failed. */
	readonly #failed = new Set<string>();
	#isCut = false;
	#streaming = false;
	/** Off a terminal a text is shown when it counts: what a model says before it breaks off is not, since it begins anew. */
	#held = { lane: "", text: "" };
	/** Of the text that came last: what was recalled of the rounds before comes without what stood between. */
	#round = 0;

	/** @param asksItself does it say by other means what is asked? */
	constructor(format: OutputFormat, { asksItself = false }: { readonly asksItself?: boolean } = {}) {
		this.#format = format;
		this.#asksItself = asksItself;
	}

	/** Of all events so far. @param questions that are open @param plans as they are now: the answer of one may be told by a process after that of its end */
	exitCodeWith(questions: readonly OpenQuestion[], plans: readonly PlanEntry[]): number {
		const waits = (id: string): boolean => questions.some(({ from }) => from.id === id);
		if (this.#isCut || !this.unfinished.keys().every(waits)) return exitCodes.failed;
		if (this.unfinished.size + this.paused.size > 0) return exitCodes.refused;
		const isTold = ({ plan, status, failed }: PlanEntry): boolean =>
			(status === "completed" || status === "failed") && failed > 0 && this.messages.some(({ from }) => from === plan);
		return this.#failed.size > 0 || plans.some(isTold) ? exitCodes.stepsFailed : exitCodes.ok;
	}

	say(lines: readonly string[]): void {
		if (this.#format === "text") err.lines(lines);
	}

	event(event: RuntimeEvent): void {
		if (event.type === "turn_end") this.turns.add(event.turn);
		if (event.type === "compacted") this.compacted = event.tokens;
		if (event.type === "in_doubt") this.inDoubt.push({ name: event.name, lane: event.lane, decision: event.decision });
		if (event.type === "skill_resumed") {
			const { type: _, ...resumed } = event;
			this.resumed.push(resumed);
		}
		this.#note(event);
		if (event.type === "turn_end" && event.outcome === "interrupted") this.#isCut = true;
		if (this.#format === "stream-json") out.json(event satisfies StreamLine);
		else if (this.#format === "json") printSpace(event);
		else this.#show(event);
	}

	/** Work that has stopped may go on in the same process. */
	#note(event: RuntimeEvent): void {
		if (event.type !== "turn_end" && event.type !== "plan_end" && event.type !== "skill_end") return;
		const id = event.type === "turn_end" ? String(event.turn) : event.type === "plan_end" ? event.plan : event.run;
		const { reason = "" } = event;
		for (const ended of [this.unfinished, this.paused, this.#failed]) ended.delete(id);
		if (event.type === "plan_end" && event.failed.length > 0) this.#failed.add(id);
		if (isPaused(event))
			this.paused.set(id, { ...(event.type === "plan_end" ? { plan: id } : { run: id }), why: reason });
		if (isUnfinished(event)) this.unfinished.set(id, reason);
	}

	#show(event: RuntimeEvent): void {
		if (event.type === "text") {
			if (event.round !== this.#round) this.#endText();
			this.#round = event.round;
			if (!out.isTerminal) this.#held = { lane: `turn/${event.turn}`, text: this.#held.text + event.delta };
			else {
				out.piece(event.delta);
				this.#streaming = true;
			}
			return;
		}
		const isVoid =
			event.type === "model_retry" ? event.lane === this.#held.lane : event.type === "turn_end" && isUnfinished(event);
		if (isVoid) this.#held = { lane: "", text: "" };
		if (event.type === "tool" || event.type === "turn_end") this.over();
		this.#endLine();
		if (event.type === "question" && this.#asksItself) return;
		this.say(eventLines(event));
	}

	/** A text from the background: resolves when it was shown. */
	async message(message: BackgroundMessage): Promise<void> {
		this.messages.push({ from: message.from, text: message.text });
		if (this.#format === "stream-json") await out.json({ type: "message", message } satisfies StreamLine);
		if (this.#format === "text") await out.text(messageText(message));
	}

	#endText(): void {
		this.over();
		this.#endLine();
	}

	#endLine(): void {
		if (this.#streaming) out.text("");
		this.#streaming = false;
	}

	/** No more of the text that is held comes. */
	over(): void {
		if (this.#held.text !== "") out.text(this.#held.text);
		this.#held = { lane: "", text: "" };
	}
}
