/** A question of a script, with a way to answer it: its choices, or a line to type. */
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { canBegin, type Doing, doing } from "./doing.ts";
import { Wrong } from "./go-on.tsx";
import type { OpenQuestion } from "./shapes.ts";
import { Text } from "./text.tsx";

interface QuestionProps {
	readonly run: string;
	readonly of: OpenQuestion;
}

interface Answering {
	readonly own: Doing;
	readonly isBusy: boolean;
	/** @returns was it taken? */
	answer(text: string): Promise<boolean>;
}

export function Question({ run, of: { seq, question, choices } }: QuestionProps) {
	const own = useMemo(doing, []);
	useEffect(() => keepFocus, []);
	const typed = useMemo(() => signal(""), []);
	const answering: Answering = {
		own,
		isBusy: own.isDoing.value,
		answer: (text) => own.start("script answer", { run, answer: text, to: seq }),
	};
	if (!canBegin("script answer"))
		return (
			<p class="question">
				<Text of={question} />
			</p>
		);
	return choices ? (
		<Choices question={question} choices={choices} {...answering} />
	) : (
		<Line question={question} id={`question-${seq}`} typed={typed} {...answering} />
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
	readonly question: string;
	readonly choices: readonly string[];
}

function Choices({ question, choices, own, isBusy, answer }: ChoicesProps) {
	return (
		<fieldset class="question">
			<legend>
				<Text of={question} />
			</legend>
			<div class="buttons">
				{choices.map((choice, index) => (
					<button
						type="button"
						key={choice}
						data-question={index === 0 ? "" : undefined}
						disabled={isBusy}
						onClick={() => void answer(choice)}
					>
						<Text of={choice} />
					</button>
				))}
			</div>
			<Wrong of={own} />
		</fieldset>
	);
}

interface LineProps extends Answering {
	readonly question: string;
	readonly id: string;
	readonly typed: Signal<string>;
}

function Line({ question, id, typed, own, isBusy, answer }: LineProps) {
	return (
		<form
			class="question"
			onSubmit={async (event) => {
				event.preventDefault();
				// What was typed stays until it is durable.
				if (typed.peek() !== "" && (await answer(typed.peek()))) typed.value = "";
			}}
		>
			<label for={id}>
				<Text of={question} />
			</label>
			<div class="question-line">
				<input
					id={id}
					data-question=""
					autocomplete="off"
					value={typed.value}
					aria-describedby={`${id}-wrong`}
					onInput={({ currentTarget }) => {
						typed.value = currentTarget.value;
					}}
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
