/** A page of names, for engines that know them all. */

/** How many names of realms an engine gives at once. */
export const REALMS_AT_ONCE = 1000;

/** The names behind `after`, in order. */
export const realmPage = (names: readonly string[], after = ""): readonly string[] =>
	names
		.filter((name) => name > after)
		.sort()
		.slice(0, REALMS_AT_ONCE);
