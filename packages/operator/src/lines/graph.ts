/** The history as a tree, newest first, with a gutter as in `git log --graph`. Pure: rows in, lines out. */
export interface GraphRow {
	readonly seq: number;
	/** The branch that holds it. */
	readonly branch: number;
	readonly mark: string;
	readonly text: string;
}

export interface GraphBranch {
	readonly id: number;
	readonly parent: number | undefined;
	readonly forkedAt: number;
}

export function drawGraph(rows: readonly GraphRow[], branches: readonly GraphBranch[]): string[] {
	const byId = new Map(branches.map((branch) => [branch.id, branch]));
	const lanes: (number | undefined)[] = [];
	const lines: string[] = [];
	for (const row of [...rows].sort((a, b) => b.seq - a.seq)) {
		lines.push(...land(lanes, byId, row.seq));
		let lane = lanes.indexOf(row.branch);
		if (lane === -1) {
			lane = firstFree(lanes);
			lanes[lane] = row.branch;
		}
		lines.push(`${gutter(lanes, (i) => (i === lane ? row.mark : undefined))}  ${row.text}`);
	}
	return lines;
}

/** Ends the branches that forked off at or above `seq`: each runs into its parent, or goes on as it where that has no lane yet. */
function land(lanes: (number | undefined)[], branches: ReadonlyMap<number, GraphBranch>, seq: number): string[] {
	const lines: string[] = [];
	for (;;) {
		const landing = lanes.findIndex((id) => id !== undefined && id !== 0 && (branches.get(id)?.forkedAt ?? 0) >= seq);
		if (landing === -1) break;
		const parent = branches.get(lanes[landing] as number)?.parent ?? 0;
		const into = lanes.indexOf(parent);
		if (into === -1) {
			lanes[landing] = parent;
			continue;
		}
		const [from, to] = [Math.min(into, landing), Math.max(into, landing)];
		lines.push(
			lanes
				.map((id, i) => (i === from ? "├" : i === to ? "╯" : i > from && i < to ? "─" : id === undefined ? " " : "│"))
				.map((c, i) => c + (i >= from && i < to ? "─" : " "))
				.join("")
				.trimEnd(),
		);
		// The parent stays on the left, so that the tree leans one way.
		lanes[from] = parent;
		lanes[to] = undefined;
	}
	return lines;
}

function firstFree(lanes: readonly (number | undefined)[]): number {
	const free = lanes.indexOf(undefined);
	return free === -1 ? lanes.length : free;
}

function gutter(lanes: readonly (number | undefined)[], mark: (lane: number) => string | undefined): string {
	return lanes
		.map((id, i) => `${mark(i) ?? (id === undefined ? " " : "│")} `)
		.join("")
		.trimEnd();
}
