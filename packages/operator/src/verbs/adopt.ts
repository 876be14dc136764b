/** `adopt`: take one file, one answer or one step's result over from another moment, on whatever line. */
import { posix } from "node:path";
import { adoptedPath, messageAdopted } from "@reyn/runtime";
import { reset } from "@reyn/timetravel";
import { z } from "zod";
import { readFileBetween } from "../changed-files.ts";
import { OperatorError } from "../errors.ts";
import { filesDoneLines, filesPreview, filesRestored, theirsParam } from "../files-along.ts";
import { differentFilesText } from "../lines/files.ts";
import { adoptedText } from "../moves.ts";
import { option } from "../param.ts";
import { parseRef } from "../refs.ts";
import { differentFile, scope, seq } from "../shapes.ts";
import { oneLine } from "../text.ts";
import { writeVerb } from "../verb.ts";
import { ref, session } from "./ref.ts";

const step = z.string().transform((text, context) => {
	const [, plan, step] = /^([^/]+)\/(.+)$/.exec(text) ?? [];
	if (plan !== undefined && step !== undefined) return { plan, step };
	context.addIssue({ code: "custom", message: "expected a plan and a step of it, such as p2/s3" });
	return z.NEVER;
});

const file = z.object({ path: z.string(), files: filesPreview, differs: z.object(differentFile).exactOptional() });
const message = z.object({
	session: scope,
	source: z.union([z.object({ message: seq }), z.object({ plan: z.string(), step: z.string() })]),
	text: z.string(),
});

export const adopt = writeVerb({
	name: "adopt",
	summary:
		"take over from another moment, on whatever line: its last answer, what a step of a plan found, or a file as it was",
	params: {
		ref,
		file: option("path", "this file, as it was on disk then", z.string().min(1).optional()),
		step: option("plan/step", "what this step of a plan had found", step.optional()),
		session,
		...theirsParam,
	},
	example: "b7 --file notes.md",
	/** One of `file` and `message`. */
	seen: z.object({ tip: seq, from: seq, file: file.exactOptional(), message: message.exactOptional() }),
	done: z.object({ seq, files: filesRestored.exactOptional() }),
	async look(runtime, { ref, file: given, step, session, theirs }) {
		// First: what comes while it is looked up was not seen.
		const { tip } = runtime.wal;
		const from = await parseRef(ref, runtime);
		if (given === undefined) {
			const { source, text } = await runtime.previewAdoption(from, step, session);
			return { tip, from, message: { session, source, text } };
		}
		if (step) throw new OperatorError("OPERATOR_ARGS", "adopt: take a file over, or what a step found: not both", {});
		const path = posix.normalize(given);
		const files = await runtime.previewFiles(from, theirs, [path]);
		const [kept] = files.kept;
		if (kept)
			throw new OperatorError(
				"OPERATOR_CONFLICT",
				`${oneLine(path)} stays: ${kept.why}; nothing was written${kept.isTheirs ? ". To take it over all the same, which undo takes back, say --theirs" : ""}`,
				{ path, from },
			);
		if (files.changes.length === 0) {
			const known = (await runtime.files.since(0)).files.map((each) => each.path);
			if (!known.includes(path)) throw unknownFile(path, known);
		}
		const { others: _, ...differs } = (await readFileBetween(runtime, path, tip, from)) ?? {};
		return { tip, from, file: { path, files, ...("path" in differs && { differs }) } };
	},
	nothing: ({ from, file }) =>
		file && file.files.changes.length === 0
			? [`${oneLine(file.path)} is as it was at #${from}, as far as tools have changed it; nothing to write`]
			: undefined,
	shown: ({ from, file, message }) => [
		...(file
			? [
					`${oneLine(file.path)} in your workspace is written: it becomes as it was at #${from}. Undo takes that back; no other file is touched`,
					...differentFilesText(file.differs ? [file.differs] : []),
				]
			: []),
		...(message
			? [
					`${adoptedText(message.source)}, as of #${from}, joins the conversation; the model reads it, and where it comes from:`,
					...begun(message.text),
				]
			: []),
	],
	question: ({ from }) => `adopt this from #${from}?`,
	async act(runtime, { tip: expect, from, file, message }, actor) {
		if (message) {
			const { session, source } = message;
			return { seq: await runtime.adoptMessage({ from, source }, actor, session as never, { expect }) };
		}
		const { seq, files } = await runtime.adoptFile(file?.path ?? "", from, actor, {
			expect,
			theirs: file?.files.theirs ?? [],
		});
		return { seq, ...(files && { files }) };
	},
	isDoneBy(record, { from, file, message }, actor) {
		if (reset.is(record))
			return (
				file !== undefined &&
				adoptedPath(record) === file.path &&
				record.data.target === from &&
				record.data.actor === actor
			);
		const isSame = (source: object): boolean => JSON.stringify(source) === JSON.stringify(message?.source);
		return (
			messageAdopted.is(record) &&
			record.data.from === from &&
			record.data.actor === actor &&
			isSame(record.data.source)
		);
	},
	lines: ({ seq, files }, say, { from, file, message }) => [
		message
			? `adopted in #${seq}: ${adoptedText(message.source)}, as of #${from}. Go back with: ${say`undo`}`
			: `adopted in #${seq}: ${oneLine(file?.path ?? "")}, as of #${from}. Go back with: ${say`undo`}`,
		...(files?.changes.length === 0 ? filesDoneLines(files) : []),
	],
});

function unknownFile(path: string, known: readonly string[]): OperatorError {
	const names = known.slice(0, 8).map((each) => oneLine(each));
	const more = known.length > names.length ? `, and ${known.length - names.length} more` : "";
	return new OperatorError(
		"OPERATOR_NOT_FOUND",
		`no tool has changed ${oneLine(path)}, so what it held is not known; tools have changed ${names.join(", ") || "none"}${more}`,
		{ path },
	);
}

const MOST_LINES = 12;

/** The beginning of a text, as lines of a preview. */
function begun(text: string): readonly string[] {
	const lines = text.trimEnd().split("\n");
	const more = lines.length - MOST_LINES;
	return [
		...lines.slice(0, MOST_LINES).map((line) => `  ${oneLine(line, 160)}`),
		...(more > 0 ? [`  … (${more} more lines)`] : []),
	];
}
