/** Makes a request fit what a model reads at most: old files go first, then old results of tools are shortened, then the oldest messages are left out. */
import { type AttachedFile, MOST_BYTES_OF_FILES, MOST_FILES } from "./attached-file.ts";
import { JournalError } from "./errors.ts";
import { filesIn, withFiles } from "./files-shown.ts";
import type { Json, Message, Model, ModelRequest, ToolCall, ToolSpec, Usage } from "./ports.ts";

/** What is left of a text that is shortened, in characters. */
const HEAD = 300;

/** Shortened anew, a request becomes so much of what fits: so its beginning stays the same for some rounds, and with it a provider's cache. */
const ROOM = 0.75;

/** Bytes of a token, as they are guessed: fewer than words have, so rather too many tokens. Tables of digits have fewer still: see {@link Window.read}. */
export const TOKEN_BYTES = 3;

/** Tokens of an image, as they are guessed: what the largest has with most providers. Of a PDF its text counts too: a token for so many bytes. */
const IMAGE_TOKENS = 1600;
const PDF_TOKEN_BYTES = 40;

/** What a provider adds to each message, in tokens. */
const FRAME = 8;

/** About as many tokens as a model reads in a request: rather too many. */
export const approximateTokens = (request: ModelRequest): number => fixedTokens(request) + sum(request.messages);

/** How many tokens a model has read for one that was guessed, at least 1: what it was heard to say counts for its later loops in this process too. */
const heard = new WeakMap<object, number>();

export const scaleOf = (model: object): number => heard.get(model) ?? 1;

type Reader = Pick<Model, "id" | "maxInputTokens">;

/**
 * The window of one loop. A round that is recorded is found by its name, however it was shown; one that is asked again after a crash may
 * be shown otherwise, by what the model has said since.
 */
export class Window {
	readonly #model: Reader;
	readonly #most: number;
	#scale: number;
	/** Of the messages before these places, files are not shown, results and arguments are shortened, and all is left out. */
	#filesOut = 0;
	#shortened = 0;
	#leftOut = 0;
	/** Of the loop itself: the rounds before this place are left out. */
	#roundsOut = 0;

	/** @throws TypeError for a `maxInputTokens` that is no number above 0 */
	constructor(model: Reader) {
		const { id, maxInputTokens: most = Number.POSITIVE_INFINITY } = model;
		if (!(typeof most === "number" && most > 0))
			throw new TypeError(`maxInputTokens of ${id} is a number above 0; found ${most}`);
		this.#model = model;
		this.#most = most;
		this.#scale = scaleOf(model);
	}

	/**
	 * @param given the one before, with more messages at its end
	 * @param begun how many of its messages the loop began with: the last of these is never left out
	 * @throws JournalError `MODEL_WINDOW`
	 */
	fit(given: ModelRequest, begun: number): ModelRequest {
		const request = withNewestFiles(given);
		if (this.#most === Number.POSITIVE_INFINITY) return request;
		const { messages } = request;
		const fixed = fixedTokens(request);
		let tokens = fixed + sum(this.#shown(messages, begun));
		const fits = (share = 1): boolean => tokens * this.#scale <= this.#most * share;
		/** The last round, which the model has not answered yet. */
		const last = messages.findLastIndex(({ role }) => role === "assistant");
		const old = Math.max(last, begun - 1);
		const isCut = !fits();
		const cut = (at: number, move: () => void): void => {
			const sizeNow = (): number => tokensOf(this.#lessOf(messages[at] as Message, at, begun));
			const before = sizeNow();
			move();
			if (at >= this.#leftOut) tokens += sizeNow() - before;
		};
		while (isCut && this.#filesOut < old && !fits(ROOM)) cut(this.#filesOut, () => this.#filesOut++);
		while (isCut && this.#shortened < old && !fits(ROOM)) cut(this.#shortened, () => this.#shortened++);
		for (const [at, { role }] of messages.entries()) {
			if (fits()) break;
			const isTurn = at < begun && role === "user" && at > this.#leftOut;
			const isRound = at > begun && at <= last && role === "assistant" && at > this.#roundsOut;
			if (!isTurn && !isRound) continue;
			const from = isTurn ? this.#leftOut : Math.max(begun, this.#roundsOut);
			if (from === 0 || from === begun) tokens += tokensOf(longestNote);
			for (const [i, each] of messages.slice(from, at).entries())
				tokens -= tokensOf(this.#lessOf(each, from + i, begun));
			if (isTurn) this.#leftOut = at;
			else this.#roundsOut = at;
		}
		const shown = this.#shown(messages, begun);
		return { ...request, messages: fits() ? shown : this.#withShortResults(shown, fixed) };
	}

	/** Hears how much the model has read of a request: some texts have more tokens than was guessed. */
	read(request: ModelRequest, { inputTokens }: Usage): void {
		const scale = inputTokens / approximateTokens(request);
		if (!(scale > this.#scale && scale <= MOST_SCALE)) return;
		this.#scale = scale;
		heard.set(this.#model, this.#scale);
	}

	/** What is left of a message at its place, where it is not left out. Files of what was asked last stay. */
	#lessOf(message: Message, at: number, begun: number): Message {
		if (at === begun - 1) return message;
		if (at < this.#shortened) return shortened(message);
		return at < this.#filesOut ? withoutFiles(message) : message;
	}

	#shown(messages: readonly Message[], begun: number): readonly Message[] {
		const shown = messages.map((each, at) => this.#lessOf(each, at, begun));
		const [from, on] = [this.#leftOut, this.#roundsOut];
		const before = from === 0 ? [] : [noteOf(from)];
		if (on === 0) return [...before, ...shown.slice(from)];
		return [...before, ...shown.slice(from, begun), noteOf(on - begun), ...shown.slice(on)];
	}

	/** The results at the end share what is left, without files: the longest are shortened. @throws JournalError `MODEL_WINDOW` */
	#withShortResults(shown: readonly Message[], fixed: number): readonly Message[] {
		const behind = shown.findLastIndex(({ role }) => role !== "tool") + 1;
		const results = shown.slice(behind).map(withoutFiles);
		const rest = fixed + sum(shown.slice(0, behind)) + results.length * FRAME;
		const share = largestShare(results.map(bytesOf), (this.#most / this.#scale - rest) * TOKEN_BYTES) - LONGEST_NOTE;
		const least = rest + (results.length * (HEAD + LONGEST_NOTE)) / TOKEN_BYTES;
		if (!(share >= HEAD)) throw this.#tooLarge(least * this.#scale);
		return [...shown.slice(0, behind), ...results.map((result) => withText(result, share))];
	}

	#tooLarge(tokens: number): JournalError {
		const found = Math.ceil(tokens);
		const { id } = this.#model;
		return new JournalError(
			"MODEL_WINDOW",
			`${id} reads ${this.#most} tokens at once, and what cannot be left out has about ${found}: ask with less text, offer fewer tools, or take a model that reads more`,
			{ model: id, maxInputTokens: this.#most, tokens: found },
		);
	}
}

/** A model that says it has read more than this for one token that was guessed is not believed. */
const MOST_SCALE = 4;

const noteOf = (count: number): Message => ({
	role: "note",
	text: `${count} earlier messages are not shown, since they do not fit what you can read at once`,
});

const longestNote = noteOf(Number.MAX_SAFE_INTEGER);

/** How much each may have at most, so that all have no more than `room` together. */
function largestShare(sizes: readonly number[], room: number): number {
	let left = room;
	let others = sizes.length;
	for (const size of sizes.toSorted((a, b) => a - b)) {
		if (size > left / others) return left / others;
		left -= size;
		others--;
	}
	return left;
}

/** Guessed once for each message: a loop asks for them in each of its rounds. */
const guessed = new WeakMap<Message, number>();

function tokensOf(message: Message): number {
	const known = guessed.get(message);
	if (known !== undefined) return known;
	const tokens = filesIn(message).reduce(
		(sum, file) => sum + tokensOfFile(file),
		FRAME + bytesOf(message) / TOKEN_BYTES,
	);
	guessed.set(message, tokens);
	return tokens;
}

const tokensOfFile = ({ mediaType, bytes }: AttachedFile): number =>
	IMAGE_TOKENS + (mediaType.startsWith("image/") ? 0 : bytes / PDF_TOKEN_BYTES);

function bytesOf(message: Message): number {
	const text = Buffer.byteLength(message.text);
	if (message.role !== "assistant") return text;
	// Given back, what the model said is in its own form, or else in ours.
	const { toolCalls, echo } = message;
	return Math.max(text + jsonBytes(toolCalls), echo === undefined ? 0 : jsonBytes(echo.parts));
}

const sum = (messages: readonly Message[]): number =>
	messages.reduce((tokens, message) => tokens + tokensOf(message), 0);

const fixedTokens = ({ system, tools }: Pick<ModelRequest, "system" | "tools">): number =>
	FRAME + (Buffer.byteLength(system) + tools.reduce((bytes, tool) => bytes + specBytes(tool), 0)) / TOKEN_BYTES;

const specBytes = ({ name, description, parameters }: ToolSpec): number => jsonBytes({ name, description, parameters });

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

const shortenedBefore = new WeakMap<Message, Message>();

/** A message without what is long and can be asked for again. */
export function shortened(message: Message): Message {
	const known = shortenedBefore.get(message);
	if (known) return known;
	const short = message.role === "tool" ? withText(withoutFiles(message), HEAD) : withShortCalls(withoutFiles(message));
	shortenedBefore.set(message, short);
	return short;
}

const withoutFilesBefore = new WeakMap<Message, Message>();

/** A message with a line in the place of each file. */
function withoutFiles(message: Message): Message {
	const files = filesIn(message);
	if (files.length === 0) return message;
	const known = withoutFilesBefore.get(message);
	if (known) return known;
	const without = withFiles(message, [], files.map(notShown));
	withoutFilesBefore.set(message, without);
	return without;
}

const notShown = ({ name }: AttachedFile): string => `(${name} is not shown any more: it does not fit)`;

/** A request with as many files as providers take, the newest: of a message all or none. */
function withNewestFiles(request: ModelRequest): ModelRequest {
	let [count, bytes] = [0, 0];
	let from = request.messages.length;
	for (; from > 0; from--) {
		const files = filesIn(request.messages[from - 1] as Message);
		count += files.length;
		for (const file of files) bytes += file.bytes;
		if (count > MOST_FILES || bytes > MOST_BYTES_OF_FILES) break;
	}
	if (from === 0) return request;
	return { ...request, messages: request.messages.map((each, at) => (at < from ? withoutFiles(each) : each)) };
}

function withShortCalls(message: Message): Message {
	if (message.role !== "assistant") return message;
	const toolCalls = message.toolCalls.map(shortCall);
	if (toolCalls.every((call, at) => call === message.toolCalls[at])) return message;
	// What the model said in its own form would have the long arguments still.
	const { echo, ...rest } = message;
	return { ...rest, toolCalls };
}

const shortCall = (call: ToolCall): ToolCall =>
	jsonBytes(call.args) > HEAD * 4 ? { ...call, args: shortValue(call.args as Json) } : call;

function shortValue(value: Json): Json {
	if (typeof value === "string") return shortText(value, HEAD);
	if (Array.isArray(value)) return value.map(shortValue);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortValue(each)]));
}

const withText = <M extends Message>(message: M, most: number): M => {
	const text = shortText(message.text, most);
	return text === message.text ? message : { ...message, text };
};

const LONGEST_NOTE = 80;

/** The beginning of a text, at most so many bytes of it, and how much is not shown. */
export function shortText(text: string, most: number): string {
	const bytes = Buffer.byteLength(text);
	if (bytes <= most + LONGEST_NOTE) return text;
	// A character that was cut through is left out.
	const head = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.from(text).subarray(0, most), {
		stream: true,
	});
	return `${head}\n[the rest of ${bytes} bytes is not shown: it does not fit]`;
}
