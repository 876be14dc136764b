/** The timeline: filters, and a tree of which only the rows that are seen exist. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { bySeq, hasMore, isRead, isReadingMore, readMore, tip } from "./log.ts";
import { selected } from "./selection.ts";
import { cursor, type Filter, filter, isNothingFound, rows, words } from "./tree.ts";
import { TreeRow } from "./tree-row.tsx";

/** As in page.css. */
const ROW = 32;
const BEYOND = 8;
const MOST = 200;

const filters: readonly (readonly [Filter, string])[] = [
	["turns", "Turns"],
	["all", "All"],
	["line", "This line"],
];

export function Timeline() {
	return (
		<section class="pane timeline" aria-label="Timeline">
			<div class="filters">
				{/* biome-ignore lint/a11y/useSemanticElements: a fieldset is drawn otherwise by every browser */}
				<div class="choice" role="group" aria-label="Which moments">
					{filters.map(([name, text]) => (
						<button
							type="button"
							key={name}
							aria-pressed={filter.value === name}
							onClick={() => {
								filter.value = name;
							}}
						>
							{text}
						</button>
					))}
				</div>
				<input
					id="filter"
					type="search"
					placeholder="filter  /"
					aria-label="Only moments with these words"
					autocomplete="off"
					spellcheck={false}
					value={words.value}
					onInput={({ currentTarget }) => {
						words.value = currentTarget.value;
					}}
					onKeyDown={(event) => {
						if (event.key === "Escape") words.value = "";
						if (event.key === "Escape" || event.key === "Enter") focusTree();
					}}
				/>
			</div>
			<Tree />
		</section>
	);
}

export const focusTree = (): void => document.getElementById("tree")?.focus({ preventScroll: true });

/** How many rows fit: what a page up or down is. */
export const pageOfRows = (): number =>
	Math.max(1, Math.floor((document.getElementById("tree")?.clientHeight ?? 0) / ROW) - 1);

function Tree() {
	const box = useRef<HTMLDivElement>(null);
	const top = useSignal(0);
	const height = useSignal(600);
	const all = rows.value;
	const first = Math.max(0, Math.floor(top.value / ROW) - BEYOND);
	const count = Math.min(MOST, Math.ceil(height.value / ROW) + 2 * BEYOND);

	useEffect(() => {
		const seen = new ResizeObserver(([entry]) => {
			if (entry) height.value = entry.contentRect.height;
		});
		if (box.current) seen.observe(box.current);
		return () => seen.disconnect();
	}, [height]);

	// The end of what was read comes into view: read on.
	const isAtEnd = first + count >= all.length - BEYOND;
	const size = all.length;
	// what was read may bring no row, and then more is needed
	useEffect(() => {
		if (isAtEnd && hasMore.value && !isReadingMore.value) void readMore();
	}, [isAtEnd, size, hasMore.value, isReadingMore.value]);

	// What comes above, or is unfolded there, leaves what is seen where it is.
	const anchor = useRef({ key: "", index: 0 });
	useLayoutEffect(() => {
		const element = box.current;
		const { key, index } = anchor.current;
		const moved = all[index]?.key === key ? 0 : all.findIndex((row) => row.key === key) - index;
		if (element && element.scrollTop > 0 && moved > -index) element.scrollTop += moved * ROW;
	}, [all]);
	useLayoutEffect(() => {
		const index = Math.floor((box.current?.scrollTop ?? 0) / ROW);
		anchor.current = { key: all[index]?.key ?? "", index };
	}, [all, top.value]);

	// What is selected becomes the row that the keys act on, and is scrolled to.
	useSignalEffect(() => {
		if (selected.value !== undefined) cursor.value = `m-${selected.value}`;
	});
	const at = all.findIndex(({ key }) => key === cursor.value);
	const isThere = at >= 0;
	const isListed = selected.value !== undefined && bySeq.value.has(selected.value);
	// only when another row is meant, not whenever rows move
	useEffect(() => {
		const element = box.current;
		if (!element || !isThere) return;
		const y = at * ROW;
		if (y < element.scrollTop) element.scrollTop = y;
		else if (y + ROW > element.scrollTop + element.clientHeight) element.scrollTop = y + ROW - element.clientHeight;
	}, [cursor.value, isThere, isListed]);

	const seen = all.slice(first, first + count);
	const isDrawn = at >= first && at < first + count;
	return (
		<div
			id="tree"
			class="tree"
			role="tree"
			aria-label="Moments, newest first"
			aria-busy={!isRead.value || isReadingMore.value}
			aria-activedescendant={isDrawn ? cursor.value : undefined}
			tabIndex={0}
			ref={box}
			onScroll={({ currentTarget }) => {
				top.value = currentTarget.scrollTop;
			}}
		>
			<div
				role="none"
				class="tree-all"
				style={{ height: `${all.length * ROW}px`, "--seq": `${String(tip.value).length + 1}ch` }}
			>
				{seen.map((row, index) => (
					<TreeRow
						key={row.key}
						row={row}
						top={(first + index) * ROW}
						place={first + index + 1}
						size={hasMore.value ? -1 : all.length}
						isLast={first + index === all.length - 1 && !hasMore.value}
						isSelected={row.key === `m-${selected.value}`}
						isCursor={row.key === cursor.value}
					/>
				))}
			</div>
			{!isRead.value && <p class="quiet waiting">reading …</p>}
			{isNothingFound.value && !hasMore.value && (
				<p class="quiet more" role="none">
					No moment has that in its title or label. The Log view (5) looks through all that is recorded.
				</p>
			)}
			{isReadingMore.value && (
				<p class="quiet more" role="none">
					reading older moments …
				</p>
			)}
		</div>
	);
}
