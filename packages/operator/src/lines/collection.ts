/** What `gc` takes away, or would, as lines for people. */
import type { Collection } from "@reyn/runtime";
import { oneLine } from "../text.ts";

export interface Kept {
	readonly keepDays: number;
	readonly keepCheckpoints: number;
}

type Went = "would go" | "went";

export function collectionLines(
	{ retainedFrom, was, first, heldBy, labels, snapshots, chunks, artifacts }: Collection,
	{ keepDays, keepCheckpoints }: Kept,
	went: Went,
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

function heldText(held: NonNullable<Collection["heldBy"]>): string {
	if ("unknown" in held)
		return `held back by the kept state at #${held.seq}, which has ${held.unknown} of a feature that is not here: whoever has it may need that`;
	if ("kind" in held)
		return `held back by #${held.seq}, a record of a kind that is not known here (${oneLine(held.kind, 40)}): whoever knows it may need it`;
	if (held.label === undefined) return `held back by what is under way (${held.projection}), which needs #${held.seq}`;
	return `held back by the label ${oneLine(held.label, 64)}: what is under way at it (${held.projection}) needs #${held.seq} on, and whoever goes back there goes on with it`;
}
