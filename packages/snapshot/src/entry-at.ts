/** An entry of a state by its id; never what an object inherits, such as `constructor`: ids come from models and from people. */
export const entryAt = <V>(state: Readonly<Record<string, V>>, id: string): V | undefined =>
	Object.hasOwn(state, id) ? state[id] : undefined;
