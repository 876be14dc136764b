/** The conversation of a session: its projection, and the messages that a model is shown. */
import { type AttachedFile, type Message, shownOf, stepCompleted, type ToolCall } from "@reyn/journal";
import { attachedFileSchema, filesOf, labelled, spilledTextSchema } from "@reyn/journal/internal";
import { rewindNote } from "@reyn/rewind-modes";
import { defineProjection, List } from "@reyn/snapshot";
import type { Seq } from "@reyn/wal";
import { z } from "zod";
import type { From } from "../../kernel/services.ts";
import {
	assistantMessage,
	compactionAsked,
	conversationCompacted,
	messageAdopted,
	messageDelivered,
	toolFailed,
	turnCompleted,
	turnInterrupted,
	userPrompt,
} from "./records.ts";

const seq = z.int();

/** The files of a message; its text has a line for each. */
const files = z.array(attachedFileSchema).readonly().exactOptional();

/** Who waits for what comes of it, by a name of theirs. */
const chain = z.string().exactOptional();

const item = z.discriminatedUnion("type", [
	z.object({ type: z.literal("prompt"), seq, text: z.string(), model: z.string().exactOptional(), chain, files }),
	/** A text of a turn. */
	z.object({ type: z.literal("reply"), seq, turn: seq, round: z.int(), text: z.string() }),
	/** The tools that a turn asked for. */
	z.object({
		type: z.literal("calls"),
		seq,
		turn: seq,
		calls: z.array(z.object({ id: z.string(), name: z.string(), args: z.unknown().optional() })),
	}),
	/** A tool's answer. `step` is the fingerprint of its step; if the call failed, the id of the call. */
	z.object({ type: z.literal("result"), seq, turn: seq, step: z.string(), text: z.string(), files }),
	/** A text from the background; only its beginning, if the whole lies beside the log. */
	z.object({
		type: z.literal("message"),
		seq,
		from: z.string(),
		/** The kind of work that it comes from; absent in states of older versions. */
		of: z.string().optional(),
		chain,
		text: z.string(),
		spilled: spilledTextSchema.optional(),
	}),
	z.object({ type: z.literal("note"), seq, text: z.string() }),
	/** All before the turn `upTo` in short, from a turn on. */
	z.object({ type: z.literal("compaction"), seq, turn: seq, upTo: seq, text: z.string() }),
]);

const openEnds = z.object({
	/** The turns that are not over, by the seqs of the records that began them, oldest first. */
	open: z.array(seq),
	/** The one of them that a person has asked to tell in short what was said; absent: none. */
	compacting: z.object({ turn: seq, model: z.string() }).exactOptional(),
	/** The messages from the background that were not shown yet. */
	undelivered: z.array(seq),
});

export type ConversationItem = z.infer<typeof item>;
export interface ConversationState extends Readonly<z.infer<typeof openEnds>> {
	readonly items: List<ConversationItem>;
}

export const turnLane = (turn: Seq): string => `turn/${turn}`;

/** The turn of a lane; undefined for other lanes, such as those of inner steps. */
export function turnOf(lane: string): Seq | undefined {
	const [, turn] = /^turn\/(\d+)$/.exec(lane) ?? [];
	return turn === undefined ? undefined : Number(turn);
}

export const conversation = defineProjection({
	name: "conversation",
	version: 4,
	schema: openEnds,
	lists: { items: item },
	init: () => ({ items: List.of<ConversationItem>(), open: [], undelivered: [] }),
	handle: (on) => [
		on(userPrompt, (state, { text, model, chain, files = [] }, { seq }) => ({
			...add(state, {
				...{ type: "prompt", seq, text: labelled(text, files), ...withFiles(files) },
				...(model !== undefined && { model }),
				...(chain !== undefined && { chain }),
			}),
			open: [...state.open, seq],
		})),
		on(compactionAsked, (state, { model }, { seq }) => ({
			...state,
			open: [...state.open, seq],
			compacting: { turn: seq, model },
		})),
		on(assistantMessage, (state, message, { seq }) => {
			if ("turn" in message) return add(state, { type: "reply", seq, ...message });
			const { kind: of, id: from, chain } = fromOf(message);
			const { text, spilled } = message;
			const more = { ...(chain !== undefined && { chain }), ...(spilled && { spilled }) };
			return {
				...add(state, { type: "message", seq, from, of, text, ...more }),
				undelivered: [...state.undelivered, seq],
			};
		}),
		// The steps of a turn are folded themselves: they say what was asked of tools and what these answered.
		on(stepCompleted, (state, { lane, kind, fp, occ, result }, { seq }) => {
			const turn = turnOf(lane);
			if (turn === undefined) return state;
			if (kind === "tool") {
				const text = String(shownOf(result));
				return answered(state, {
					...{ type: "result", seq, turn, step: `${fp}:${occ}`, text, ...withFiles(filesOf(result)) },
				});
			}
			const { toolCalls } = result as { toolCalls?: ToolCall[] };
			return kind === "model" && toolCalls && toolCalls.length > 0
				? add(state, { type: "calls", seq, turn, calls: toolCalls })
				: state;
		}),
		on(toolFailed, (state, { turn, call, text }, { seq }) =>
			answered(state, { type: "result", seq, turn, step: call, text }),
		),
		on(turnCompleted, (state, { turn }) => closed(state, turn)),
		on(turnInterrupted, (state, { turn }) => closed(state, turn)),
		on(messageDelivered, (state, { message }) => ({
			...state,
			undelivered: state.undelivered.filter((each) => each !== message),
		})),
		on(conversationCompacted, (state, { turn, upTo, text }, { seq }) =>
			add(state, { type: "compaction", seq, turn, upTo, text }),
		),
		on(messageAdopted, (state, { text, ...source }, { seq }) =>
			add(state, { type: "note", seq, text: `${adoptedHead(source)}\n\n${text}` }),
		),
		on(rewindNote, (state, { text }, { seq }) => add(state, { type: "note", seq, text })),
	],
	// States of older versions are valid here: newer ones only added optional fields and a type of item.
	migrate: (state) => state,
	floor: ({ open }) => open[0],
	inCycle: inToolCycle,
});

/** What a model, and a person, is told of a text that was taken over. */
function adoptedHead({ from, source, actor }: Omit<Parameters<typeof messageAdopted>[0], "text">): string {
	const what =
		"message" in source ? `the answer at #${source.message}` : `what step ${source.step} of plan ${source.plan} found`;
	return `Taken over by ${actor} from another moment of this history, ${what}, as of #${from}:`;
}

const withFiles = (files: readonly AttachedFile[]) => (files.length === 0 ? {} : { files });

function add(state: ConversationState, next: ConversationItem): ConversationState {
	return { ...state, items: state.items.append(next) };
}

/** Adds a tool's answer. A world tool that is asked again in a resumed turn replaces its first answer. */
function answered(state: ConversationState, result: ConversationItem & { type: "result" }): ConversationState {
	for (const [item, at] of since(state, result.turn))
		if (item.type === "result" && item.turn === result.turn && item.step === result.step)
			return { ...state, items: state.items.with(at, { ...result, seq: item.seq }) };
	return add(state, result);
}

/** The work that a background text comes from. Older records had a field of its own for each kind of work. */
function fromOf(message: { from: From } | { plan: string } | { skill: string }): From {
	if ("from" in message) return message.from;
	return "plan" in message ? { kind: "plan", id: message.plan } : { kind: "skill", id: message.skill };
}

/** The items from a seq on, newest first, since callers look for something near the end of a long conversation. */
export function* since({ items }: ConversationState, seq: Seq): Generator<[item: ConversationItem, at: number]> {
	for (let at = items.length - 1; at >= 0; at--) {
		const item = items.at(at) as ConversationItem;
		if (item.seq < seq) return;
		yield [item, at];
	}
}

/** The items from a seq on, oldest first. */
export function* from({ items }: ConversationState, seq: Seq): Generator<ConversationItem> {
	let at = 0;
	for (let end = items.length; at < end; ) {
		const middle = (at + end) >> 1;
		if ((items.at(middle) as ConversationItem).seq < seq) at = middle + 1;
		else end = middle;
	}
	for (; at < items.length; at++) yield items.at(at) as ConversationItem;
}

function closed({ compacting, ...state }: ConversationState, turn: Seq): ConversationState {
	const open = state.open.filter((each) => each !== turn);
	return { ...state, open, ...(compacting && compacting.turn !== turn && { compacting }) };
}

/** Has an unfinished turn asked for tools that have not answered yet? */
function inToolCycle(state: ConversationState): boolean {
	return state.open.some((turn) => {
		let waiting = 0;
		for (const [item] of since(state, turn)) {
			if (item.type === "calls" && item.turn === turn) waiting += item.calls.length;
			if (item.type === "result" && item.turn === turn) waiting--;
		}
		return waiting > 0;
	});
}

/** The prompt that a turn answers, as its model is shown it. */
export function promptMessage(state: ConversationState, turn: Seq): Message {
	const { text = "", files = [] } = promptOf(state, turn) ?? {};
	return { role: "user", text, ...withFiles(files) };
}

/** Does a turn answer just this? */
export function isPrompt(state: ConversationState, turn: Seq, text: string, files: readonly AttachedFile[]): boolean {
	const prompt = promptOf(state, turn);
	if (prompt?.text !== labelled(text, files)) return false;
	const { files: known = [] } = prompt;
	return known.length === files.length && known.every(({ sha256 }, at) => sha256 === files[at]?.sha256);
}

/** The text of the prompt that a turn answers, with a line for each file. */
export const promptText = (state: ConversationState, turn: Seq): string => promptOf(state, turn)?.text ?? "";

/** Has a person asked this turn, which is open, to tell in short what was said? */
export const isCompaction = ({ compacting }: ConversationState, turn: Seq): boolean => compacting?.turn === turn;

/** What an open turn is for, for people. */
export const titleOf = (state: ConversationState, turn: Seq): string =>
	isCompaction(state, turn) ? "what was said, in short" : promptText(state, turn);

/** The id of the model that an open turn was begun with; undefined: unknown. */
export const modelOf = (state: ConversationState, turn: Seq): string | undefined =>
	isCompaction(state, turn) ? state.compacting?.model : promptOf(state, turn)?.model;

/** Who waits for what an open turn brings; undefined: nobody has said so. */
export const chainOf = (state: ConversationState, turn: Seq): string | undefined => promptOf(state, turn)?.chain;

function promptOf(state: ConversationState, turn: Seq) {
	for (const [item] of since(state, turn)) if (item.type === "prompt" && item.seq === turn) return item;
	return undefined;
}

/** Has this plan or skill run delivered a text after `seq`? */
export function hasMessageFrom(state: ConversationState, { kind, id }: From, seq: Seq): boolean {
	return since(state, seq + 1).some(
		([item]) => item.type === "message" && item.from === id && (item.of ?? kind) === kind,
	);
}

export type Compaction = Extract<ConversationItem, { type: "compaction" }>;

/** The newest compaction that counts for a turn: one that was made at its beginning, or before. */
export function compactionBefore(state: ConversationState, turn: Seq): Compaction | undefined {
	for (const [item] of since(state, 0)) if (item.type === "compaction" && item.turn <= turn) return item;
	return undefined;
}

/** What a model is shown of a compaction. */
export const noteOf = ({ text }: Pick<Compaction, "text">): Message => ({
	role: "note",
	text: `What was said and done before, in short:\n${text}`,
});

/** The prompts before a turn, the newest first. */
export function* promptsBefore(state: ConversationState, turn: Seq): Generator<Seq> {
	for (const [item] of since(state, 0)) if (item.type === "prompt" && item.seq < turn) yield item.seq;
}

/**
 * The messages that the model is shown before a turn: all earlier turns as a whole, and background messages between them; what was
 * compacted, in short.
 *
 * @param beside the texts that lie beside the log, by the seqs of their messages; absent: only their beginnings are shown
 */
export function messagesBefore(
	state: ConversationState,
	turn: Seq,
	beside: ReadonlyMap<Seq, string> = new Map(),
): Message[] {
	const compaction = compactionBefore(state, turn);
	if (!compaction) return messagesBetween(state, 0, turn, beside);
	return [noteOf(compaction), ...messagesBetween(state, compaction.upTo, turn, beside)];
}

/** The messages from the beginning of a turn on, up to that of another one. */
export function messagesBetween(
	state: ConversationState,
	from: Seq,
	to: Seq,
	beside: ReadonlyMap<Seq, string>,
): Message[] {
	const items = state.items.toArray().filter(({ type }) => type !== "compaction");
	const prompts = items.filter(({ type }) => type === "prompt").map(({ seq }) => seq);
	/** The group of an item: the items of one turn stay together, even if a background message came between them. */
	const groupOf = (each: ConversationItem): Seq =>
		"turn" in each
			? each.turn
			: each.type === "prompt"
				? each.seq
				: // What came after a turn that had no prompt, as it told all before it in short.
					Math.max(prompts.findLast((prompt) => prompt < each.seq) ?? 0, from < each.seq ? from : 0);
	const late = (each: ConversationItem): number => (each.type === "message" || each.type === "note" ? 1 : 0);
	const shown = items
		.filter((each) => ("turn" in each ? each.turn : each.seq) < to && groupOf(each) >= from)
		.sort((a, b) => groupOf(a) - groupOf(b) || late(a) - late(b) || a.seq - b.seq);
	return toMessages(shown, beside);
}

function toMessages(items: readonly ConversationItem[], beside: ReadonlyMap<Seq, string>): Message[] {
	const messages: Message[] = [];
	let waiting: ToolCall[] = [];
	const closeCycle = (): void => {
		for (const { id, name } of waiting)
			messages.push({ role: "tool", callId: id, name, text: "(interrupted: no result)" });
		waiting = [];
	};
	for (const each of items) {
		if (each.type === "result") {
			const call = waiting.shift();
			if (!call) continue;
			const { text, files = [] } = each;
			messages.push({ role: "tool", callId: call.id, name: call.name, text, ...withFiles(files) });
			continue;
		}
		const last = messages.at(-1);
		if (
			each.type === "reply" &&
			last?.role === "assistant" &&
			waiting.length === last.toolCalls.length &&
			last.text === "" &&
			waiting.length > 0
		) {
			messages[messages.length - 1] = { ...last, text: each.text };
			continue;
		}
		closeCycle();
		switch (each.type) {
			case "prompt":
				messages.push({ role: "user", text: each.text, ...withFiles(each.files ?? []) });
				break;
			case "reply":
			case "message":
				messages.push({ role: "assistant", text: beside.get(each.seq) ?? each.text, toolCalls: [] });
				break;
			case "calls":
				messages.push({ role: "assistant", text: "", toolCalls: each.calls });
				waiting = [...each.calls];
				break;
			case "note":
				messages.push({ role: "note", text: each.text });
		}
	}
	closeCycle();
	return messages;
}
