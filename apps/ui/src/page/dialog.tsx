/** A modal dialog: the platform's own, which holds the focus, closes on Esc, and gives the focus back. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { focusTree } from "./timeline.tsx";

interface DialogProps {
	readonly title: string;
	/** Something is being done: it has to be waited for. */
	readonly isHeld?: boolean;
	readonly isWide?: boolean;
	readonly children: ComponentChildren;
	onClosed(): void;
}

export function Dialog({ title, isHeld = false, isWide = false, children, onClosed }: DialogProps) {
	const element = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		const dialog = element.current;
		dialog?.showModal();
		dialog?.querySelector<HTMLElement>("[data-first]")?.focus();
	}, []);
	return (
		<dialog
			ref={element}
			class={isWide ? "dialog-wide" : ""}
			aria-labelledby="dialog-title"
			onCancel={(event) => {
				if (isHeld) event.preventDefault();
			}}
			onClose={() => {
				onClosed();
				// What had the focus may be gone.
				if (document.activeElement === null || document.activeElement === document.body) focusTree();
			}}
		>
			<h2 id="dialog-title">{title}</h2>
			{children}
		</dialog>
	);
}

/** Above a preview that is another one than was confirmed. */
export function Moved() {
	return (
		<p class="moved" role="alert">
			Something moved in between, and nothing was written. This is what would happen now:
		</p>
	);
}

/** The one button of a dialog that only shows something. */
export function Close() {
	return (
		<div class="buttons">
			<button type="button" data-first onClick={closeDialog}>
				Close
			</button>
		</div>
	);
}

export const isDialogOpen = (): boolean => document.querySelector("dialog[open]") !== null;

export const closeDialog = (): void => document.querySelector<HTMLDialogElement>("dialog[open]")?.close();
