/** Lines of history: which moments led to now, and where the others were left behind. Pure. */
import type { Branch, Entry } from "./shapes.ts";

export interface Lines {
	/** The name of the line that a moment lies on. */
	of(seq: number): string;
	/** Does it lie on the way to now? */
	leadsToNow(seq: number): boolean;
	/** The line that a moment was left behind with; undefined: it is shown on the way to now. */
	foldOf(entry: Entry): string | undefined;
	/** Where a fold hangs: at a moment, inside of another fold or on the way to now. */
	forkOf(name: string): { readonly at: number; readonly within: string | undefined };
}

export function linesOf(branches: readonly Branch[]): Lines {
	const named = new Map(branches.map((branch) => [branch.name, branch]));
	/** Of each line on the way to now: its last seq there. */
	const ends = new Map<string, number>();
	let end = Number.POSITIVE_INFINITY;
	for (let line = branches.find(({ active }) => active); line && !ends.has(line.name); ) {
		ends.set(line.name, end);
		end = line.forkedAt;
		line = line.parent === undefined ? undefined : named.get(line.parent);
	}
	const of = (seq: number): string => branches.findLast(({ id }) => id <= seq)?.name ?? "main";
	const leadsToNow = (seq: number): boolean => seq <= (ends.get(of(seq)) ?? -1);
	return {
		of,
		leadsToNow,
		// What only a session left behind lies on the way to now all the same.
		foldOf: ({ seq, branch, active }) => (active || seq <= (ends.get(branch) ?? -1) ? undefined : branch),
		forkOf(name) {
			const end = ends.get(name);
			if (end !== undefined) return { at: end, within: undefined };
			const { forkedAt = 0, parent } = named.get(name) ?? {};
			if (parent === undefined || forkedAt <= (ends.get(parent) ?? -1)) return { at: forkedAt, within: undefined };
			return { at: forkedAt, within: parent };
		},
	};
}
