/** `script list | show | explain | verify | run | resume | answer`: runs of scripts. */
import { callsOf, emptyRunView, nextRunView, type ScriptResume } from "@reyn/runtime";
import { z } from "zod";
import { explanationLines, runLines, scriptViewLines, verificationLines } from "../lines/script.ts";
import { choice, flag, type Given, option, type Param, word } from "../param.ts";
import { parseRef } from "../refs.ts";
import { explanationShape, list, scriptRunShape, scriptText, scriptViewShape, verificationShape } from "../shapes.ts";
import { readVerb, workVerb } from "../verb.ts";
import { session } from "./ref.ts";

const run = word("run", "the id of a run, as script list has them", z.string());
const asScript = <T>(param: Param<T>): Param<T> => ({ ...param, reads: "script" });
const script = asScript(word("file", "the script as it is now (default: as it was)", scriptText.optional()));
const args = (help: string): Param => ({ ...option("json", help, z.unknown()), reads: "json" });
const reuse = choice<"prefix" | "content">(
	"how",
	'what an edited script keeps: the unchanged beginning of each branch, or equal calls too (default: as before; at first "prefix")',
	["prefix", "content"],
);
const isolate = flag(
	"run the script in a process of its own that has nothing but its calls",
	z.boolean().default(false),
);
const answer: Param<readonly string[]> = {
	...option(
		"text",
		"an answer to what the script asks; may be given several times",
		z.array(z.string()).readonly().default([]),
	),
	isMany: true,
};

export const scriptList = readVerb({
	name: "script list",
	summary: "script runs, newest first",
	params: {},
	example: "",
	result: list(scriptRunShape),
	read: async ({ scripts }) => scripts.list(),
	lines: runLines,
});

export const scriptShow = readVerb({
	name: "script show",
	summary: "what a run has done, as it stands",
	params: { run },
	example: "r395df1eb",
	result: scriptViewShape,
	async read({ scripts }, { run }) {
		let view = emptyRunView;
		// What there is, and nothing that comes.
		for await (const event of scripts.watch(run, AbortSignal.abort())) view = nextRunView(view, event);
		return { ...view, calls: callsOf(view) };
	},
	lines: scriptViewLines,
});

const howTo = { script, args: args("other arguments"), reuse, isolate };
const at = option(
	"ref",
	"as if all had been killed at that moment, and nothing after it written",
	z.string().optional(),
);

export const scriptExplain = readVerb({
	name: "script explain",
	summary: "what a resume would recall and what call, and what it costs; nothing is called",
	params: { run, ...howTo, at },
	example: "r395df1eb review.ts",
	result: explanationShape,
	at: "as recovered",
	async read(runtime, { run, at, ...how }) {
		const seq = at === undefined ? undefined : await parseRef(at, runtime);
		return runtime.scripts.explain(run, { ...how, at: seq });
	},
	lines: explanationLines,
});

export const scriptVerify = readVerb({
	name: "script verify",
	summary: "replay a run without a single call; fails when the script does something else than is recorded",
	params: { run, script, isolate },
	example: "r395df1eb review.ts",
	result: verificationShape,
	at: "as recovered",
	read: ({ scripts }, { run, script, isolate }) => scripts.verify(run, script, { isolate }),
	fault: ({ divergences }) => (divergences.length > 0 ? "REPLAY_DIVERGENCE" : undefined),
	lines: (found, _say, { run }) => verificationLines(found, run),
});

export const scriptRun = workVerb({
	name: "script run",
	summary: "run a script, which goes on where it was cut, after any crash and any edit",
	params: {
		script: asScript(word("file", "a TypeScript file whose default export is async (ctx, args) => result", scriptText)),
		args: args("its arguments"),
		answer,
		isolate,
		session,
	},
	example: "review.ts",
	isAlone: true,
	begun: z.object({ run: z.string() }),
	begin: ({ scripts }, { script, args, answer: answers, isolate, session }) =>
		scripts.start(script, args, session, { answers, isolate }),
	lines: ({ run }) => [`script run ${run} started`],
});

const goOn = {
	...howTo,
	strict: flag("refuse when the script asks for something else than is recorded", z.boolean().default(false)),
	policy: choice<"retry" | "skip" | "discard">("what", "for effects that may or may not have happened", [
		"retry",
		"skip",
		"discard",
	]),
	answer,
};

export const scriptResume = workVerb({
	name: "script resume",
	summary: "go on with a run; what is recorded is not called again",
	params: { run, ...goOn },
	example: "r395df1eb review.ts",
	isAlone: true,
	begun: z.object({ run: z.string() }),
	at: "as recovered",
	check: ({ scripts }, { run, ...given }) => scripts.check(run, howOf(given)),
	begin: ({ scripts }, { run, ...given }) => scripts.resume(run, howOf(given)),
	lines: ({ run }) => [`script run ${run} goes on`],
});

const howOf = ({ policy, answer, ...how }: Given<typeof goOn>): ScriptResume => ({
	...how,
	whenInDoubt: policy,
	answers: answer,
});
