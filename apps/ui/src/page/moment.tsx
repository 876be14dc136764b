/** The moment that is looked at: where it lies, and five views of it. */
import { computed, signal } from "@preact/signals";
import * as asks from "../server/asks.ts";
import { read } from "./api.ts";
import { Ask } from "./ask.tsx";
import { Changes } from "./changes.tsx";
import { Conversation, shownMessages } from "./conversation.tsx";
import { Json } from "./json.tsx";
import { bySeq, entries, isRead, tip } from "./log.ts";
import { LogHead, RawLog, recordsWanted } from "./raw-log.tsx";
import { reading } from "./reading.ts";
import { Scrubber } from "./scrubber.tsx";
import { selected } from "./selection.ts";
import { server, session } from "./session.ts";
import type { Diff, Entry, Records, Transcript } from "./shapes.ts";
import { Text } from "./text.tsx";
import { unlisted } from "./tree.ts";
import { kindOf } from "./tree-row.tsx";
import { counted, when } from "./words.ts";

const tabs = ["conversation", "changes", "state", "record", "log"] as const;
export type Tab = (typeof tabs)[number];

/** A copy of the page has not the whole log. */
export const shownTabs = computed((): readonly Tab[] =>
	tabs.filter((name) => name !== "log" || (server.value?.verbs.includes("records") ?? true)),
);

export const tab = signal<Tab>("conversation");

/** The moment that others are compared with. undefined: now. */
export const compared = signal<number | undefined>(undefined);

/** Compares with the selected moment from now on; with now again, where it is that one already. */
export function compare(): void {
	const seq = selected.peek();
	compared.value = seq === compared.peek() || seq === tip.peek() ? undefined : seq;
}

const nameOf = (tab: Tab): string =>
	({
		conversation: "Conversation",
		changes: `Changes to ${compared.value === undefined ? "now" : `#${compared.value}`}`,
		state: "State",
		record: "Record",
		log: "Log",
	})[tab];

/** What is known of the selected moment without asking. */
export const moment = computed((): Entry | undefined => {
	const seq = selected.value;
	if (seq === undefined || !isRead.value) return undefined;
	return bySeq.value.get(seq) ?? unlisted(seq);
});

/** Nothing is asked of a moment that was taken away; the log before it is what is left of it. */
const isLost = computed(() => moment.value?.gone === true && tab.value !== "log");

/** What `which` shows of the selected moment, while it is that which is shown. */
const view = <T,>(which: Tab, ask: (seq: number) => asks.Ask | undefined, isOfNow: boolean) =>
	reading<T | undefined>(() => {
		const seq = selected.value;
		if (tab.value !== which || seq === undefined || isLost.value) return undefined;
		// Changes are against now: another now, other changes.
		if (isOfNow) tip.value;
		const asked = ask(seq);
		return { key: String(seq), read: async (signal) => asked && read<T>(asked.verb, asked.given, signal) };
	});

const conversation = view<Transcript>(
	"conversation",
	(seq) => asks.conversation(seq, session.value, shownMessages.value),
	false,
);
const changes = view<Diff>("changes", (seq) => asks.changes(seq, session.value, compared.value), true);
const state = view<object>("state", (seq) => asks.state(seq, session.value), true);
const record = view<object>("record", (seq) => (seq === 0 ? undefined : asks.record(seq, session.value)), false);
const log = reading<Records>(() => {
	const seq = selected.value;
	if (tab.value !== "log" || seq === undefined) return undefined;
	const given = recordsWanted.value;
	return { key: String(seq), read: (signal) => read<Records>("records", given, signal) };
});

export function Moment() {
	const entry = moment.value;
	return (
		<main class="pane moment" aria-label="Moment">
			<Scrubber />
			<div class="moment-head">{entry ? <Head entry={entry} /> : <p class="quiet waiting">reading …</p>}</div>
			<Tabs />
			{tab.value === "log" && <LogHead />}
			<div
				class="moment-body"
				id="view"
				role="tabpanel"
				aria-labelledby={`tab-${tab.value}`}
				// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and has to by keys too
				tabIndex={0}
				aria-busy={isBusy()}
			>
				<View />
			</div>
			{tab.value === "conversation" && <Ask />}
		</main>
	);
}

function Head({ entry }: { readonly entry: Entry }) {
	const { kind, title } = entry.type === "record" && entry.seq === tip.value ? now() : kindOf(entry);
	return (
		<>
			<p class="moment-where">
				<span class="seq">#{entry.seq}</span> {entry.branch}{" "}
				{entry.seq === tip.value && <span class="pill pill-here">here</span>}
				{entry.seq === compared.value && <span class="pill">compared with</span>}
				{!entry.active && <span class="pill">abandoned</span>}
				{entry.gone && <span class="pill pill-warn">taken away</span>}
				{entry.labels?.map((label) => (
					<span class="pill" key={label}>
						<Text of={label} />
					</span>
				))}
				<span class="moment-when">{entry.ts > 0 && when(entry.ts)}</span>
			</p>
			<h1>
				<span class="moment-kind">{kind}</span> <Text of={title} />
			</h1>
		</>
	);
}

/** Where nothing else is at the tip. */
function now(): { readonly kind: string; readonly title: string } {
	const since = tip.value - (entries.value[0]?.seq ?? 0);
	return { kind: "now", title: `${counted(since, "record")} since the last moment` };
}

function Tabs() {
	return (
		<div class="tabs" role="tablist" aria-label="Views of the moment">
			{shownTabs.value.map((name, index) => (
				<button
					type="button"
					key={name}
					id={`tab-${name}`}
					role="tab"
					aria-selected={tab.value === name}
					aria-controls="view"
					tabIndex={tab.value === name ? 0 : -1}
					onClick={() => {
						tab.value = name;
					}}
					onKeyDown={(event) => {
						const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
						if (step === 0) return;
						event.stopPropagation();
						const { value: all } = shownTabs;
						tab.value = all[(index + step + all.length) % all.length] ?? "conversation";
						document.getElementById(`tab-${tab.value}`)?.focus();
					}}
				>
					{nameOf(name)}{" "}
					<span class="key" aria-hidden="true">
						{index + 1}
					</span>
				</button>
			))}
		</div>
	);
}

const shown = () => ({ conversation, changes, state, record, log })[tab.value].value;

function isBusy(): boolean {
	const { isReading, key } = shown();
	if (isLost.value) return false;
	return isReading || key !== String(selected.value);
}

function View() {
	const { value, error, key } = shown();
	if (isLost.value) return <p class="quiet">What was so at a moment that gc took away is not kept.</p>;
	if (error !== undefined) return <p class="refused">{error}</p>;
	if (tab.value === "record" && key === "0") return <p class="quiet">There is no record before the first.</p>;
	if (value === undefined) return <p class="quiet waiting">reading …</p>;
	switch (tab.value) {
		case "conversation":
			return <Conversation of={value as Transcript} />;
		case "changes":
			return <Changes of={value as Diff} isToNow={compared.value === undefined} />;
		case "log":
			return <RawLog of={value as Records} />;
		case "state":
		case "record":
			return <Json key={key} of={value} />;
	}
}
