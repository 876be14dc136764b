/** The calls of a script, a line each. */
import { pillOf } from "./pill.ts";
import type { ScriptCall } from "./shapes.ts";
import { Text } from "./text.tsx";

/** What stands for each state. */
export type Words = Readonly<Record<string, string>>;

export function Calls({ of, words }: { readonly of: readonly ScriptCall[]; readonly words: Words }) {
	if (of.length === 0) return <p class="quiet">It made no call yet.</p>;
	return (
		<ol class="steps-of">
			{of.map(({ lane, at, kind, label, state, tokens }) => (
				<li key={`${lane} ${at}`}>
					{kind} <Text of={label} />{" "}
					<span class={pillOf(state)}>
						{kind === "ask" && (state === "in_doubt" || state === "calling") ? "not answered" : (words[state] ?? state)}
					</span>
					{tokens !== undefined && <span class="quiet"> {tokens.toLocaleString("en")} tokens</span>}
				</li>
			))}
		</ol>
	);
}
