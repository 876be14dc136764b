/** Script runs as lines for people. */
import type { CallEvent, ScriptEnd, ScriptEvent } from "@reyn/runtime";
import type { z } from "zod";
import type { Say } from "../say.ts";
import type { explanationShape, scriptRunShape, scriptViewShape, verificationShape } from "../shapes.ts";
import { asJson, oneLine } from "../text.ts";

type Explanation = z.infer<typeof explanationShape>;
type ExplainedCall = Explanation["calls"][number];
type RunView = z.infer<typeof scriptViewShape>;
type ShownCall = RunView["calls"][number];

/** Lines for what happens in a run; none where it is not worth one. */
export function scriptEventLines(event: ScriptEvent): readonly string[] {
	switch (event.type) {
		case "begun":
		case "part":
		case "ended":
			return [];
		case "printed":
			return event.line.split("\n").map((line) => `  ${line}`);
		case "call":
			return [callLine(event)];
	}
}

const marks: Readonly<Record<CallEvent["state"], string>> = {
	calling: "▸",
	hit: "↺",
	live: "✓",
	failed: "✗",
	retrying: "…",
	in_doubt: "?",
	kept: "·",
	cut: "-",
};

function callLine({ lane, kind, label, state, tokens, note }: CallEvent | ShownCall): string {
	const cost = tokens === undefined ? "" : `  ${tokens} tokens${state === "hit" ? ", not paid again" : ""}`;
	const why = note === undefined ? "" : `  ${oneLine(note, 100)}`;
	return `${marks[state]} ${branchOf(lane)}${callName(kind, label)}${cost}${why}`;
}

const callName = (kind: string, label: string): string => (kind === label ? kind : `${kind} ${oneLine(label, 60)}`);

/** The lane without the run's own part: empty, or `phase.review/0 `. */
function branchOf(lane: string): string {
	const branch = lane.split("/").slice(2).join("/");
	return branch === "" ? "" : `${oneLine(branch, 40)} `;
}

/** What a resume would do, before anything is spent. */
export function explanationLines(explanation: Explanation): readonly string[] {
	const { calls, saved, guessed, toPay, unknown, percentFree, isWhole, beyond, assumed, unreached } = explanation;
	const { refused } = explanation;
	const rows = calls.map((call) => [
		call.seq === undefined ? "" : `#${call.seq}`,
		call.state.replace("_", " "),
		`${branchOf(call.lane)}${callName(call.kind, call.label)}`,
		priceOf(call),
		whyOf(call),
	]);
	const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)));
	const repeats = calls.filter((call) => call.repeats !== undefined);
	const free = percentFree === undefined ? "unknown %" : `${percentFree} %`;
	const ifSo = guessed > 0 ? `, ${guessed} of them only if what is assumed comes so` : "";
	const least = guessed > 0 || !isWhole ? "at least " : "";
	const rest = unknown > 0 ? `, and ${unknown} call${unknown === 1 ? "" : "s"} of unknown price` : "";
	return [
		...rows.map((row) =>
			row
				.map((cell, i) => (i < 4 ? cell.padEnd(widths[i] ?? 0) : cell))
				.join("  ")
				.trimEnd(),
		),
		`${free} replayed free   ${saved} tokens saved${ifSo}   ${least}${toPay} tokens still to pay${rest}`,
		...repeats.map((call) => `made a second time: ${callName(call.kind, call.label)}, first at #${call.repeats}`),
		...(assumed > 0 ? [`${assumed} of them not recorded: what follows them may come otherwise`] : []),
		...unreachedLines(unreached),
		...(isWhole ? [] : [`beyond this nothing is known: ${oneLine(beyond ?? "", 120)}`]),
		...(refused ? [`would stop, and call nothing: ${divergenceLine(refused)}`] : []),
	];
}

/** So many are named. */
const MOST_NAMED = 5;

type Unreached = Explanation["unreached"][number];

function unreachedLines(all: readonly Unreached[]): readonly string[] {
	const { gone = [], replaced = [] } = Object.groupBy(all, ({ instead }) =>
		instead === undefined ? "gone" : "replaced",
	);
	const said = (of: readonly Unreached[], so: string): readonly string[] =>
		of.length === 0
			? []
			: [`made before, and ${so}: ${namedOf(of)}; where an answer comes otherwise it may be made again`];
	return [...said(gone, "not come to here"), ...said(replaced, "with another call in its place here")];
}

function namedOf(all: readonly Unreached[]): string {
	const named = all.slice(0, MOST_NAMED).map(({ seq, label }) => `${oneLine(label, 40)} #${seq}`);
	return `${named.join(", ")}${all.length > named.length ? `, and ${all.length - named.length} more` : ""}`;
}

function priceOf({ state, saved, toPay }: ExplainedCall): string {
	if (state === "hit" || state === "failed") return saved > 0 ? `${saved} saved` : "";
	const cost = toPay === undefined ? "unknown" : toPay === 0 && saved === 0 ? "" : `${toPay} to pay`;
	return saved > 0 ? `${cost}, ${saved} saved` : cost;
}

function whyOf({ kind, state, why, differs, guessed, isGuess }: ExplainedCall): string {
	if (state === "in_doubt" && kind === "ask") return "asked, and not answered yet";
	if (state === "in_doubt") return "started, and nobody knows whether it happened";
	if (state === "again") return "the world is asked again";
	if (differs) {
		const [was, is] = [differs.was, differs.is].map((value) => oneLine(value ?? "nothing", 50));
		return `${differs.field}: ${was} → ${is}`;
	}
	return why ?? (guessed > 0 || isGuess ? "if what is assumed comes so" : "");
}

export function runLines(runs: readonly z.infer<typeof scriptRunShape>[], say: Say): readonly string[] {
	if (runs.length === 0) return [`there is no script run; start one with: ${say`script run <file.ts>`}`];
	return runs.map(({ run, name, status, revision, at, questions, reason }) => {
		const [open] = questions;
		const when = new Date(at).toISOString().slice(0, 16).replace("T", " ");
		const more = open ? `  asks: ${oneLine(open.question, 60)}` : reason ? `  ${oneLine(reason.message, 60)}` : "";
		return `${run}  ${status.padEnd(9)}  ${when}  ${oneLine(name, 60)}${revision > 1 ? ` (revision ${revision})` : ""}${more}`;
	});
}

/** All that a run has done, as it stands. */
export function scriptViewLines({ name, status, reason, calls, saved, paid }: RunView): readonly string[] {
	const recalled = saved === undefined ? "recalled: unknown" : `${saved} tokens recalled`;
	return [
		...calls.map(callLine),
		`${oneLine(name, 60)}: ${status}${reason === undefined ? "" : `, ${oneLine(reason, 120)}`}   ${recalled}, ${paid} tokens paid`,
	];
}

export function verificationLines(
	{ explanation, divergences }: z.infer<typeof verificationShape>,
	run: string,
): readonly string[] {
	if (divergences.length === 0)
		return [`${run} replays: ${explanation.calls.length} calls, each as it is recorded, none made`];
	return divergences.map(divergenceLine);
}

const divergenceLine = ({ expected, got, seq, path }: Explanation["divergences"][number]): string =>
	`${path}${seq === undefined ? "" : ` #${seq}`}: expected ${oneLine(expected, 200)}; got ${oneLine(got, 200)}`;

/** What a script has given, as a text. */
export const scriptResultText = (result: unknown): string => (typeof result === "string" ? result : asJson(result, 2));

/** Why an attempt is not completed, and how the run goes on; of one that is there is its result, and no more to say. */
export function scriptEndLines(
	run: string,
	end: Extract<ScriptEvent, { type: "ended" }> | ScriptEnd,
	say: Say,
): readonly string[] {
	if (end.status === "completed") return [];
	const goOn =
		end.status === "waiting"
			? `what it asks, and how it is answered: ${say`questions`}`
			: `go on with: ${say`script resume ${run}`}`;
	const reason = typeof end.reason === "object" ? end.reason.message : (end.reason ?? "");
	return [`${end.status}: ${reason}`, goOn];
}
