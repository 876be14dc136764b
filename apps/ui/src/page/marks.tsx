/** The marks of moments, drawn: a font may lack them. Solid leads to now, hollow was left behind, a cross was taken away; else the form says what it is. */
import type { Entry } from "./shapes.ts";

interface MarkProps {
	readonly type: Entry["type"];
	readonly isTurn: boolean;
	readonly isHollow: boolean;
	readonly isNow: boolean;
	readonly isGone: boolean;
}

export function Mark({ type, isTurn, isHollow, isNow, isGone }: MarkProps) {
	return (
		<svg class={`dot${isHollow ? " dot-hollow" : ""}`} width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
			{isNow && <circle class="dot-ring" cx="9" cy="9" r="8" />}
			{isGone ? <path class="dot-gone" d="M6 6l6 6M12 6l-6 6" /> : shapeOf(type, isTurn || isNow)}
		</svg>
	);
}

function shapeOf(type: Entry["type"], isBig: boolean) {
	switch (type) {
		case "reset":
			return <path d="M9 3.5 14.5 9 9 14.5 3.5 9Z" />;
		case "note":
			return <rect x="4.5" y="4.5" width="9" height="9" rx="2" />;
		case "label":
			return <path d="M4 5h6.5l4 4-4 4H4Z" />;
		default:
			return <circle cx="9" cy="9" r={isBig ? 5 : 3.25} />;
	}
}

export function Chevron({ isOpen }: { readonly isOpen: boolean }) {
	return (
		<svg class="chevron" width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
			<path d={isOpen ? "M2 4l4 4 4-4Z" : "M4 2l4 4-4 4Z"} />
		</svg>
	);
}
