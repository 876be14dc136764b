/** What going to the selected moment would do. */
import { computed, effect, signal } from "@preact/signals";
import * as asks from "../server/asks.ts";
import { isCopy, look } from "./api.ts";
import { confirm, PreviewLines } from "./confirm.tsx";
import { naming } from "./label-dialog.tsx";
import { retainedFrom, tip } from "./log.ts";
import { compare, compared, moment } from "./moment.tsx";
import { reading } from "./reading.ts";
import { selected } from "./selection.ts";
import { server } from "./session.ts";
import type { Extent, Look } from "./shapes.ts";
import { counted } from "./words.ts";

const modes: readonly (readonly [string, string])[] = [
	["both", "Conversation and agent state"],
	["conversation_only", "Only the conversation"],
	["code_only", "Only the agent state"],
	["summarize", "Nothing: a note says what was tried"],
];

const mode = signal("both");

/** It was chosen for one moment. */
effect(() => {
	selected.value;
	mode.value = "both";
});

/** What the button and the question say that is done in a mode. */
const acts: Readonly<Record<string, string>> = {
	conversation_only: "Rewind only the conversation",
	code_only: "Rewind only the agent state",
	summarize: "Add a note",
};

/** On this line one rewinds; on a line that was left one checks out, and there are no modes. */
const wanted = computed(() => {
	const entry = moment.value;
	if (!entry || entry.seq === tip.value || entry.gone) return undefined;
	return {
		...asks.going(entry.seq, entry.active, mode.value),
		button: entry.active ? (acts[mode.value] ?? "Rewind") : "Check out",
	};
});

const placeOf = (button: string): string => (button === "Check out" ? "" : button === acts.summarize ? "on " : "to ");

const preview = reading<Look>(() => {
	const want = wanted.value;
	if (!want) return undefined;
	const { verb, given } = want;
	return {
		key: `${verb} ${JSON.stringify(given)} ${tip.value}`,
		read: (signal) => look(verb, given, signal),
	};
});

const isChangeable = computed(() => server.value?.readOnly === null);

export function goThere(): void {
	const want = wanted.peek();
	if (!want || !isChangeable.peek()) return;
	const { verb, given, button } = want;
	confirm({
		verb,
		given,
		button,
		title: `${button} ${placeOf(button)}#${String(given.ref)}?`,
		isGoing: true,
		takesFiles: button !== acts.summarize,
	});
}

export function nameIt(): void {
	const entry = moment.peek();
	if (isChangeable.peek() && !entry?.gone) naming.value = entry?.seq;
}

export function Going() {
	const entry = moment.value;
	const want = wanted.value;
	if (!entry) return null;
	if (entry.gone) return <Gone seq={entry.seq} />;
	return (
		<section class="card" aria-labelledby="going">
			{want ? (
				<>
					<h2 id="going">Going to #{entry.seq}</h2>
					<p class="quiet">
						{entry.active ? "Further back on this line." : "A line that was abandoned; it comes back as it was."}
					</p>
					{entry.active && !isCopy() && <Modes />}
					<Preview />
				</>
			) : (
				<>
					<h2 id="going">You are at #{entry.seq}</h2>
					<p class="quiet">This is now. Select a moment to see what going there would do.</p>
				</>
			)}
			<div class="buttons">{!isCopy() && <Compare />}</div>
			{isChangeable.value && (
				<div class="buttons">
					{want && (
						<button type="button" class="primary" onClick={goThere}>
							{want.button} {placeOf(want.button)}#{entry.seq}…{" "}
							<span class="key" aria-hidden="true">
								r
							</span>
						</button>
					)}
					<button type="button" onClick={nameIt}>
						Label…{" "}
						<span class="key" aria-hidden="true">
							L
						</span>
					</button>
				</div>
			)}
		</section>
	);
}

/** Nothing is offered that would be refused. */
function Gone({ seq }: { readonly seq: number }) {
	return (
		<section class="card" aria-labelledby="going">
			<h2 id="going">#{seq} was taken away</h2>
			<p class="quiet">
				gc has collected what was recorded there, so nobody can go there any more. The first record that is left is #
				{retainedFrom.value}.
			</p>
		</section>
	);
}

/** Other moments are compared with this one, or with now. */
function Compare() {
	const isThis = compared.value !== undefined && compared.value === moment.value?.seq;
	const isNow = moment.value?.seq === tip.value;
	if (isNow && compared.value === undefined) return null;
	const name = isThis || isNow ? "Compare with now again" : "Compare others with this";
	return (
		<button type="button" aria-pressed={isThis} onClick={compare}>
			{name}{" "}
			<span class="key" aria-hidden="true">
				c
			</span>
		</button>
	);
}

function Modes() {
	return (
		<label class="field">
			<span>What goes back</span>
			<select
				value={mode.value}
				onChange={({ currentTarget }) => {
					mode.value = currentTarget.value;
				}}
			>
				{modes.map(([name, text]) => (
					<option key={name} value={name}>
						{text}
					</option>
				))}
			</select>
		</label>
	);
}

function Preview() {
	const { value, error, isReading } = preview.value;
	if (error !== undefined) return <p class="refused">{error}</p>;
	if (!value) return <p class="quiet waiting">reading …</p>;
	const { leaves, returns } = value.document?.blastRadius ?? {};
	return (
		<div class="preview" aria-busy={isReading}>
			{leaves && returns && (
				<div class="amounts">
					<Amount of={leaves} verb="leave" />
					<Amount of={returns} verb="return" />
				</div>
			)}
			<PreviewLines of={value.nothing ?? value.shown} />
		</div>
	);
}

function Amount({ of: { records, turns, messages = 0 }, verb }: { readonly of: Extent; readonly verb: string }) {
	if (records === undefined || turns === undefined)
		return (
			<p class="amount">
				<b>{messages.toLocaleString("en")}</b> {messages === 1 ? "message" : "messages"}
				<span>{verb}; how many records is unknown</span>
			</p>
		);
	return (
		<p class="amount">
			<b>{records.toLocaleString("en")}</b> {records === 1 ? "record" : "records"}
			<span>
				{verb}, {counted(turns, "turn")}
			</span>
		</p>
	);
}
