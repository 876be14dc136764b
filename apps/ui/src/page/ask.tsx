/** The box to ask something in, below what was said, and the button to have that told in short. */
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { doing, isOffered } from "./doing.ts";
import { Wrong } from "./go-on.tsx";
import { tip } from "./log.ts";
import { select, selected } from "./selection.ts";
import { session } from "./session.ts";

/** What is typed, wherever one looks meanwhile. */
const typed = signal("");

export function Ask() {
	const own = useMemo(doing, []);
	const short = useMemo(doing, []);
	if (!isOffered("ask")) return null;
	if (selected.value !== tip.value)
		return (
			<div class="ask">
				<p class="quiet">
					What is asked is asked now, not here.{" "}
					<button type="button" onClick={focusAsk}>
						To now
					</button>
				</p>
			</div>
		);
	const inSession = session.value === undefined ? {} : { session: session.value };
	const send = async (): Promise<void> => {
		const text = typed.peek();
		if (text.trim() === "") return;
		// What was typed stays until it is durable.
		if ((await own.start("ask", { text, ...inSession })) && typed.peek() === text) typed.value = "";
		document.getElementById("ask")?.focus();
	};
	return (
		<form
			class="ask"
			onSubmit={(event) => {
				event.preventDefault();
				void send();
			}}
		>
			<label for="ask" class="unseen">
				Ask
			</label>
			<textarea
				id="ask"
				rows={Math.min(8, typed.value.split("\n").length + 1)}
				placeholder="Ask something"
				aria-describedby="ask-wrong"
				value={typed.value}
				onInput={({ currentTarget }) => {
					typed.value = currentTarget.value;
				}}
				onKeyDown={(event) => {
					if (event.key === "Escape") document.getElementById("tree")?.focus();
					if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
					event.preventDefault();
					void send();
				}}
			/>
			<div class="ask-buttons">
				{isOffered("compact") && (
					<button
						type="button"
						title="The model tells in short what was said, and reads that from then on; nothing of it is gone"
						disabled={short.isDoing.value}
						onClick={() => void short.start("compact", inSession)}
					>
						{short.isDoing.value ? "Working …" : "Compact"}
					</button>
				)}
				<button type="submit" class="primary" disabled={own.isDoing.value || typed.value.trim() === ""}>
					{own.isDoing.value ? "Asking …" : "Ask"}
				</button>
			</div>
			<Wrong of={own} id="ask-wrong" />
			<Wrong of={short} />
		</form>
	);
}

export function focusAsk(): void {
	select(tip.peek());
	const box = document.getElementById("ask");
	// Where it is not shown yet, it is in a moment.
	if (box) box.focus();
	else requestAnimationFrame(() => document.getElementById("ask")?.focus());
}
