/** Changes, adds and drops steps of a plan that have not begun: typed, looked at, and then done as it was shown, or not at all. */
import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import {
	amendmentOf,
	type Draft,
	doubled,
	draftOf,
	type Field,
	isOpen,
	newDraft,
	placed,
	placeOf,
	type Wrong,
} from "./amendment.ts";
import { act, look, Refusal } from "./api.ts";
import { closeDialog, Dialog, Moved } from "./dialog.tsx";
import { refreshHistory } from "./log.ts";
import { pillOf } from "./pill.ts";
import { refreshState } from "./session.ts";
import type { Look, PlanSteps, ProposedStep } from "./shapes.ts";
import { plain, Text } from "./text.tsx";
import { tell } from "./toast.tsx";
import { counted } from "./words.ts";

interface Amending {
	readonly plan: string;
	readonly steps: PlanSteps["steps"];
}

/** The plan whose steps are being typed. It may end meanwhile: what was typed stays until it is done or given up. */
export const amending = signal<Amending | undefined>(undefined);

type Stage =
	| { readonly kind: "typing"; readonly wrong: Wrong }
	| { readonly kind: "looking" }
	| { readonly kind: "seen"; readonly found: Look; readonly moved: boolean }
	| { readonly kind: "acting"; readonly found: Look; readonly moved: false };

/** How many steps were added: the keys of those. */
let added = 0;

const nothingWrong: Wrong = { all: [], at: new Map() };

export function AmendDialog({ of: { plan, steps } }: { readonly of: Amending }) {
	const drafts = useSignal<readonly Draft[]>(useMemo(() => steps.map(draftOf), []));
	const stage = useSignal<Stage>({ kind: "typing", wrong: nothingWrong });
	const now = stage.value;

	const refuse = (error: unknown): void => {
		stage.value = { kind: "typing", wrong: wrongOf(error, drafts.peek()) };
	};
	const lookUp = async (moved: boolean): Promise<void> => {
		const twice = doubled(drafts.peek());
		stage.value = twice.at.size > 0 ? { kind: "typing", wrong: twice } : { kind: "looking" };
		if (twice.at.size > 0) return;
		try {
			const found = await look("plan amend", { id: plan, ...amendmentOf(drafts.peek()) });
			stage.value = { kind: "seen", found, moved };
		} catch (error) {
			refuse(error);
		}
	};
	const carryOut = async (found: Look): Promise<void> => {
		stage.value = { kind: "acting", found, moved: false };
		try {
			tell((await act(found.seen)).lines.slice(0, 1));
		} catch (error) {
			return error instanceof Refusal && error.status === 409 ? lookUp(true) : refuse(error);
		}
		await Promise.all([refreshState(), refreshHistory()]).catch(() => {});
		closeDialog();
	};
	// What had the focus may be gone: what is to be mended has it, or what can be done next.
	useEffect(() => {
		const find = (which: string) => document.querySelector<HTMLElement>(`dialog ${which}`);
		if (now.kind !== "looking") (find("[aria-invalid=true]") ?? find("[data-first]"))?.focus();
	}, [now.kind]);

	const change = (key: string, to: Partial<Draft>): void => {
		drafts.value = drafts.peek().map((draft) => (draft.key === key ? { ...draft, ...to } : draft));
	};
	return (
		<Dialog
			title={`Amend plan ${plan}`}
			isWide
			isHeld={now.kind === "acting"}
			onClosed={() => {
				amending.value = undefined;
			}}
		>
			{now.kind === "typing" || now.kind === "looking" ? (
				<form
					onSubmit={(event) => {
						event.preventDefault();
						void lookUp(false);
					}}
				>
					<p class="quiet">
						Steps that have not begun can be other ones. What has begun stays as it is, and what was found is kept.
					</p>
					{drafts.value.map((draft) => (
						<Row
							key={draft.key}
							of={draft}
							isFirst={draft === drafts.value.find(isOpen)}
							wrong={now.kind === "typing" ? now.wrong : nothingWrong}
							onTyped={(field, text) => change(draft.key, { [field]: text })}
							onDropped={(isDropped) => {
								if (draft.was) change(draft.key, { isDropped });
								else drafts.value = drafts.peek().filter(({ key }) => key !== draft.key);
							}}
						/>
					))}
					<button
						type="button"
						onClick={() => {
							drafts.value = [...drafts.peek(), newDraft(`+${++added}`)];
						}}
					>
						Add a step
					</button>
					<div role="alert">
						{now.kind === "typing" &&
							now.wrong.all.map((each) => (
								<p class="refused" key={each}>
									<Text of={each} />
								</p>
							))}
					</div>
					<div class="buttons">
						<button type="button" onClick={closeDialog}>
							Cancel
						</button>
						<button type="submit" class="primary" disabled={now.kind === "looking"}>
							{now.kind === "looking" ? "Looking …" : "Look at it…"}
						</button>
					</div>
				</form>
			) : (
				<>
					{now.moved && <Moved />}
					<Differences before={now.found.document?.before ?? []} after={now.found.document?.after ?? []} />
					<div class="buttons">
						<button
							type="button"
							data-first
							disabled={now.kind === "acting"}
							onClick={() => {
								stage.value = { kind: "typing", wrong: nothingWrong };
							}}
						>
							Back
						</button>
						<button
							type="button"
							class="primary"
							disabled={now.kind === "acting"}
							onClick={() => void carryOut(now.found)}
						>
							{now.kind === "acting" ? "Working …" : "Amend"}
						</button>
					</div>
				</>
			)}
		</Dialog>
	);
}

function wrongOf(error: unknown, drafts: readonly Draft[]): Wrong {
	const { problems } = ((error as Partial<Refusal>).detail ?? {}) as { readonly problems?: readonly string[] };
	if (problems) return placed(problems, drafts);
	return { all: [error instanceof Error ? error.message : String(error)], at: new Map() };
}

interface RowProps {
	readonly of: Draft;
	/** Of those that can be other ones. */
	readonly isFirst: boolean;
	readonly wrong: Wrong;
	onTyped(field: Field, text: string): void;
	onDropped(isDropped: boolean): void;
}

function Row({ of, isFirst, wrong, onTyped, onDropped }: RowProps) {
	const { was, id, isDropped } = of;
	if (!isOpen(of))
		return (
			<p class="step-kept">
				<code>{id}</code> <Text of={was?.description ?? ""} />{" "}
				<span class={pillOf(was?.status ?? "")}>{was?.status}</span>
			</p>
		);
	const name = was ? `step ${id}` : "a new step";
	const line = { draft: of, wrong, onTyped };
	return (
		<fieldset class="step-typed">
			<legend>
				{was ? <code>{plain(id)}</code> : "A new step"}{" "}
				{was ? (
					<label class="switch">
						<input
							type="checkbox"
							checked={isDropped}
							onChange={({ currentTarget }) => onDropped(currentTarget.checked)}
						/>
						leave out<span class="unseen"> {name}</span>
					</label>
				) : (
					<button type="button" class="pill-button" onClick={() => onDropped(true)}>
						Take away<span class="unseen"> {name}</span>
					</button>
				)}
			</legend>
			{!isDropped && (
				<>
					{!was && <Typed {...line} field="id" says="Its name: a letter, then letters, digits, _ and -" />}
					<Typed {...line} field="description" says="What it is to do" isLong isFirst={isFirst} />
					<Typed {...line} field="needs" says="Comes after, by their names: s1, s2" />
					<details open={["tools", "model", "most"].some((field) => wrong.at.has(placeOf(of, field as Field)))}>
						<summary>Tools, model, most tokens</summary>
						<Typed {...line} field="tools" says="The tools that it may use, by their names" />
						<Typed {...line} field="model" says="Its class of models; empty: that of the plan" />
						<Typed {...line} field="most" says="The most tokens; empty: any number" />
					</details>
				</>
			)}
		</fieldset>
	);
}

interface TypedProps {
	readonly draft: Draft;
	readonly field: Field;
	readonly says: string;
	readonly isLong?: boolean;
	readonly isFirst?: boolean;
	readonly wrong: Wrong;
	onTyped(field: Field, text: string): void;
}

function Typed({ draft, field, says, isLong = false, isFirst = false, wrong, onTyped }: TypedProps) {
	const place = placeOf(draft, field);
	const why = wrong.at.get(place);
	const own = {
		...(isFirst && { "data-first": true }),
		...{ id: place, autocomplete: "off", spellcheck: isLong, value: draft[field] },
		...{ "aria-invalid": why !== undefined, "aria-describedby": `${place}-wrong` },
		onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
			onTyped(field, currentTarget.value),
	};
	return (
		<div class="field">
			<label for={place}>{says}</label>
			{isLong ? <textarea rows={2} {...own} /> : <input {...own} />}
			<p id={`${place}-wrong`} class="refused">
				{why !== undefined && <Text of={why} />}
			</p>
		</div>
	);
}

interface DifferencesProps {
	readonly before: readonly ProposedStep[];
	readonly after: readonly ProposedStep[];
}

/** All steps, whole: a sign for what becomes of each. */
function Differences({ before, after }: DifferencesProps) {
	const all = [...before, ...after.filter(({ id }) => before.every((each) => each.id !== id))];
	return (
		<>
			<p>
				{counted(before.length, "step")} now, {after.length} then:
			</p>
			<ul class="steps-of">
				{all.flatMap(({ id }) => {
					const [was, is] = [before, after].map((each) => each.find((step) => step.id === id));
					if (was && is && JSON.stringify(was) === JSON.stringify(is)) return [<Line of={is} sign="" key={id} />];
					return [
						...(was ? [<Line of={was} sign="−" key={`${id} was`} />] : []),
						...(is ? [<Line of={is} sign="+" key={`${id} is`} />] : []),
					];
				})}
			</ul>
		</>
	);
}

function Line({ of, sign }: { readonly of: ProposedStep; readonly sign: "" | "+" | "−" }) {
	const { id, description, depends_on: needs, tools, model, max_tokens: most } = of;
	const how = sign === "" ? "" : sign === "+" ? " change-plus" : " change-minus";
	return (
		<li class={`change${how}`}>
			{sign !== "" && (
				<span class="sign">
					{sign}
					<span class="unseen">{sign === "+" ? " comes: " : " goes: "}</span>
				</span>
			)}
			<span>
				<code>{id}</code> <Text of={description} />
				<span class="quiet">
					{[
						...(needs.length > 0 ? [`after ${needs.join(", ")}`] : []),
						...(tools.length > 0 ? [`with ${tools.join(", ")}`] : []),
						...(model === undefined ? [] : [`by ${model}`]),
						...(most === undefined ? [] : [`${counted(most, "token")} at most`]),
					].map((each) => (
						<Text key={each} of={` · ${each}`} />
					))}
				</span>
			</span>
		</li>
	);
}
