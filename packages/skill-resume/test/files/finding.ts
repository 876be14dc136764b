/** A process that finds the skills of some directories, in Node's own loader, and tells as JSON what it has found. */
import { writeFileSync } from "node:fs";
import { findSkills, skillFilesIn } from "../../src/files/index.ts";
import { runLane, type Skill } from "../../src/index.ts";

/** What it is asked for. */
export interface Search {
	readonly directories: readonly string[];
	readonly packages?: readonly { readonly name: string; readonly from: string }[];
	/** The hashes of the files that are trusted. Absent: all are. */
	readonly trusted?: readonly string[];
	readonly taken?: readonly string[];
	/** What is written to which file before each further search. */
	readonly edits?: readonly (readonly [path: string, text: string])[];
}

const { directories, packages = [], trusted, taken = [], edits = [] } = JSON.parse(process.argv[2] ?? "") as Search;
const at = (entry: string): string => import.meta.resolve(entry);

async function search(): Promise<void> {
	const { skills, problems } = await findSkills({
		directories: directories.map((directory) => ({
			directory,
			...(trusted && { isTrusted: ({ hash }) => trusted.includes(hash) }),
		})),
		packages,
		taken: taken.map((name) => ({ name }) as Skill),
		provides: { "@reyn/skill-resume": new URL("../../src/index.ts", import.meta.url).href, zod: at("zod") },
		timers: { after: (ms, run) => (ms === 10_000 ? stopped(run) : () => {}) },
	});
	const found = {
		skills: skills.map(({ name, source, phases }) => ({ name, ...source, phases: Object.keys(phases) })),
		problems: problems.map(({ name, path, error: { code, message, detail } }) => ({
			name,
			path,
			code,
			message,
			detail,
		})),
		files: directories.flatMap((directory) => skillFilesIn(directory)),
		lane: runLane("r"),
	};
	console.log(JSON.stringify(found));
}

/** The limit is reached as soon as all else that the loader does is over. */
function stopped(run: () => void): () => void {
	const timer = setTimeout(run, 2_000);
	return () => clearTimeout(timer);
}

await search();
for (const [path, text] of edits) {
	writeFileSync(path, text);
	await search();
}
