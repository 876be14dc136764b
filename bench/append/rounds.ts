/** One round: every contender at every workload, each beside a raw loop of that moment. */
import type { Rival } from "../rival.ts";
import type { Awaited } from "./awaited.ts";
import type { Order } from "./contend.ts";
import { RAW } from "./contenders.ts";
import type { Figures, Workload } from "./workloads.ts";

export interface Measured<W extends Workload> {
	readonly raw: Awaited;
	/** By the name of the contender. */
	readonly found: ReadonlyMap<string, NonNullable<Figures[W]>>;
}

export type Round = { readonly [W in Workload]: Measured<W> };

export async function runRound(rivals: readonly Rival[], index: number, ms: number): Promise<Round> {
	const one = await measure(rivals, "one", index, ms);
	return {
		one: { ...one, found: new Map([[RAW, one.raw], ...one.found]) },
		"64": await measure(rivals, "64", index, ms),
		"256": await measure(rivals, "256", index, ms),
		unawaited: await measure(rivals, "unawaited", index, ms),
		paced: await measure(rivals, "paced", index, ms),
	};
}

async function measure<W extends Workload>(
	rivals: readonly Rival[],
	workload: W,
	index: number,
	ms: number,
): Promise<Measured<W>> {
	const [rawRival, ...others] = rivals as readonly [Rival, ...Rival[]];
	const raw = await measured(rawRival, "one", ms);
	const found = new Map<string, NonNullable<Figures[W]>>();
	// Another order in each round: what one leaves behind is not always met by the same.
	const turn = index % others.length;
	for (const rival of [...others.slice(turn), ...others.slice(0, turn), ...(workload === "paced" ? [rawRival] : [])]) {
		const figures = await measured(rival, workload, ms);
		if (figures) found.set(rival.name, figures);
	}
	return { raw, found };
}

async function measured<W extends Workload>(rival: Rival, workload: W, ms: number): Promise<Figures[W]> {
	return (await rival.ask<{ figures: Figures[W] }>({ workload, ms } satisfies Order)).figures;
}

/** The figure of a contender in each round, in order; none for one that was not measured. */
export function figuresOf<W extends Workload>(
	rounds: readonly Round[],
	workload: W,
	name: string,
	figure: (its: NonNullable<Figures[W]>, measured: Measured<W>) => number | undefined,
): readonly number[] {
	return rounds.flatMap((round) => {
		const measured: Measured<W> = round[workload];
		const its = measured.found.get(name);
		return (its && figure(its, measured)) ?? [];
	});
}
