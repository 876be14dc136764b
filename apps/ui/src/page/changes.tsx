/** What differs between two moments, of which one is now unless another was chosen: what was said first, then work, and the inner state behind a button. */
import type { Change, Diff } from "./shapes.ts";
import { Text } from "./text.tsx";
import { counted, short, speaker } from "./words.ts";

const titles: Readonly<Record<string, string>> = {
	conversation: "Conversation",
	plans: "Plans",
	skills: "Skills",
	scripts: "Scripts",
};

interface ChangesProps {
	readonly of: Diff;
	readonly isToNow: boolean;
}

export function Changes({ of: { from, to, projections, more = {} }, isToNow }: ChangesProps) {
	const told = Object.entries(projections).filter(([, changes]) => changes.length > 0);
	const outer = told.filter(([name]) => name in titles);
	const inner = told.filter(([name]) => !(name in titles));
	if (told.length === 0)
		return (
			<p class="quiet">
				Nothing differs between <b>#{from}</b> and {isToNow && "now, "}
				<b>#{to}</b>.
			</p>
		);
	return (
		<div class="changes">
			<p class="quiet">
				What came between <b>#{from}</b> and {isToNow && "now, "}
				<b>#{to}</b>.
			</p>
			{outer.map(([name, changes]) => (
				<Projection key={name} title={titles[name] ?? name} changes={changes} more={more[name] ?? 0} />
			))}
			{inner.length > 0 && (
				<details>
					<summary>Inner state: {inner.map(([name]) => name).join(", ")}</summary>
					{inner.map(([name, changes]) => (
						<Projection key={name} title={name} changes={changes} more={more[name] ?? 0} />
					))}
				</details>
			)}
		</div>
	);
}

interface ProjectionProps {
	readonly title: string;
	readonly changes: readonly Change[];
	/** How many more there are. */
	readonly more: number;
}

function Projection({ title, changes, more }: ProjectionProps) {
	return (
		<section>
			<h2>
				<Text of={title} />
			</h2>
			{changes.flatMap(linesOf)}
			{more > 0 && <p class="quiet">and {counted(more, "more change")}</p>}
		</section>
	);
}

function linesOf(change: Change) {
	const path = change.path.join(" › ");
	switch (change.kind) {
		case "added":
			return [<Line sign="+" path={path} value={change.after} />];
		case "removed":
			return [<Line sign="−" path={path} value={change.before} />];
		case "changed":
			return [
				<p class="change">
					<span class="path">
						<Text of={path} />
					</span>{" "}
					<Text of={valueText(change.before)} /> <span class="quiet">→</span>{" "}
					<b>
						<Text of={valueText(change.after)} />
					</b>
				</p>,
			];
		case "spliced":
			return [
				...change.before.map((value) => <Line sign="−" path="" value={value} />),
				...change.after.map((value) => <Line sign="+" path="" value={value} />),
			];
	}
}

interface LineProps {
	readonly sign: "+" | "−";
	readonly path: string;
	readonly value: unknown;
}

function Line({ sign, path, value }: LineProps) {
	const item = said(value);
	return (
		<p class={`change ${sign === "+" ? "change-plus" : "change-minus"}`}>
			<span class="sign">
				{sign}
				<span class="unseen">{sign === "+" ? " came: " : " went: "}</span>
			</span>
			<span>
				{path !== "" && (
					<span class="path">
						<Text of={path} />{" "}
					</span>
				)}
				{item ? (
					<>
						<b>
							<Text of={item.who} />
						</b>{" "}
						<span class="seq">#{item.seq}</span> <Text of={short(item.text)} />
					</>
				) : (
					<Text of={valueText(value)} />
				)}
			</span>
		</p>
	);
}

/** An item of a conversation, as one would say it. */
function said(value: unknown): { readonly who: string; readonly seq: number; readonly text: string } | undefined {
	if (typeof value !== "object" || value === null || !("type" in value) || !("seq" in value)) return undefined;
	const { type, seq, text, from, calls } = value as Record<string, unknown>;
	if (typeof seq !== "number") return undefined;
	const words = typeof text === "string" ? text : "";
	switch (type) {
		case "prompt":
			return { who: "You", seq, text: words };
		case "reply":
			return { who: "Agent", seq, text: words };
		case "note":
			return { who: "Note", seq, text: words };
		case "message":
			return { who: speaker(String(from)), seq, text: words };
		case "result":
			return { who: "Result", seq, text: words };
		case "calls": {
			const tools = Array.isArray(calls) ? calls.map((call) => String(call?.name)) : [];
			return { who: "Tools", seq, text: tools.join(", ") };
		}
		default:
			return undefined;
	}
}

const valueText = (value: unknown): string =>
	typeof value === "string" ? short(value) : short(JSON.stringify(value) ?? "nothing");
