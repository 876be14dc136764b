/** classic-level with `sync: true`. */
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { type Entry, recordOf } from "../entry.ts";
import { inBatches } from "./batches.ts";
import type { Open } from "./store.ts";

export const openLevel: Open = async (directory, together) => {
	const level = new ClassicLevel(join(directory, "level"));
	await level.open();
	const key = ({ version }: Entry): string => String(version).padStart(12, "0");
	const value = (entry: Entry): string => JSON.stringify(recordOf(entry));
	const one = (entry: Entry): Promise<void> => level.put(key(entry), value(entry), { sync: true });
	const many = (entries: readonly Entry[]): Promise<void> =>
		level.batch(
			entries.map((entry) => ({ type: "put", key: key(entry), value: value(entry) })),
			{ sync: true },
		);
	return { append: together ? inBatches(many) : one, close: () => level.close() };
};
