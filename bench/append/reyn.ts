/** Our log, over one of its engines. */
import { type Appended, openWal } from "@reyn/wal";
import { entryPut, records } from "../entries.ts";
import { SCOPE } from "../entry.ts";
import type { Open } from "./store.ts";

type At = Parameters<typeof openWal>[0];

/** @param at what `openWal` opens for a directory: the directory itself, or an engine in it */
export const reynOver =
	(at: (directory: string) => At): Open =>
	async (directory) => {
		const wal = await openWal(at(directory), { records });
		let last: Appended | undefined;
		return {
			append: (entry) => wal.append(entryPut(entry), SCOPE).durable,
			unawaited: {
				append: (entry) => {
					last = wal.append(entryPut(entry), SCOPE);
				},
				ready: () => wal.ready(),
				done: async () => last?.durable,
			},
			close: () => wal.close(),
		};
	};
