/** The log as it is: records up to the moment that is looked at, newest first, filtered, a window at a time; and whether it is sound. */
import { computed, signal, useSignal } from "@preact/signals";
import { isAborted, readLines } from "./api.ts";
import { select, selected } from "./selection.ts";
import type { Records } from "./shapes.ts";
import { Text } from "./text.tsx";
import { when } from "./words.ts";

const WINDOW = 100;

/** What is typed: `kind:step_ session:work seq:40`, and words. */
const recordFilter = signal("");
/** What the window shows is older than this; undefined: it begins at the moment. */
const before = signal<number | undefined>(undefined);
/** Of which moment, and which filter, that is. */
const of = signal("");

const shownBefore = computed(() => (of.value === `${selected.value} ${recordFilter.value}` ? before.value : undefined));

/** What is asked for. Another moment, or another filter, begins at its end again. */
export const recordsWanted = computed(() => {
	const { kind, session, seq, words } = filterOf(recordFilter.value);
	return {
		n: WINDOW,
		before: shownBefore.value ?? (seq ?? selected.value ?? 0) + 1,
		...(kind !== undefined && { kind }),
		...(session !== undefined && { session }),
		...(words !== "" && { words }),
	};
});

interface Filter {
	readonly kind?: string;
	readonly session?: string;
	/** The newest record that is shown, in place of the moment. */
	readonly seq?: number;
	readonly words: string;
}

/** Pure: what a filter asks for. Of a name that comes twice the last one counts. */
function filterOf(text: string): Filter {
	const words: string[] = [];
	const named: { kind?: string; session?: string; seq?: number } = {};
	for (const word of text.split(/\s+/).filter(Boolean)) {
		const [, name, value = ""] = /^(kind|session):(.+)$/.exec(word) ?? /^(seq):#?(\d{1,15})$/.exec(word) ?? [];
		if (name === "kind" || name === "session") named[name] = value;
		else if (name === "seq") named.seq = Number(value);
		else words.push(word);
	}
	return { ...named, words: words.join(" ") };
}

function moveTo(seq: number | undefined): void {
	of.value = `${selected.peek()} ${recordFilter.peek()}`;
	before.value = seq;
}

export function LogHead() {
	return (
		<div class="log-head">
			<input
				type="search"
				aria-label="Filter of records"
				placeholder="kind:step_ session:main seq:40 words"
				value={recordFilter.value}
				onInput={({ currentTarget }) => {
					recordFilter.value = currentTarget.value;
				}}
			/>
			<Soundness />
		</div>
	);
}

export function RawLog({ of: { records, next } }: { readonly of: Records }) {
	const isAtEnd = shownBefore.value === undefined;
	return (
		<>
			{records.length === 0 && (
				<p class="quiet">{next === undefined ? "There is none such." : `There is none such down to #${next}.`}</p>
			)}
			<ol class="log">
				{records.map(({ seq, ts, kind, scope, active, data }) => (
					<li key={seq} class={active ? undefined : "log-left"}>
						<button type="button" class="log-seq" aria-label={`Go to record ${seq}`} onClick={() => select(seq)}>
							#{seq}
						</button>{" "}
						<span class="log-kind">
							<Text of={kind} />
						</span>{" "}
						<span class="quiet">
							{when(ts)} <Text of={[scope.agent, scope.session, scope.run].filter(Boolean).join("/")} />
							{!active && " · abandoned"}
						</span>
						<code>
							<Text of={data} />
						</code>
					</li>
				))}
			</ol>
			<div class="buttons">
				<button type="button" disabled={isAtEnd} onClick={() => moveTo(undefined)}>
					Newest
				</button>
				<button type="button" disabled={next === undefined} onClick={() => moveTo(next)}>
					Older
				</button>
			</div>
		</>
	);
}

/** Every line of the log is read for it, so it is done when it is asked for. */
function Soundness() {
	const lines = useSignal<readonly string[]>([]);
	const isReading = useSignal(false);
	const check = async (): Promise<void> => {
		isReading.value = true;
		try {
			lines.value = await readLines("wal verify");
		} catch (error) {
			if (!isAborted(error)) lines.value = [error instanceof Error ? error.message : String(error)];
		} finally {
			isReading.value = false;
		}
	};
	return (
		<>
			<button type="button" disabled={isReading.value} onClick={() => void check()}>
				{isReading.value ? "Checking …" : "Check the log"}
			</button>
			<div role="status">
				{lines.value.map((line) => (
					<p key={line} class="quiet">
						<Text of={line} />
					</p>
				))}
			</div>
		</>
	);
}
