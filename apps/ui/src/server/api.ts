/** What the page can ask: verbs that read, what one that writes or works would do, and to do what was shown. Values in, values out. */
import {
	doneLines,
	type FilesVerb,
	givenFor,
	type ReadVerb,
	type Say,
	scopeText,
	type Verb,
	verbs,
	type WorkVerb,
	type WriteVerb,
} from "@reyn/operator";
import { z } from "zod";
import { UiError } from "./errors.ts";
import type { Keys } from "./keys.ts";
import { Previews } from "./previews.ts";
import type { Reader } from "./reader.ts";
import type { Subject } from "./subject.ts";
import type { Waiting } from "./waiting.ts";

/** A verb, on a button. */
const say: Say = (texts, ...words) => String.raw({ raw: texts }, ...words);

const given = z.record(z.string().max(100), z.json()).default({});
const verb = z.string().max(100);

/** What each question takes. */
const questions = {
	"/api/session": z.strictObject({ code: z.string().max(200) }),
	"/api/read": z.strictObject({ verb, given }),
	"/api/look": z.strictObject({ verb, given }),
	"/api/begin": z.strictObject({ verb, given }),
	"/api/act": z.strictObject({ seen: z.string().max(100) }),
	"/api/tab": z.strictObject({}),
};

/** What needs no key: it gives one. */
export const isOpen = (path: string): boolean => path === "/api/session";

export class Api {
	readonly #subject: Subject;
	readonly #reader: Reader;
	readonly #keys: Keys;
	readonly #waiting: Waiting;
	readonly #previews = new Previews();
	/** Why work of this process could not go on. */
	#failed: string | undefined;

	constructor(subject: Subject, reader: Reader, keys: Keys, waiting: Waiting) {
		this.#waiting = waiting;
		this.#subject = subject;
		this.#reader = reader;
		this.#keys = keys;
	}

	/** Does this answer there? */
	has(path: string): boolean {
		return Object.hasOwn(questions, path);
	}

	/**
	 * @param signal who asked has gone
	 * @throws UiError; what the verb throws
	 */
	async answer(path: string, body: unknown, signal: AbortSignal): Promise<unknown> {
		switch (path as keyof typeof questions) {
			case "/api/session":
				return this.#session(parsed(questions["/api/session"], body).code);
			case "/api/read": {
				const { verb, given } = parsed(questions["/api/read"], body);
				return this.#read(verbOf(verb, "read", "files"), given, signal);
			}
			case "/api/look": {
				const { verb, given } = parsed(questions["/api/look"], body);
				return this.#look(verbOf(verb, "write", "work"), given, signal);
			}
			case "/api/begin": {
				const { verb, given } = parsed(questions["/api/begin"], body);
				return this.#begin(verbOf(verb, "work"), given);
			}
			case "/api/act":
				return this.#act(parsed(questions["/api/act"], body).seen);
			case "/api/tab":
				parsed(questions["/api/tab"], body);
				return { code: this.#keys.another() };
		}
	}

	/** What the page says of the whole, whatever moment it shows. */
	async state(signal: AbortSignal): Promise<unknown> {
		const { name, session, act, files = "ask", readOnly, holder } = this.#subject;
		const why = act ? null : (readOnly ?? "it was opened to look only");
		const [{ id, tip, torn }, sessions] = await this.#reader.use(
			async (runtime) => [runtime.wal, runtime.sessions().map(scopeText)] as const,
			signal,
		);
		const pid = holder && ((await holder(id)) ?? null);
		const offered = verbs.filter((each) => this.#isOffered(each)).map(({ name }) => name);
		return {
			directory: name,
			session: scopeText(session),
			sessions,
			readOnly: why,
			files,
			tip,
			wal: { torn: torn?.bytes ?? null },
			verbs: offered,
			...(pid !== undefined && { holder: pid && { pid, isHere: pid === process.pid } }),
			...(this.#waiting.now && { waiting: this.#waiting.now }),
			...(this.#failed !== undefined && { failed: this.#failed }),
		};
	}

	#session(code: string): { readonly token: string } {
		const token = this.#keys.redeem(code);
		if (token !== undefined) return { token };
		throw new UiError("UI_NO_KEY", "this address was used, or is too old; start the page again for another one");
	}

	async #read(verb: ReadVerb | FilesVerb, raw: Given, signal: AbortSignal): Promise<unknown> {
		const given = givenFor(verb, raw);
		const document = await this.#found(verb, given, signal);
		const fault = verb.fault?.(document);
		return { document, lines: verb.lines(document, say, given), ...(fault !== undefined && { fault }) };
	}

	#found(verb: ReadVerb | FilesVerb, given: Given, signal: AbortSignal): Promise<unknown> {
		const { log, ahead } = this.#subject;
		if (verb.access === "files") return verb.examine(log, given as never);
		const read: Parameters<Reader["use"]>[0] = (runtime) => verb.read(runtime, given as never);
		if (verb.at === undefined) return this.#reader.use(read, signal);
		if (!ahead) throw new UiError("UI_READ_ONLY", `${verb.name} runs a script, which this page does not`);
		return ahead.call(this.#subject, read);
	}

	async #look(verb: WriteVerb | WorkVerb, raw: Given, signal: AbortSignal): Promise<unknown> {
		if (verb.access === "work") return this.#ahead(verb, raw, signal);
		const given = givenFor(verb, raw);
		const seen = await this.#reader.use((runtime) => verb.look(runtime, given, true), signal);
		return {
			seen: this.#previews.keep({ kind: "write", verb, seen }),
			document: seen,
			sides: verb.sides?.(seen) ?? [],
			shown: verb.shown(seen, say),
			question: verb.question?.(seen) ?? null,
			nothing: verb.nothing?.(seen, say) ?? null,
		};
	}

	/** What work would begin, bound to the tip that it was seen at. */
	async #ahead(verb: WorkVerb, raw: Given, signal: AbortSignal): Promise<unknown> {
		const { preview } = verb;
		if (!preview) throw new UiError("UI_BAD_REQUEST", `${verb.name} says what it begins by its name alone`);
		const given = givenFor(preview, raw);
		const document = await this.#reader.use((runtime) => preview.read(runtime, given), signal);
		const { tip } = document as { readonly tip: number };
		return {
			seen: this.#previews.keep({ kind: "work", verb, given: { ...raw, tip } }),
			document,
			sides: [],
			shown: preview.lines(document, say, given),
			question: null,
			nothing: null,
		};
	}

	async #act(id: string): Promise<unknown> {
		const { act } = this.#subject;
		if (!act) throw this.#readOnly();
		const preview = this.#previews.take(id);
		if (!preview)
			throw new UiError("UI_UNKNOWN_PREVIEW", "what was confirmed is not known here any more; look again first");
		if (preview.kind === "work") return this.#begin(preview.verb, preview.given);
		const { verb, seen } = preview;
		const done = await act.call(this.#subject, verb, seen);
		return { done, lines: doneLines(verb, done, seen, say) };
	}

	async #begin(verb: WorkVerb, raw: Given): Promise<unknown> {
		const { begin } = this.#subject;
		if (!begin) throw this.#readOnly();
		givenFor(verb, raw);
		const { begun, pid, over } = await begin.call(this.#subject, verb, raw);
		this.#failed = undefined;
		over?.catch((error: unknown) => {
			this.#failed = error instanceof Error ? error.message : String(error);
		});
		return { begun, pid, lines: verb.lines(begun, say) };
	}

	#readOnly(): UiError {
		return new UiError("UI_READ_ONLY", this.#subject.readOnly ?? "this page was opened to look only");
	}

	#isOffered(verb: Verb): boolean {
		if (verb.access === "work") return this.#subject.begin !== undefined;
		if (verb.access === "write") return this.#subject.act !== undefined;
		return verb.access === "files" || (verb.access === "read" && (verb.at === undefined || !!this.#subject.ahead));
	}
}

type Given = Readonly<Record<string, unknown>>;

/** @throws UiError `UI_BAD_REQUEST` */
function parsed<T>(schema: z.ZodType<T>, body: unknown): T {
	const read = schema.safeParse(body);
	if (read.success) return read.data;
	const wrong = read.error.issues.map(({ path, message }) => `${path.join(".") || "body"}: ${message}`);
	throw new UiError("UI_BAD_REQUEST", wrong.join("; "), { wrong });
}

/** @throws UiError `UI_BAD_REQUEST` */
function verbOf<A extends Verb["access"]>(name: string, ...access: readonly A[]): Extract<Verb, { access: A }> {
	const found = verbs.find((each) => each.name === name);
	if (found && (access as readonly string[]).includes(found.access)) return found as Extract<Verb, { access: A }>;
	const all = verbs.filter((each) => (access as readonly string[]).includes(each.access)).map((each) => each.name);
	throw new UiError("UI_BAD_REQUEST", `${JSON.stringify(name)} is none of: ${all.join(", ")}`);
}
