/** What is read only once somebody unfolds it, and read again while it is open and the log moves. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { tip } from "./log.ts";
import { type Reading, reading } from "./reading.ts";
import { Text } from "./text.tsx";

interface UnfoldedProps<T> {
	readonly name: string;
	read(signal: AbortSignal): Promise<T>;
	shown(value: T): ComponentChildren;
}

export function Unfolded<T>({ name, read, shown }: UnfoldedProps<T>) {
	const isOpen = useMemo(() => signal(false), []);
	const found: ReadonlySignal<Reading<T>> = useMemo(
		() => reading(() => (isOpen.value ? { key: String(tip.value), read } : undefined)),
		[],
	);
	const { value, error } = found.value;
	return (
		<details
			onToggle={({ currentTarget }) => {
				isOpen.value = currentTarget.open;
			}}
		>
			<summary>{name}</summary>
			{error !== undefined && (
				<p class="refused">
					<Text of={error} />
				</p>
			)}
			{value === undefined && error === undefined && isOpen.value && <p class="quiet waiting">reading …</p>}
			{value !== undefined && shown(value)}
		</details>
	);
}

/** So many of what is over are listed. */
const MOST = 20;

interface NewestProps<T> {
	/** Newest first. */
	readonly of: readonly T[];
	shown(each: T): ComponentChildren;
}

export function Newest<T>({ of, shown }: NewestProps<T>) {
	if (of.length === 0) return <p class="quiet">None yet.</p>;
	return (
		<>
			{of.slice(0, MOST).map(shown)}
			{of.length > MOST && <p class="quiet">{`and ${of.length - MOST} older ones`}</p>}
		</>
	);
}
