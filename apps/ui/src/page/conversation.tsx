/** What was said up to a moment: the end of it, and more of it on demand. */
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { MESSAGES } from "../server/asks.ts";
import { Answering } from "./answering.tsx";
import type { Message, Transcript } from "./shapes.ts";
import { Text } from "./text.tsx";
import { speaker } from "./words.ts";

/** How many messages of a moment are shown: the newest. */
export const shownMessages = signal(MESSAGES);

/** Where one reads stays in sight when earlier messages come. */
let keep: (() => void) | undefined;

export function Conversation({ of: { messages, seq, more } }: { readonly of: Transcript }) {
	const end = useRef<HTMLDivElement>(null);
	const last = messages.at(-1)?.seq;
	const first = messages[0]?.seq;
	useLayoutEffect(() => {
		keep?.();
		keep = undefined;
	}, [first]);
	// to the end whenever there is another end
	useLayoutEffect(() => {
		const pane = end.current?.parentElement?.parentElement;
		if (!pane) return;
		pane.scrollTop = pane.scrollHeight;
		// What lies above it may take its place only now.
		const again = requestAnimationFrame(() => {
			pane.scrollTop = pane.scrollHeight;
		});
		return () => cancelAnimationFrame(again);
	}, [last, seq]);
	if (messages.length === 0) return <p class="quiet">Nothing was said yet.</p>;
	const showEarlier = (): void => {
		const pane = end.current?.parentElement?.parentElement;
		const below = pane ? pane.scrollHeight - pane.scrollTop : 0;
		shownMessages.value += MESSAGES;
		// What was read stays where it was, once there is more above it.
		keep = () => {
			if (pane) pane.scrollTop = pane.scrollHeight - below;
		};
	};
	return (
		<div class="talk">
			{more && (
				<button type="button" onClick={showEarlier}>
					Earlier messages
				</button>
			)}
			{messages.map((message) => (
				<Said key={message.seq} message={message} />
			))}
			<Answering seq={seq} />
			<div ref={end} />
		</div>
	);
}

function Said({ message: { seq, who, text } }: { readonly message: Message }) {
	return (
		<article class={`said said-${sortOf(who)}`}>
			<h2>
				<Text of={speaker(who)} /> <span class="seq">#{seq}</span>
			</h2>
			<div class="said-text">
				<Text of={text} />
			</div>
		</article>
	);
}

const sortOf = (who: string): string => (who === "you" || who === "note" ? who : "other");
