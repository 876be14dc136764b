/** Looks up an entry of a state by id. Ids come from models and people, so inherited names such as `constructor` must not be found. */
export const entryAt = <V>(state: Readonly<Record<string, V>>, id: string): V | undefined =>
	Object.hasOwn(state, id) ? state[id] : undefined;
