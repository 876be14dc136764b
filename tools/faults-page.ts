/** The parts of docs/faults.md that are made from the faults themselves: `pnpm faults --page` writes them, and a test compares. */
import { join } from "node:path";
import { defects } from "../tests/faults/defects.ts";
import { numbersOf } from "../tests/faults/fault.ts";
import { faults } from "../tests/faults/index.ts";
import { root } from "../tests/workspace.ts";

export const faultsPath = join(root, "docs/faults.md");

/** A part by the name in its marks; what stands between two parts is written by hand. */
const parts: Readonly<Record<string, () => string>> = { faults: listOfFaults, rows: matrix, defects: listOfDefects };

/** The page with its made parts as they have to be. @throws where a part has no marks, or another than those has */
export function faultsPage(page: string): string {
	const marked = [...page.matchAll(/^<!-- made: (.+) -->$/gm)].map(([, name = ""]) => name);
	const names = Object.keys(parts);
	if (marked.join() !== names.join())
		throw new Error(`docs/faults.md has the made parts ${marked.join(", ")}; expected ${names.join(", ")}`);
	return page.replace(
		/^(<!-- made: (.+) -->\n)[\s\S]*?^(<!-- end -->)$/gm,
		(_, begin, name, end) => `${begin}\n${parts[name]?.()}\n\n${end}`,
	);
}

function listOfFaults(): string {
	const rows = faults.map((fault) => [
		`\`${fault.name}\``,
		fault.title,
		fault.promise,
		numbersOf(fault).join(", ") || "[planted](#planted-defects)",
	]);
	return table(["fault", "what is broken", "what must hold", "rows"], rows);
}

/** By number; where several faults are about one, in their order. */
function matrix(): string {
	const rows = faults
		.flatMap(({ name, rows }) => rows.map((row) => ({ command: `\`${name}\``, ...row })))
		.sort((a, b) => a.row - b.row)
		.map(({ row, title, how, promise, seen, command }) => [`${row}`, title, how, promise, seen, command]);
	return table(["#", "fault", "injected how", "expected", "seen", "command"], rows);
}

function listOfDefects(): string {
	const rows = defects.map(({ name, tests }) => [name, tests.map((test) => `\`${test}\``).join(", or ")]);
	return table(["defect", "caught by"], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const lines = rows.map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`);
	return [`| ${head.join(" | ")} |`, `|${"---|".repeat(head.length)}`, ...lines].join("\n");
}
