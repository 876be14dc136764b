/** Knows in which branch of a script each call stands: a tree of lanes, each with the chain of its calls. */
import type { Scope } from "@reyn/wal";
import { Line } from "../key.ts";
import { Lane } from "../lane.ts";
import type { Using } from "../step.ts";
import { Draws } from "./draws.ts";
import { scriptLane } from "./records.ts";
import { standing } from "./standing.ts";

/** One line of calls: the script's own, or one of a `parallel`, a `pipeline` or a `phase`. */
export class Branch {
	readonly lane: Lane;
	readonly draws: Draws;
	readonly #line: Line;
	readonly #tree: Tree;
	/** The forks that began in this branch and are not part of its chain yet, in order. */
	#forks: Fork[] = [];
	readonly #visits = new Map<string, number>();

	constructor(path: string, line: Line, tree: Tree) {
		this.#line = line;
		this.#tree = tree;
		this.lane = new Lane(path, tree.scope, tree.using, line);
		this.draws = new Draws(`${tree.seed}\n${path}`);
	}

	/** Adds ended forks to the chain. Call it before each call, which may rest on them. */
	joinEnded(): void {
		while (this.#forks[0]?.isOver) {
			const { branches } = this.#forks.shift() as Fork;
			for (const branch of branches) branch.joinEnded();
			this.#line.join(branches.map((branch) => branch.#line));
		}
	}

	fork(kind: string, name: string, branches: number): Fork {
		this.joinEnded();
		const { using } = this.#tree;
		const what = name === "" ? kind : `${kind}.${encodeURIComponent(using.redact?.(name) ?? name)}`;
		const visit = this.#visits.get(what) ?? 0;
		this.#visits.set(what, visit + 1);
		// Forks that begin without a call in between share the chain at that point.
		const beside = this.#forks.length;
		const fork: Fork = {
			isOver: false,
			branches: Array.from({ length: branches }, (_, i) => {
				const path = `${this.lane.path}/${what}/${visit}`;
				// A phase has one branch only, and its visits follow one another.
				return kind === "phase"
					? new Branch(path, this.#line.branch(`${what}/${visit}`), this.#tree)
					: new Branch(`${path}/${i}`, this.#line.branch(what, beside, i), this.#tree);
			}),
		};
		this.#forks.push(fork);
		return fork;
	}
}

export interface Fork {
	isOver: boolean;
	readonly branches: readonly Branch[];
}

interface Tree {
	readonly scope: Scope;
	readonly using: Using;
	readonly seed: string;
}

/** Finds the branch that the asking code runs in. */
export class Branches {
	readonly #root: Branch;
	readonly #forks: Fork[] = [];

	constructor(run: string, scope: Scope, using: Using) {
		const line = new Line("", "", using.redact && ((text) => using.redact?.(text) ?? text));
		this.#root = new Branch(scriptLane(run), line, { scope, using, seed: run });
	}

	get current(): Branch {
		for (let at = here(); at; at = at.outside) if (at.of === this) return at.branch;
		return this.#root;
	}

	fork(kind: string, name: string, branches: number): number {
		return this.#forks.push(this.current.fork(kind, name, branches)) - 1;
	}

	enter<T>(fork: number, branch: number, body: () => T): T {
		let outside = here();
		if (outside?.of === this) outside = outside.outside;
		const place = Symbol();
		places.set(place, { of: this, branch: this.#forks[fork]?.branches[branch] ?? this.#root, outside });
		return standing.run(place, body);
	}

	join(fork: number): void {
		(this.#forks[fork] as Fork).isOver = true;
	}
}

interface Standing {
	/** The run of this branch. */
	readonly of: Branches;
	readonly branch: Branch;
	/** The position of an outer run, when this run was started inside one of its calls. */
	readonly outside: Standing | undefined;
}

const places = new WeakMap<symbol, Standing>();

function here(): Standing | undefined {
	const place = standing.getStore();
	return place && places.get(place);
}

/** Is a lane inside a call? Then its steps are parts of that call, not calls of the script. */
export const isInner = (lane: string): boolean => /\/[0-9a-f]{16}:\d+(\/|$)/.test(lane);
