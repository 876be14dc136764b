/** A question of work, with a way to answer it: its choices, or a line to type. */
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { type Doing, doing, isOffered } from "./doing.ts";
import { Wrong } from "./go-on.tsx";
import { pillOf } from "./pill.ts";
import type { OpenQuestion } from "./shapes.ts";
import { Text } from "./text.tsx";

interface Answering {
	readonly of: OpenQuestion;
	readonly own: Doing;
	readonly isBusy: boolean;
	readonly typed: Signal<string>;
	/** @returns was it taken? */
	answer(text: string): Promise<boolean>;
}

export function Question({ of }: { readonly of: OpenQuestion }) {
	const own = useMemo(doing, []);
	useEffect(() => keepFocus, []);
	const typed = useMemo(() => signal(""), []);
	const answering: Answering = {
		...{ of, own, typed },
		isBusy: own.isDoing.value,
		answer: (answer) => own.start("answer", { question: of.seq, answer }),
	};
	return (
		<article class="work question">
			<h3>
				{of.from.kind} <Text of={of.from.id} /> <span class={pillOf("asks")}>asks</span>
			</h3>
			<Ways {...answering} />
		</article>
	);
}

function Ways(answering: Answering) {
	const { of } = answering;
	if (isOffered("answer"))
		return of.choices ? <Choices {...answering} choices={of.choices} /> : <Line {...answering} />;
	return (
		<>
			<p>
				<Text of={of.question} />
			</p>
			<Seen of={of} />
		</>
	);
}

/** What has to be seen to answer it. */
function Seen({ of: { lines = [] } }: { readonly of: OpenQuestion }) {
	if (lines.length === 0) return null;
	return (
		<pre>
			<Text of={lines.join("\n")} />
		</pre>
	);
}

/** Whoever answers by the keyboard stays where there is more to answer, or goes back to the history. */
function keepFocus(): void {
	requestAnimationFrame(() => {
		if (document.activeElement !== document.body) return;
		(document.querySelector<HTMLElement>("[data-question]") ?? document.getElementById("tree"))?.focus();
	});
}

interface ChoicesProps extends Answering {
	readonly choices: readonly string[];
}

function Choices({ of, choices, own, typed, isBusy, answer }: ChoicesProps) {
	const { seq, question } = of;
	const explained = [of.explained ?? []].flat();
	const why = typed.value.trim();
	return (
		<fieldset>
			<legend>
				<Text of={question} />
			</legend>
			<Seen of={of} />
			<div class="buttons">
				{choices.map((choice, index) => (
					<button
						type="button"
						key={choice}
						data-question={index === 0 ? "" : undefined}
						// Words belong to some of them alone.
						disabled={isBusy || (why !== "" && !explained.includes(choice))}
						onClick={() => void answer(why === "" ? choice : `${choice}: ${why}`)}
					>
						<Text of={choice} />
					</button>
				))}
			</div>
			{explained.length > 0 && (
				<label class="question-line">
					<span>
						{explained.length > 1 ? "In words" : "Why"} <Text of={explained.join(", ")} />
					</span>
					<input id={`question-${seq}`} autocomplete="off" value={typed.value} onInput={typing(typed)} />
				</label>
			)}
			<Wrong of={own} />
		</fieldset>
	);
}

const typing =
	(typed: Signal<string>) =>
	({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void => {
		typed.value = currentTarget.value;
	};

function Line({ of, own, typed, isBusy, answer }: Answering) {
	const id = `question-${of.seq}`;
	return (
		<form
			onSubmit={async (event) => {
				event.preventDefault();
				// What was typed stays until it is durable.
				if (typed.peek() !== "" && (await answer(typed.peek()))) typed.value = "";
			}}
		>
			<label for={id}>
				<Text of={of.question} />
			</label>
			<Seen of={of} />
			<div class="question-line">
				<input
					id={id}
					data-question=""
					autocomplete="off"
					value={typed.value}
					aria-describedby={`${id}-wrong`}
					onInput={typing(typed)}
				/>
				<button type="submit" class="primary" disabled={isBusy || typed.value === ""}>
					{isBusy ? "Working …" : "Answer"}
				</button>
			</div>
			<Wrong of={own} id={`${id}-wrong`} />
		</form>
	);
}

/** The focus goes to the next question that waits. */
export function toNextQuestion(): void {
	const all = [...document.querySelectorAll<HTMLElement>("[data-question]")];
	const at = all.indexOf(document.activeElement as HTMLElement);
	all[(at + 1) % all.length]?.focus();
}
