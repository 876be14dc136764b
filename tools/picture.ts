/** Records `reyn demo` as a picture of a terminal: `npx -y pnpm@12.21.0 exec node tools/picture.ts` after a build writes docs/demo.svg. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
export const picture = join(root, "docs/demo.svg");

/** What the demo is asked about: small, so that what it says is the same as long as Reyn is. */
const notes = {
	"harbour.md": "# Harbour\n\nThe lighthouse keeper is called Ada Brandt.\nThe ferry leaves the harbour at nine.\n",
	"ferry.md": "# Ferry\n\nThe ferry needs an hour to the island.\nIn a storm the ferry stays in the harbour.\n",
	"storm.md": "# Storm\n\nThe lighthouse warns of a storm with two flashes.\n",
};

/** In the last step, which waits for all others: so the same is done and under way in each recording. */
const demo = ["demo", "--crash-at", "5"];

const COLUMNS = 108;
const LINE = 16;
const MARGIN = 16;

/** The lines that are shown; in place of others an ellipsis stands. */
const shown = [
	/^\d\. /,
	/^\$ reyn (run|resume|rewind|checkout|log)/,
	/^ {2}plan p\d+ ▸ \d steps$/,
	/^ {2}plan p\d+ ▸ \d\/\d s\d .*(✓ \d|where it was cut)/,
	/^ {2}plan p\d+ ▸ \d\/\d s6 .* …$/,
	/^killed: /,
	/^ {2}restored: /,
	/^what died/,
	/^ {2}(died|free|paid|proof) /,
	/^ +\d+ (answers )?were (on disk|under way)/,
	/^done: a reset/,
	/^(@|◆|│|├|● {2})/,
	/^ {2}state (at|now)/,
];

/** Lines in whose place no ellipsis stands: where they do is another place in each run, and the line that follows says as much. */
const passedOver = /^ {2}plan p\d+ ▸ (\d\/\d s\d .* …$|\d steps \()/;

/** The demo as it is, on a directory of its own. @param reyn what Node is told to start the command line with */
export async function recordDemo(reyn: readonly string[]): Promise<readonly string[]> {
	for (let tries = 3; tries > 0; tries--) {
		const output = await runDemo(reyn);
		// A busy machine may kill too late, when the answer was on disk already.
		if (/restored: plan \S+ 5 of 6 steps/.test(output)) return [`$ reyn ${demo.join(" ")}`, "", ...linesToShow(output)];
	}
	throw new Error("the kill came too late three times: try again on a quieter machine");
}

async function runDemo(reyn: readonly string[]): Promise<string> {
	const home = mkdtempSync(join(tmpdir(), "reyn-picture-"));
	try {
		const cwd = join(home, "notes");
		mkdirSync(cwd);
		for (const [name, text] of Object.entries(notes)) writeFileSync(join(cwd, name), text);
		const { NO_COLOR: _, ...inherited } = process.env;
		const env = { ...inherited, FORCE_COLOR: "1", XDG_STATE_HOME: join(home, "own") };
		const args = [...reyn, ...demo, "--keep", join(home, "state")];
		const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
		let output = "";
		let errors = "";
		child.stdout.on("data", (text) => (output += text));
		child.stderr.on("data", (text) => (errors += text));
		const code = await new Promise((resolve) => child.on("close", resolve));
		if (code !== 0) throw new Error(`reyn demo ended with ${code}: ${errors}`);
		// Where it was recorded is nobody's business.
		return output.replaceAll(home, "~");
	} finally {
		rmSync(home, { recursive: true, force: true });
	}
}

/** All but the first of the two trees and the previews at the end; a long answer is left out where it stands. */
function linesToShow(output: string): readonly string[] {
	const story = output
		.replace(/^.*\$ reyn log --graph[\s\S]*?^(?=state at #)/m, "")
		.replace(/^.*5\. Five ways[\s\S]*/m, "")
		.split("\n");
	const lines: string[] = [];
	for (const line of story.slice(story.findIndex((each) => plain(each).startsWith("1. ")))) {
		if (plain(line) === "") {
			if (lines.at(-1) !== "") lines.push("");
		} else if (shown.some((pattern) => pattern.test(plain(line)))) lines.push(cut(line));
		else if (!passedOver.test(plain(line)) && lines.at(-1) !== ELLIPSIS && lines.at(-1) !== "") lines.push(ELLIPSIS);
	}
	while (lines.at(-1) === "") lines.pop();
	return lines.filter((line, index) => line !== "" || /\d\. |what died/.test(lines[index + 1] ?? ""));
}

const ELLIPSIS = "  \u001b[2m…\u001b[22m";

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal is told colours with
const colour = /\u001b\[(\d+)m/g;

const plain = (line: string): string => line.replace(colour, "");

/** A terminal is so wide. What is longer has no colours, or is cut in the last of them; behind a word, whatever number of digits comes before. */
const cut = (line: string): string =>
	plain(line).length <= COLUMNS
		? line
		: `${plain(line)
				.slice(0, COLUMNS - 1)
				.replace(/\S*$/, "")}…`;

const classes: Readonly<Record<string, string>> = { 1: "bold", 2: "dim", 31: "red", 32: "green", 36: "cyan" };

/** The lines of a terminal as a picture. */
export function drawn(lines: readonly string[]): string {
	const width = 2 * MARGIN + Math.ceil(COLUMNS * 7.55);
	const height = 2 * MARGIN + lines.length * LINE;
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>reyn demo, recorded by tools/picture.ts</title>
<style>
text { font: 12.5px ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", Consolas, monospace; fill: #d8dee9; white-space: pre }
.bold { font-weight: bold; fill: #ffffff } .dim { fill: #7b8494 } .red { fill: #ff7a85 } .green { fill: #a3d98c } .cyan { fill: #7fc8d8 }
</style>
<rect width="100%" height="100%" rx="8" fill="#1d2129"/>
${lines.map((line, index) => `<text xml:space="preserve" x="${MARGIN}" y="${MARGIN + 13 + index * LINE}">${spans(line)}</text>\n`).join("")}</svg>
`;
}

function spans(line: string): string {
	const pieces = line.split(colour);
	let now: string | undefined;
	return pieces
		.map((piece, index) => {
			if (index % 2 === 1) {
				now = classes[piece];
				return "";
			}
			const text = piece.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
			return now === undefined || text === "" ? text : `<tspan class="${now}">${text}</tspan>`;
		})
		.join("");
}

/** What a picture says, without what is another in each run: ids, where records lie, and which of two steps side by side ends first. */
export function said(svg: string): string {
	const lines = svg
		.replace(/\b[0-9a-f]{64}\b/g, "HASH")
		.replace(/process \d+/g, "process N")
		.replace(/#\d+/g, "#N")
		.replace(/▸ \d\/6/g, "▸ N/6")
		.replace(/\d+(\.\d)? s, /g, "N s, ")
		.replace(/\b(reset at|reyn (?:rewind|checkout)) \d+/g, "$1 N")
		.replace(/\[b\d+\]/g, "[bN]")
		.replace(/that takes \d+ records/g, "that takes N records")
		.replace(/ y="\d+"/g, "")
		.split("\n");
	for (let from = 0; from < lines.length; from++) {
		let to = from;
		while (/[ ▸]s[1-5][ :]/.test(lines[to] ?? "")) to++;
		if (to > from) lines.splice(from, to - from, ...lines.slice(from, to).sort());
		from = to;
	}
	return lines.join("\n");
}

if (process.argv[1] === import.meta.filename) {
	const old = readFileSync(picture, { encoding: "utf8", flag: "a+" });
	const recorded = drawn(await recordDemo([join(root, "apps/cli/dist/bin.js")]));
	// Another recording of the same is no news.
	if (said(recorded) !== said(old)) writeFileSync(picture, recorded);
	console.log(
		said(recorded) === said(old) ? "docs/demo.svg says what the demo says" : "docs/demo.svg is recorded anew",
	);
}
