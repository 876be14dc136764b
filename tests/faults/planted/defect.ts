/** A mistake that somebody could make, and the tests that have to notice it. */
export interface Defect {
	readonly name: string;
	/** Whose source: the name of a folder in packages/ or apps/. Default: `wal`. */
	readonly package?: string;
	/** In its src. */
	readonly file: string;
	/** Stands there once. */
	readonly from: string;
	readonly to: string;
	/** Tried in order until one goes red: `<package> <file of its tests>`, as far as the fast run goes, or `faults <name>`. */
	readonly tests: readonly string[];
}

/** The folder of a package or an app, from the root. */
export const folderOf = (name = "wal"): string => `${["cli", "ui"].includes(name) ? "apps" : "packages"}/${name}`;
