/** The events of configuration files. */
export type ConfigEvent =
	/** A rewind, or the end of a change that was cut, has found a file that no line of history has: it was renamed, and nothing is lost. */
	| { readonly type: "config_kept"; readonly path: string; readonly keptIn: string }
	/** What a file holds cannot be recorded, so it does not come back with this line of history. */
	| { readonly type: "config_unrecorded"; readonly reason: string }
	/** A change is recorded, and its file cannot be written yet: the next change, move or start tries again. */
	| { readonly type: "config_unfinished"; readonly reason: string };
