/** `reyn gc`: the only command that takes anything away, and it says first what. */

import { oneLine } from "@reyn/operator/text";
import type { Collection } from "@reyn/runtime";
import type { Command } from "commander";
import { confirm } from "./confirm.ts";
import { type Globals, openForReading, openForWork } from "./context.ts";
import { err } from "./print.ts";
import { wholeNumber } from "./whole-number.ts";

type Print = (globals: Globals, value: unknown, lines: readonly string[]) => void;

interface Options {
	readonly keepDays: number;
	readonly keepCheckpoints: number;
	readonly dryRun?: boolean;
	readonly yes?: boolean;
}

export function addGcCommand(program: Command, globals: () => Globals, print: Print): void {
	program
		.command("gc")
		.description(
			"take away history that is older than you keep, and files that nothing refers to; labels and live work stay",
		)
		.option("--keep-days <n>", "days that stay, at least", wholeNumber, 30)
		.option("--keep-checkpoints <n>", "checkpoints that stay, at least", wholeNumber, 200)
		.option("--dry-run", "say what would go, and nothing else")
		.option("--yes", "do it without asking")
		.action(async ({ dryRun, yes, ...policy }: Options) => {
			const planned = await planOf(globals(), policy);
			const isIdle =
				planned.retainedFrom === planned.was && planned.snapshots + planned.chunks + planned.artifacts.files === 0;
			if (dryRun || isIdle)
				return print(globals(), { ...planned, applied: false }, linesOf(planned, policy, "would go"));
			if (!globals().json) err.lines(linesOf(planned, policy, "would go"));
			await confirm("take this away for good?", yes);
			await using runtime = await openForWork(globals());
			const done = await runtime.gc(policy);
			print(globals(), { ...done, applied: true }, linesOf(done, policy, "went"));
		});
}

async function planOf(globals: Globals, policy: Pick<Options, "keepDays" | "keepCheckpoints">): Promise<Collection> {
	await using runtime = await openForReading(globals);
	return await runtime.gc({ ...policy, dryRun: true });
}

function linesOf(
	{ retainedFrom, was, first, heldBy, labels, snapshots, chunks, artifacts }: Collection,
	{ keepDays, keepCheckpoints }: Pick<Options, "keepDays" | "keepCheckpoints">,
	went: "would go" | "went",
): readonly string[] {
	const isCut = retainedFrom > was;
	const kept = `everything of the last ${keepDays} days stays, and at least ${keepCheckpoints} checkpoints`;
	return [
		isCut
			? `every moment from #${was} to #${retainedFrom - 2} ${went}, and #${retainedFrom - 1} is the oldest that stays: ${kept}`
			: `no moment ${went}: ${kept}`,
		...(heldBy ? [heldText(heldBy)] : []),
		...(labels.length > 0
			? [`kept by their labels: ${labels.map(({ name, seq }) => `${name} (#${seq})`).join(", ")}`]
			: []),
		...(snapshots + chunks > 0
			? [`${snapshots} stored states and ${chunks} parts of them ${went}: nothing needs them`]
			: []),
		...artifactLines(artifacts, isCut && went === "would go" ? "would go, at most" : went),
		...(isCut && went === "went" && first < retainedFrom
			? [`the log still begins at #${first} on disk: it is cut by whole segments of 16 MiB`]
			: []),
	];
}

function artifactLines({ files, bytes, undecided }: Collection["artifacts"], went: string): readonly string[] {
	if (undecided)
		return [
			`no file beside the log ${went}: #${undecided.seq} is a ${oneLine(undecided.kind, 40)}, which this version of Reyn does not know, and it may refer to any of them`,
		];
	return files > 0
		? [
				`${files} ${files === 1 ? "file" : "files"} beside the log (${bytes} bytes) ${went}: nothing refers to them any more`,
			]
		: [];
}

const heldText = (held: NonNullable<Collection["heldBy"]>): string =>
	"label" in held
		? `held back by the label ${oneLine(held.label, 64)}: what is under way at it (${held.projection}) needs #${held.seq} on, and whoever goes back there goes on with it`
		: "unknown" in held
			? `held back by the kept state at #${held.seq}, which has ${held.unknown} of a feature that is not here: whoever has it may need that`
			: "kind" in held
				? `held back by #${held.seq}, a record of a kind that is not known here (${held.kind}): whoever knows it may need it`
				: `held back by what is under way (${held.projection}), which needs #${held.seq}`;
