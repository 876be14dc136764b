/** What was said, as text, Markdown, a page, or a JSON document a line: to be read, kept or sent on. */
import type { StateReport } from "../state-report.ts";
import { asJson, clean } from "../text.ts";

export const transcriptFormats = ["text", "md", "html", "jsonl"] as const;
export type TranscriptFormat = (typeof transcriptFormats)[number];

type Message = StateReport["messages"][number];

export function transcriptLines(
	title: string,
	messages: readonly Message[],
	format: TranscriptFormat,
): readonly string[] {
	switch (format) {
		case "text":
			return messages.flatMap(({ seq, who, text }) => [`#${seq} ${who}:`, ...rows(text).map((row) => `  ${row}`)]);
		case "md":
			return messages.flatMap(({ seq, who, text }) => [`## ${who} (#${seq})`, "", ...rows(text), ""]);
		case "jsonl":
			return messages.map((message) => asJson(message));
		case "html":
			return page(title, messages);
	}
}

const rows = (text: string): readonly string[] => clean(text).split("\n");

/** One page that asks nobody for anything, and runs nothing: what was said is text in it. */
const page = (title: string, messages: readonly Message[]): readonly string[] => [
	"<!doctype html>",
	'<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
	`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
	`<title>${inHtml(title)}</title>`,
	"<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}",
	"article{margin:1.5rem 0}h2{font-size:1rem;margin:0}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.25rem 0}</style></head>",
	`<body><h1>${inHtml(title)}</h1>`,
	...messages.flatMap(({ seq, who, text }) => {
		const [first = "", ...more] = rows(text).map(inHtml);
		const head = `<article id="s${seq}"><h2>${inHtml(who)} <a href="#s${seq}">#${seq}</a></h2>`;
		return more.length === 0
			? [`${head}<pre>${first}</pre></article>`]
			: [`${head}<pre>${first}`, ...more.slice(0, -1), `${more.at(-1)}</pre></article>`];
	}),
	"</body></html>",
];

const inHtml = (text: string): string =>
	clean(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
