/** Questions that have no answer yet: what was said of the first one so far, or that nobody is known to work on it. */
import { signal } from "@preact/signals";
import { GoOn } from "./go-on.tsx";
import { tip } from "./log.ts";
import { selected } from "./selection.ts";
import { server } from "./session.ts";
import type { Piece } from "./shapes.ts";
import { Text } from "./text.tsx";
import { work } from "./work.ts";

/** What was said of each turn so far, where this page's server works on it. */
const said = signal<ReadonlyMap<number, string>>(new Map());

export function hear({ turn, from, text }: Piece): void {
	const before = said.peek().get(turn) ?? "";
	said.value = new Map([...said.peek()].slice(-20)).set(turn, before.slice(0, from) + text);
}

/** The turn that was answered last. */
let last: number | undefined;

/** @param seq the moment up to which the conversation is shown: what has been answered since is still shown as it came */
export function Answering({ seq }: { readonly seq: number }) {
	const { key = "0", value } = work.value;
	const [open, ...waiting] = value?.open ?? [];
	if (open !== undefined) last = open;
	const turn = open ?? (Number(key) > seq ? last : undefined);
	if (selected.value !== tip.value || turn === undefined) return null;
	const text = said.value.get(turn) ?? "";
	// Who has the log works on it; a process that hears nobody is not known.
	const isLeft = open !== undefined && server.value?.holder === null;
	return (
		<article class="said said-other" aria-busy={!isLeft}>
			<h2>
				Agent <span class="seq">of #{turn}</span>
			</h2>
			{text !== "" && (
				<div class="said-text">
					<Text of={text} />
				</div>
			)}
			<p class="quiet" role="status">
				{isLeft ? "Nobody is known to work on it. What is recorded of it is not paid again." : "answering …"}
				{waiting.length > 0 && ` ${waiting.length} more wait.`}
			</p>
			{isLeft ? (
				<GoOn verb="resume" name="Go on" label="Go on with all that was cut" />
			) : (
				open !== undefined && <GoOn verb="interrupt" name="Stop" label="Stop this answer" />
			)}
		</article>
	);
}
