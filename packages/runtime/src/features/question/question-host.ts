/** Asks people: each question once, however often the process dies, and whoever answers first is heard. */
import type { Tool } from "@reyn/journal";
import type { View } from "@reyn/snapshot";
import type { Seq } from "@reyn/wal";
import { RuntimeError } from "../../kernel/errors.ts";
import type { FeatureHost, Frame, Kernel } from "../../kernel/feature.ts";
import {
	type Answer,
	type AnswerInTime,
	type Asker,
	type Asking,
	type AskPerson,
	asker,
	type From,
	type OpenQuestion,
	serve,
} from "../../kernel/services.ts";
import type { Session } from "../../kernel/session.ts";
import { askUser } from "./ask-user.ts";
import { type Asked, againKey, questions, unanswered } from "./questions.ts";
import { questionAnswered, questionAsked } from "./records.ts";

export interface QuestionOptions {
	/** Puts a question to a person. Default: nobody is here but who calls `answer`. */
	readonly ask?: AskPerson | undefined;
	/**
	 * What becomes of work whose question has no answer yet. `wait`: it waits here. `stop`: it stops, and goes on when it is answered.
	 * `deny`: nobody is here, so what needs a permission is not done; at a limit, and where a question was asked before, the work stops.
	 * Default: `wait`.
	 */
	readonly unanswered?: "wait" | "stop" | "deny" | undefined;
	/** Give models the tool `ask_user`. Default: false. */
	readonly askUser?: boolean | undefined;
}

export class QuestionHost implements FeatureHost, Asker {
	readonly services = [serve(asker, this)];
	readonly #kernel: Kernel;
	readonly #options: QuestionOptions;
	/** The questions that work of this process waits for. */
	readonly #awaited = new Map<Seq, (answer: Answer) => void>();

	constructor(kernel: Kernel, options: QuestionOptions) {
		this.#kernel = kernel;
		this.#options = options;
	}

	/** Offers `ask_user` to turns, and to phases that name it; steps of plans do not get it. */
	tools(frame: Frame): readonly Tool[] {
		return this.#options.askUser && frame.for !== "step" ? [askUser(frame, this)] : [];
	}

	/** What people are asked, oldest first. What asks and is over wants to know no more. */
	open(): readonly OpenQuestion[] {
		return [...this.#kernel.sessions]
			.flatMap((session) => this.#openIn(session).map((asked) => openOf(session, asked)))
			.sort((a, b) => a.seq - b.seq);
	}

	async ask(session: Session, asking: Asking & { readonly waits: true }, signal: AbortSignal): Promise<AnswerInTime>;
	async ask(session: Session, asking: Asking, signal: AbortSignal): Promise<Answer>;
	async ask(session: Session, { waits = false, ...asking }: Asking, signal: AbortSignal): Promise<Answer> {
		const { unanswered = "wait" } = this.#options;
		const known = knownTo(session.view, asking);
		if (known?.answer) return answerOf(known.answer);
		if (!known && !waits && unanswered === "deny") return { kind: "nobody" };
		const seq = known?.seq ?? (await this.#record(session, asking, signal));
		const elsewhere = Promise.withResolvers<Answer>();
		const withdrawn = new AbortController();
		const until = AbortSignal.any([signal, withdrawn.signal]);
		const cut = (): void => elsewhere.reject(signal.reason);
		this.#awaited.set(seq, elsewhere.resolve);
		signal.addEventListener("abort", cut, { once: true });
		try {
			signal.throwIfAborted();
			// It may have been answered since it was recorded, when nobody was known to wait for it.
			const { answer } = knownTo(session.view, asking) ?? {};
			if (answer) return answerOf(answer);
			const left = async (): Promise<Answer> => {
				const given = await this.#askPerson(session, seq, until);
				if (given !== undefined) await this.answer(seq, given, "user");
				else if (unanswered !== "wait") return { kind: "later", seq };
				return elsewhere.promise;
			};
			return await Promise.race([elsewhere.promise, left()]);
		} finally {
			signal.removeEventListener("abort", cut);
			this.#awaited.delete(seq);
			withdrawn.abort();
		}
	}

	/**
	 * Answers a question, and resolves once the answer is durable; work that waits for it goes on.
	 *
	 * @returns the work that had asked; undefined: no such question is open
	 * @throws RuntimeError `RUNTIME_ANSWER` where that is none of the choices
	 */
	async answer(seq: Seq, text: string, by: string): Promise<From | undefined> {
		const inSession = (): Session | undefined =>
			[...this.#kernel.sessions].find((each) => this.#openIn(each).some((asked) => asked.seq === seq));
		// A rewind that is under way may take the question along, or leave it.
		const { scope: sessionScope } = inSession() ?? {};
		if (sessionScope) await this.#kernel.beforeClose(this.#kernel.sessions.rewound(sessionScope));
		const session = inSession();
		const asked = session && this.#openIn(session).find((each) => each.seq === seq);
		if (!session || !asked) return undefined;
		assertAnswers(asked, text);
		const { from } = asked;
		const scope = this.#kernel.find(from)?.work.scope ?? session.scope;
		await session.log.append(questionAnswered({ question: seq, text, by }), scope).durable;
		// As it is recorded, without secrets.
		const { answer } = session.view.get(questions).find((each) => each.seq === seq) ?? {};
		const awaited = this.#awaited.get(seq);
		if (awaited && answer) awaited(answerOf(answer));
		else this.#goOn(session, from);
		return from;
	}

	#goOn(session: Session, from: From): void {
		const goOn = (): void => this.#kernel.goOn(from);
		const { work } = this.#kernel.find(from) ?? {};
		// Work that is about to stop for the question has not heard of the answer: once it has stopped it goes on.
		const over = work && session.over(work);
		if (over) over.then(goOn, goOn);
		else goOn();
	}

	/** What is asked is durable, and whoever wants to know is not over. */
	#openIn({ view }: Session): readonly Asked[] {
		return unanswered(view, (from) => this.#kernel.find(from)?.status).filter(
			({ seq }) => seq <= this.#kernel.wal.durableTip,
		);
	}

	async #record(session: Session, { from, isAgain, ...asking }: Asking, signal: AbortSignal): Promise<Seq> {
		const { kind, id } = from;
		const key = keyOf({ ...asking, isAgain: isAgain ?? false });
		const { work } = this.#kernel.find(from) ?? {};
		const draft = questionAsked({ ...asking, key, from: { kind, id } });
		const append = () => session.log.append(draft, work?.scope ?? session.scope);
		const { seq, durable } = await this.#kernel.space.keep(work?.name ?? kind, "said", append, signal);
		await durable;
		return seq;
	}

	async #askPerson(session: Session, seq: Seq, signal: AbortSignal): Promise<string | undefined> {
		const asked = session.view.get(questions).find((each) => each.seq === seq);
		// Whoever listens hears of the question before somebody is asked.
		if (this.#options.ask && asked) await this.#kernel.told();
		return asked && this.#options.ask?.({ ...openOf(session, asked), signal });
	}
}

const keyOf = ({ key, isAgain }: Pick<Asking, "key" | "isAgain">): string => (isAgain ? againKey(key) : key);

/** The question that was asked before: about the same, in the same terms. */
function knownTo(view: View, asking: Asking): Asked | undefined {
	const key = keyOf(asking);
	return view.get(questions).find((each) => each.key === key && each.terms === asking.terms);
}

const answerOf = ({ text, by }: NonNullable<Asked["answer"]>): Answer => ({ kind: "answered", text, by });

const openOf = (
	{ scope }: Session,
	{ key: _key, lane: _lane, terms: _terms, answer: _none, ...asked }: Asked,
): OpenQuestion => ({
	...asked,
	scope,
});

/** @throws RuntimeError `RUNTIME_ANSWER` */
function assertAnswers({ seq, choices, explained }: Asked, text: string): void {
	if (typeof text === "string" && (!choices || choices.includes(text))) return;
	const withWords = [explained ?? []].flat().map((choice) => `${choice}: `);
	if (typeof text === "string" && withWords.some((begin) => text.startsWith(begin))) return;
	const known = choices?.map((each) => JSON.stringify(each)).join(", ") ?? "any text";
	const why = withWords.map((begin) => `, or ${JSON.stringify(`${begin}<why>`)}`).join("");
	throw new RuntimeError(
		"RUNTIME_ANSWER",
		`#${seq} takes ${choices ? "one of " : ""}${known}${why}; found ${JSON.stringify(text)}; nothing was answered`,
		{ seq, choices },
	);
}
