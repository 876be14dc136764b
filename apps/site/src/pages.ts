/** What the site shows, and where: each page of the repository in its section, in the order of the sidebar. */
import { globSync, readFileSync } from "node:fs";
import { basename, join, posix, sep } from "node:path";
import { fileURLToPath } from "node:url";

export interface Page {
	/** From the repository's root. */
	readonly from: string;
	/** From the site's root; `.md` is `.html` there. */
	readonly to: string;
	readonly title: string;
}

export interface Section {
	readonly title: string;
	readonly pages: readonly Page[];
}

export const root = fileURLToPath(new URL("../../..", import.meta.url));
/** Where a file that is no page of the site is looked at. */
export const repository: string = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).repository;

const start = section("Start", [["start.md", "README.md", "What Reyn is"]]);

const guides = section("Guides", [
	["guides/index.md", "docs/guides/README.md", "Find your task"],
	["guides/command-line.md", "apps/cli/README.md", "At the command line"],
	["guides/chat.md", "docs/chat.md", "The chat"],
	["guides/page.md", "docs/page.md", "The page"],
	["guides/write-a-skill.md", "docs/guides/write-a-skill.md", "Write a skill"],
	["guides/serve-page.md", "apps/ui/README.md", "The page in a program of yours"],
	["guides/tools.md", "packages/journal/docs/tools.md", "Tools, and an agent's loop"],
	["guides/file-tools.md", "packages/tools/README.md", "Tools for files, commands and pages"],
	["guides/shell.md", "packages/tools/docs/shell.md", "Commands of a shell"],
	["guides/fetch.md", "packages/tools/docs/fetch.md", "Pages of the web"],
	["guides/permissions.md", "packages/runtime/docs/permissions.md", "Permissions and questions"],
	["guides/money.md", "packages/runtime/docs/money.md", "Prices and budgets"],
	["guides/ai-sdk.md", "packages/ai-sdk/README.md", "A model of the AI SDK"],
	["guides/offline-model.md", "packages/offline-model/README.md", "A model without a model"],
	["guides/scripts.md", "packages/journal/docs/scripts.md", "Scripts"],
	["guides/events.md", "packages/runtime/docs/events.md", "Follow what happens"],
	["guides/engines.md", "packages/wal/docs/engines.md", "Write an engine"],
	["guides/server.md", "packages/wal/docs/server.md", "The log in a server"],
	["guides/stores.md", "packages/runtime/docs/stores.md", "Choose a store"],
	["guides/files.md", "packages/snapshot/docs/files.md", "Rewind your files"],
	["guides/sqlite.md", "packages/snapshot/docs/sqlite.md", "Rewind your database"],
	["guides/tasks.md", "packages/runtime/docs/tasks.md", "Bind tasks to sessions"],
	["guides/rewind-tasks.md", "packages/tasks/docs/rewind.md", "Rewind your tasks"],
	["guides/entries.md", "packages/rewind-modes/docs/entries.md", "Rewind a journal of your own"],
	["guides/whole-log.md", "packages/timetravel/docs/whole-log.md", "Count over all branches"],
	["guides/sessions.md", "packages/timetravel/docs/sessions.md", "Sessions of your own"],
	["guides/features.md", "packages/runtime/docs/features.md", "A kind of work of your own"],
	["guides/runtime-errors.md", "packages/runtime/docs/errors.md", "Errors of the runtime"],
	["guides/journal-errors.md", "packages/journal/docs/errors.md", "Errors of the journal"],
	["guides/skill-tasks.md", "packages/skill-resume/docs/tasks.md", "A skill for a task"],
	["guides/skill-errors.md", "packages/skill-resume/docs/errors.md", "Errors of skills"],
	["guides/tools-errors.md", "packages/tools/docs/errors.md", "Errors of the tools"],
	["guides/contributing.md", "CONTRIBUTING.md", "Contribute"],
]);

const examples = section("Examples", [
	["examples/support-bot.md", "examples/support-bot/README.md", "A support bot"],
	["examples/wal-only.md", "examples/wal-only/README.md", "The log alone"],
	["examples/custom-runtime.md", "examples/custom-runtime/README.md", "A runtime of your own"],
	["examples/custom-feature.md", "examples/custom-feature/README.md", "A feature of your own"],
	["examples/skills.md", "examples/skills/README.md", "Skills to take"],
]);

const concepts = section("Concepts", [
	["concepts/index.md", "ARCHITECTURE.md", "Architecture"],
	["concepts/wal.md", "packages/wal/README.md", "wal: the log"],
	["concepts/snapshot.md", "packages/snapshot/README.md", "snapshot: states"],
	["concepts/timetravel.md", "packages/timetravel/README.md", "timetravel: branches"],
	["concepts/journal.md", "packages/journal/README.md", "journal: durable steps"],
	["concepts/rewind-modes.md", "packages/rewind-modes/README.md", "rewind-modes: what goes back"],
	["concepts/operator.md", "packages/operator/README.md", "operator: what people do, each verb once"],
	["concepts/plan.md", "packages/plan/README.md", "plan: steps of a question"],
	["concepts/skill-resume.md", "packages/skill-resume/README.md", "skill-resume: phases"],
	["concepts/tasks.md", "packages/tasks/README.md", "tasks: what outlives an agent"],
	["concepts/runtime.md", "packages/runtime/README.md", "runtime: all of it"],
	["concepts/words.md", "docs/words.md", "Words"],
	["concepts/invariants.md", "docs/invariants.md", "Invariants"],
]);

const decisions = section("Decisions", [
	["decisions/index.md", "docs/adr/README.md", "All of them"],
	...filesOf("docs/adr/0*.md").map((from): Row => [`decisions/${basename(from)}`, from, titleOf(from)]),
]);

const formats = section("Formats", [
	["formats/index.md", "docs/formats/state-directory.md", "The state directory"],
	["formats/wal-v1.md", "docs/formats/wal-v1.md", "The log"],
	["formats/snapshot-v1.md", "docs/formats/snapshot-v1.md", "Snapshots"],
	["formats/index-v1.md", "docs/formats/index-v1.md", "The index of a timeline"],
	["formats/kept-v1.md", "docs/formats/kept-v1.md", "What outlives a truncation"],
	["formats/events-v1.md", "docs/formats/events-v1.md", "The audit trail"],
	["formats/tasks-v1.md", "docs/formats/tasks-v1.md", "Tasks in SQLite"],
]);

// Written by `api.ts`.
const api = section("API", [
	["api/index.md", "apps/site/api/index.md", "All entries"],
	...filesOf("apps/site/api/@reyn/**/*.md").map((from): Row => [from.slice("apps/site/".length), from, titleOf(from)]),
]);

const limits = section("Limits", [
	["limits/platforms.md", "docs/platforms.md", "Platforms"],
	["limits/security.md", "docs/security.md", "Security"],
	["limits/reporting.md", "SECURITY.md", "Report a vulnerability"],
	["limits/faults.md", "docs/faults.md", "Faults"],
	["limits/bench.md", "docs/bench.md", "Benchmarks"],
	["limits/checks.md", "docs/checks.md", "The checks of the terminal"],
	["limits/third-party.md", "docs/third-party.md", "Third parties"],
]);

export const sections: readonly Section[] = [start, guides, examples, concepts, decisions, formats, api, limits];

export const pages: readonly Page[] = [
	{ from: "apps/site/index.md", to: "index.md", title: "Reyn" },
	...sections.flatMap((each) => each.pages),
];

/** `/guides/` of `guides/index.md`. */
export const addressOf = (to: string): string => `/${to.replace(/(?:index)?\.md$/, "")}`;

/** `/guides/`: all of a section's pages lie below it. */
export const folderOf = ({ pages: [first] }: Section): string =>
	first ? posix.join("/", posix.dirname(first.to), "/") : "/";

type Row = readonly [to: string, from: string, title: string];

function section(title: string, rows: readonly Row[]): Section {
	return { title, pages: rows.map(([to, from, title]) => ({ to, from, title })) };
}

function filesOf(pattern: string): readonly string[] {
	return globSync(pattern, { cwd: root })
		.map((path) => path.replaceAll(sep, "/"))
		.sort();
}

/** The heading of a page, as text. */
function titleOf(from: string): string {
	const [, title = from] = /^# (.+)$/m.exec(readFileSync(join(root, from), "utf8")) ?? [];
	return title.replace(/^API of /, "");
}
