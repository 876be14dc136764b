/** A state as older versions left it: what script runs and plans are made of lay in files that had the names of both. */
import { mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { planRuns, plansOf } from "@reyn/plan";
import type { Runtime } from "../src/index.ts";

/** Where a blob lies, and where older versions had it; both below the state directory. */
export interface Moved {
	readonly from: string;
	readonly to: string;
}

export function formerPlaces(runtime: Runtime): readonly Moved[] {
	const scripts = runtime.scripts
		.list()
		.flatMap(({ run, script, args, result }) => [
			{ from: fileOf("scripts", script), to: `runs/${run}/script-${script.slice(0, 16)}.ts` },
			{ from: fileOf("scripts", args), to: `runs/${run}/args-${args.slice(0, 16)}.json` },
			...(result === undefined
				? []
				: [{ from: fileOf("scripts", result), to: `runs/${run}/result-${result.slice(0, 16)}.json` }]),
		]);
	const plans = runtime.sessions().flatMap((scope) =>
		plansOf(runtime.view(scope).get(planRuns)).map(([plan, { decomposition }]) => ({
			from: fileOf("plans", decomposition),
			to: `agents/${scope.agent}/state/plans/${plan}/decomposition.json`,
		})),
	);
	return [...scripts, ...plans];
}

export async function moveAll(state: string, moved: readonly Moved[]): Promise<void> {
	for (const { from, to } of moved) {
		await mkdir(dirname(join(state, to)), { recursive: true, mode: 0o700 });
		await rename(join(state, from), join(state, to));
	}
}

const fileOf = (area: string, sha256: string): string => `state/${area}/${sha256.slice(0, 2)}/${sha256}.blob`;
