/** What is on the prototypes that hostile names could reach: the same before and after. */
export const prototypes = (): string[] =>
	[Object, Array, Function, Map, String].flatMap(({ name, prototype }) =>
		Reflect.ownKeys(prototype).map((key) => `${name}.${String(key)}`),
	);
