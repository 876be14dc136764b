/** What a fault is: something that is broken on purpose, and what must still hold then. */

export interface Settings {
	/** How many rounds; undefined leaves it to the fault. */
	readonly rounds: number | undefined;
	/** Of `in-doubt`: how many crashes on a simulated disk, and how many real kills. */
	readonly points?: number | undefined;
	readonly kills?: number | undefined;
	/** Of `defects`: those alone that have this text in their name or in their tests. */
	readonly only?: string | undefined;
	readonly seed: number;
	/** A sample of it, in seconds: for every change. The whole of it is for releases. */
	readonly short: boolean;
	/** A sample of that: for the fast run. */
	readonly brief?: boolean;
}

/** What was counted, in the order in which it is printed. */
export type Figures = Readonly<Record<string, string | number>>;

export interface Fault {
	readonly name: string;
	/** What is broken. */
	readonly title: string;
	/** What must hold then. */
	readonly promise: string;
	/** Its rows of the matrix in docs/faults.md, which is made from these. */
	readonly rows: readonly Row[];
	/** Does it mount, or take another user's place? Such a fault runs only when it is asked for. */
	readonly privileged?: boolean;
	/** Why it cannot run here; undefined when it can. */
	needs(): string | undefined;
	/** Throws when what must hold does not. */
	run(settings: Settings): Promise<Figures>;
}

/** One line of the matrix, each cell in Markdown. */
export interface Row {
	/** Its number there; several faults may be about one. */
	readonly row: number;
	/** What is broken. */
	readonly title: string;
	/** How it is injected. */
	readonly how: string;
	/** What must hold then. */
	readonly promise: string;
	/** What a run of the whole has shown: its figures, by hand. A short run shows less. */
	readonly seen: string;
	/** Where it is not the fault's name alone. */
	readonly command?: string;
}

/** The numbers of its rows, each once. */
export const numbersOf = ({ rows }: Fault): readonly number[] => [...new Set(rows.map(({ row }) => row))];

/** One of several things that a fault tries. */
export interface Case {
	readonly name: string;
	readonly privileged?: boolean;
	/** Which of the bugs in docs/faults.md makes it fail today. When it passes, the bug is mended: take this line away. */
	readonly bug?: string;
	needs?(): string | undefined;
	/** What was seen, in a few words. */
	run(settings: Settings): Promise<string>;
}

/** In brief, every so-many-th. */
const BRIEF_CASES = 4;

/** All cases, in brief some by the seed, those that cannot run here counted with the reason. Every failure is gathered: one must not hide the next. */
export async function runCases(cases: readonly Case[], settings: Settings): Promise<Figures> {
	const figures: Record<string, string> = {};
	const skipped: string[] = [];
	const failed: string[] = [];
	const { brief, seed } = settings;
	const chosen = brief ? cases.filter((_, i) => i % BRIEF_CASES === seed % Math.min(BRIEF_CASES, cases.length)) : cases;
	for (const { name, privileged, bug, needs, run } of chosen) {
		const why = settings.short && privileged && !isAsked() ? "privileged: only when asked for" : needs?.();
		if (why !== undefined) {
			skipped.push(`${name}: ${why}`);
			continue;
		}
		try {
			figures[name] = await run(settings);
			if (bug !== undefined) failed.push(`${name}: bug ${bug} is not seen any more; take it off`);
		} catch (error) {
			const why = (error instanceof Error ? error.message : String(error)).trim();
			figures[name] = bug === undefined ? "FAILED" : `open bug ${bug}: ${why.split("\n")[0]}`;
			if (bug === undefined) failed.push(`${name}: ${why}`);
		}
	}
	if (skipped.length > 0) figures.skipped = `${skipped.length} (${skipped.join("; ")})`;
	if (failed.length > 0)
		throw new FaultError(`${failed.length} of ${chosen.length} failed\n${failed.join("\n")}`, figures);
	return figures;
}

/** What was counted up to the failure. */
export class FaultError extends Error {
	readonly figures: Figures;

	constructor(message: string, figures: Figures) {
		super(message);
		this.figures = figures;
	}
}

/** Under a test runner nothing is mounted. */
const isAsked = (): boolean => process.env.VITEST === undefined;
