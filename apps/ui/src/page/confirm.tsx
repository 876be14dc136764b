/** Asks before anything is changed: what would happen is looked up, shown, and then exactly that is done, or nothing. */
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Given } from "../server/asks.ts";
import { type Along, FilesAlong } from "./along.tsx";
import { act, look, Refusal } from "./api.ts";
import { closeDialog, Dialog, Moved } from "./dialog.tsx";
import { refreshHistory, tip } from "./log.ts";
import { select } from "./selection.ts";
import { refreshState, server } from "./session.ts";
import type { Look } from "./shapes.ts";
import { Text } from "./text.tsx";
import { tell } from "./toast.tsx";

export interface Task {
	readonly verb: string;
	readonly given: Given;
	readonly title: string;
	readonly button: string;
	/** Is one somewhere else behind it? Then the new tip is selected. */
	readonly isGoing: boolean;
	/** What has to be known besides. */
	readonly note?: string;
	/** May files go along? Then that is chosen with it. */
	readonly takesFiles?: boolean;
}

/** What is confirmed now, each time another one. */
export const task = signal<(Task & { readonly id: number }) | undefined>(undefined);

let tasks = 0;

export function confirm(given: Task): void {
	task.value = { ...given, id: ++tasks };
}

type Stage =
	| { readonly kind: "looking"; readonly moved: boolean }
	| { readonly kind: "seen"; readonly found: Look; readonly moved: boolean }
	| { readonly kind: "acting"; readonly found: Look; readonly moved: boolean }
	| { readonly kind: "refused"; readonly why: string };

export function Confirm({
	of: { id, verb, given, title, button, isGoing, note, takesFiles = false },
}: {
	readonly of: Task & { readonly id: number };
}) {
	const stage = useSignal<Stage>({ kind: "looking", moved: false });
	const along = useSignal<Along>({
		...{ files: takesFiles && server.peek()?.files === "always", theirs: false, allOrNothing: false },
	});
	/** What was looked up before something else was chosen does not count. */
	const looks = useRef(0);
	const seen = useRef<Look | undefined>(undefined);

	const refuse = (error: unknown): void => {
		stage.value = { kind: "refused", why: error instanceof Error ? error.message : String(error) };
	};
	const lookUp = async (moved: boolean): Promise<void> => {
		const own = ++looks.current;
		stage.value = { kind: "looking", moved };
		const { files, theirs, allOrNothing } = along.peek();
		const choices = { ...(files && { files }), ...(theirs && { theirs }), ...(allOrNothing && { allOrNothing }) };
		try {
			const found = await look(verb, { ...given, ...choices });
			if (own !== looks.current) return;
			seen.current = found;
			stage.value = { kind: "seen", found, moved };
		} catch (error) {
			if (own === looks.current) refuse(error);
		}
	};
	const carryOut = async (found: Look): Promise<void> => {
		stage.value = { kind: "acting", found, moved: false };
		try {
			const { lines } = await act(found.seen);
			tell(lines);
		} catch (error) {
			if (error instanceof Refusal && error.status === 409) return lookUp(true);
			return refuse(error);
		}
		await Promise.all([refreshState(), refreshHistory()]).catch(() => {});
		if (isGoing) select(tip.peek());
		closeDialog();
	};
	// once, when it opens
	useEffect(() => void lookUp(false), []);

	const now = stage.value;
	// Buttons that waited could not keep the focus.
	useEffect(() => {
		if (now.kind === "acting" || document.activeElement?.closest("dialog :is(button, input)")) return;
		document.querySelector<HTMLElement>("dialog [data-first]")?.focus();
	}, [now.kind]);
	// Of all files or none nothing would be done.
	const isNone = (found: Look): boolean => along.value.allOrNothing && (found.document?.files?.kept.length ?? 0) > 0;
	const ready = now.kind === "seen" && now.found.nothing === null && !isNone(now.found) ? now.found : undefined;
	return (
		<Dialog
			title={title}
			isHeld={now.kind === "acting"}
			onClosed={() => {
				// The next one may have been asked for by then.
				if (task.peek()?.id === id) task.value = undefined;
			}}
		>
			{"moved" in now && now.moved && <Moved />}
			<div class="preview" aria-live="polite" aria-busy={now.kind === "looking" || now.kind === "acting"}>
				<Preview of={now} />
			</div>
			<FilesAlong
				of={along.value}
				isChosen={takesFiles}
				found={seen.current}
				isDisabled={now.kind === "acting"}
				onChoice={(next) => {
					along.value = next;
					void lookUp(false);
				}}
			/>
			{note !== undefined && <p class="quiet">{note}</p>}
			<div class="buttons">
				<button type="button" data-first disabled={now.kind === "acting"} onClick={closeDialog}>
					{ready || now.kind === "acting" || now.kind === "looking" ? "Cancel" : "Close"}
				</button>
				{now.kind !== "refused" && !(now.kind === "seen" && !ready) && (
					<button type="button" class="primary" disabled={!ready} onClick={() => ready && void carryOut(ready)}>
						{now.kind === "acting" ? "Working …" : button}
					</button>
				)}
			</div>
		</Dialog>
	);
}

function Preview({ of }: { readonly of: Stage }) {
	switch (of.kind) {
		case "looking":
			return <p class="quiet">reading …</p>;
		case "refused":
			return (
				<p class="refused" role="alert">
					<Text of={of.why} />
				</p>
			);
		case "seen":
		case "acting":
			return (
				<>
					{of.found.nothing === null && <Sides of={of.found.sides} />}
					<PreviewLines of={of.found.nothing ?? of.found.shown} />
				</>
			);
	}
}

function Sides({ of }: { readonly of: Look["sides"] }) {
	if (of.length === 0) return null;
	return (
		<table class="sums sides">
			<thead>
				<tr>
					<td />
					<th scope="col">now</th>
					<th scope="col">then</th>
				</tr>
			</thead>
			<tbody>
				{of.map(({ name, before, after }) => (
					<tr key={name} class={before === after ? "" : "sides-differ"}>
						<th scope="row">
							<Text of={name} />
						</th>
						<td>
							<Text of={before} />
						</td>
						<td>
							<Text of={after} />
						</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

const grave = /^(ends |closes |starts again|leaves unfinished|stays: |so nothing is done)/;

/** What a title or a choice of the page says. */
const others = /^(check out |to take what somebody else has changed too|\d+ files? (was|were) written since; --files )/;

/** What the server says would happen, but for the words of another face. */
export function PreviewLines({ of }: { readonly of: readonly string[] }) {
	return (
		<ul class="told">
			{of
				.filter((line) => !others.test(line))
				.map((line) => (
					<li key={line} class={grave.test(line) ? "grave" : ""}>
						<Text of={line} />
					</li>
				))}
		</ul>
	);
}
