/** `pnpm faults <name> [--rounds N] [--points N] [--kills N] [--only TEXT] [--seed S] [--short]`: one fault; `all` runs each in its short form; alone, or with `--list`, it lists them; `--page` writes them into docs/faults.md. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Fault, FaultError, type Figures, numbersOf, type Settings } from "./fault.ts";
import { faults } from "./index.ts";

const { positionals, values } = parseArgs({
	allowPositionals: true,
	options: {
		rounds: { type: "string" },
		points: { type: "string" },
		kills: { type: "string" },
		only: { type: "string" },
		seed: { type: "string" },
		short: { type: "boolean" },
		list: { type: "boolean" },
		page: { type: "boolean" },
		help: { type: "boolean" },
	},
});
// What the command line keeps for its user: that of the faults is not the user's own.
process.env.XDG_STATE_HOME ??= join(import.meta.dirname, "../../node_modules/.state");

const [name] = positionals;
const all = name === "all";
const settings: Settings = {
	rounds: numberOf(values.rounds),
	points: numberOf(values.points),
	kills: numberOf(values.kills),
	only: values.only,
	seed: Number(values.seed ?? 1),
	short: all || values.short === true,
};

if (values.list) list();
else if (values.page) {
	const { faultsPage, faultsPath } = await import("../../tools/faults-page.ts");
	await writeFile(faultsPath, faultsPage(await readFile(faultsPath, "utf8")));
} else if (name === undefined || values.help) {
	console.log(
		"pnpm faults <name> [--rounds N] [--points N] [--kills N] [--only TEXT] [--seed S] [--short]; all: each in its short form; --list: those below; --page: writes them into docs/faults.md\n",
	);
	list();
} else {
	const chosen = all ? faults : faults.filter((fault) => fault.name === name);
	if (chosen.length === 0) {
		console.error(`no fault is named "${name}"; there are: ${faults.map((fault) => fault.name).join(", ")}, all`);
		process.exitCode = 2;
	}
	for (const fault of chosen) await report(fault);
}

function list(): void {
	for (const fault of faults) {
		const rows = numbersOf(fault).join(", ");
		console.log(`${fault.name.padEnd(11)} ${fault.title}: ${fault.promise}${rows === "" ? "" : ` (row ${rows})`}`);
	}
}

async function report(fault: Fault): Promise<void> {
	const why = fault.needs();
	if (why !== undefined) {
		console.log(`${fault.name}: skipped: 1 (${why})`);
		return;
	}
	const started = performance.now();
	try {
		const figures = await fault.run(settings);
		console.log(`${fault.name}: ok in ${seconds(started)}, seed ${settings.seed}\n${listed(figures)}`);
	} catch (error) {
		process.exitCode = 1;
		const figures = error instanceof FaultError ? listed(error.figures) : "";
		console.log(`${fault.name}: FAILED in ${seconds(started)}, seed ${settings.seed}\n${figures}`);
		console.log(error instanceof FaultError ? error.message : error);
	}
}

function numberOf(value: string | undefined): number | undefined {
	return value === undefined ? undefined : Number(value);
}

function seconds(since: number): string {
	return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

function listed(figures: Figures): string {
	return Object.entries(figures)
		.map(([what, figure]) => `  ${what}: ${figure}`)
		.join("\n");
}
