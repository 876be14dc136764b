/** A row of the timeline: a moment, or a line that was left behind. */
import { Chevron, Mark } from "./marks.tsx";
import { select } from "./selection.ts";
import type { Entry } from "./shapes.ts";
import { Text } from "./text.tsx";
import { focusTree } from "./timeline.tsx";
import { cursor, type FoldRow, fold, type MomentRow, type Row } from "./tree.ts";
import { age, counted } from "./words.ts";

interface RowProps {
	readonly row: Row;
	readonly top: number;
	readonly place: number;
	readonly size: number;
	readonly isLast: boolean;
	readonly isSelected: boolean;
	readonly isCursor: boolean;
}

export function TreeRow({ row, top, place, size, isLast, isSelected, isCursor }: RowProps) {
	const isMoment = row.kind === "moment";
	const isOff = isMoment && !row.entry.active;
	const classes = ["row", `row-${row.kind}`];
	if (isOff || row.level > 1) classes.push("row-off");
	if (isMoment && row.entry.gone) classes.push("row-gone");
	if (row.level > 1) classes.push("row-within");
	if (isLast) classes.push("row-last");
	if (isCursor) classes.push("row-cursor");
	return (
		// biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the focus and the keys
		// biome-ignore lint/a11y/useFocusableInteractive: it is the active descendant of the tree
		<div
			id={row.key}
			class={classes.join(" ")}
			role="treeitem"
			aria-level={row.level}
			aria-posinset={place}
			aria-setsize={size}
			aria-selected={isSelected}
			aria-expanded={isMoment ? undefined : row.isOpen}
			style={{ top: `${top}px` }}
			onClick={() => {
				focusTree();
				cursor.value = row.key;
				if (isMoment) select(row.entry.seq);
				else fold(row.branch);
			}}
		>
			{isMoment ? <Moment row={row} isOff={isOff} /> : <Fold row={row} />}
		</div>
	);
}

function Moment({ row, isOff }: { readonly row: MomentRow; readonly isOff: boolean }) {
	const { entry, isNow } = row;
	const { kind, title } = titleOf(row);
	const isTurn = kind === "turn" || entry.type === "genesis";
	return (
		<>
			<Mark type={entry.type} isTurn={isTurn} isHollow={isOff} isNow={isNow} isGone={entry.gone === true} />
			<span class="row-seq">#{entry.seq}</span>
			<span class="row-text">
				{isNow && <span class="pill pill-here">here</span>}
				{entry.labels?.map((label) => (
					<span class="pill" key={label}>
						<Text of={label} />
					</span>
				))}
				<span class="row-kind">{kind}</span>{" "}
				<span class={isTurn ? "row-turn" : ""}>
					<Text of={title} />
				</span>
				{isOff && <span class="unseen">, left behind</span>}
				{entry.gone && <span class="unseen">, taken away by gc</span>}
			</span>
			<span class="row-age">{age(entry.ts)}</span>
		</>
	);
}

function Fold({ row }: { readonly row: FoldRow }) {
	return (
		<>
			<Chevron isOpen={row.isOpen} />
			<span class={`row-text indent-${Math.min(row.level, 5)}`}>{leftBehind(row)}</span>
			<span class="row-age">{age(row.ts)}</span>
		</>
	);
}

const leftBehind = ({ branch, count, isGone }: FoldRow): string =>
	`${branch}, left behind: ${counted(count, "moment")}${isGone ? ", its end taken away" : ""}`;

/** What sort of moment, in a word, and the rest. */
function titleOf({ entry, since, isNow }: MomentRow): { readonly kind: string; readonly title: string } {
	if (since !== undefined) return { kind: "now", title: `${counted(since, "record")} since the last moment` };
	if (entry.type === "record" && isNow) return { kind: "now", title: "" };
	return kindOf(entry);
}

export function kindOf({ type, title }: Entry): { readonly kind: string; readonly title: string } {
	switch (type) {
		case "checkpoint": {
			const [kind = "", ...rest] = title.split("  ");
			return { kind: kind === "plan_step" ? "step" : kind.replaceAll("_", " "), title: rest.join("  ") };
		}
		case "reset":
			return { kind: "rewind", title: title.replace(/^rewind /, "") };
		case "note":
			return { kind: "note", title: title.replace(/^note /, "") };
		case "label":
			return { kind: "label at", title: title.replaceAll("_", " ") };
		case "genesis":
			return { kind: "start", title: "the beginning" };
		case "record":
			return { kind: "record", title: title || "between two moments" };
	}
}
