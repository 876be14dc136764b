/** What is measured, and on whom. */
import { type Awaited, awaited } from "./awaited.ts";
import { type Paced, paced } from "./paced.ts";
import type { Store } from "./store.ts";
import { type UnawaitedAppends, unawaited } from "./unawaited.ts";

export interface Figures {
	readonly one: Awaited;
	readonly "64": Awaited;
	readonly "256": Awaited;
	readonly unawaited: UnawaitedAppends | undefined;
	readonly paced: Paced;
}

export type Workload = keyof Figures;

export const workloads: { readonly [W in Workload]: (store: Store, ms: number) => Promise<Figures[W]> } = {
	one: (store, ms) => awaited(store, 1, ms),
	"64": (store, ms) => awaited(store, 64, ms),
	"256": (store, ms) => awaited(store, 256, ms),
	unawaited: async (store, ms) => store.unawaited && unawaited(store.unawaited, ms),
	paced: (store, ms) => paced(store, ms),
};
