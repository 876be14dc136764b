/** A log in memory that can be copied as it stood after any of its lines, as if the process had died there. */
import { type BlobStore, type LogEngine, memoryEngine, type Seq } from "@reyn/wal";

export interface CutEngine extends LogEngine {
	/** How many lines it has now. */
	readonly tip: Seq;
	readonly lines: readonly string[];
	/** Another log with its first lines; what lies beside the log is shared. */
	cut(after: Seq): Promise<CutEngine>;
}

/** A log of one realm. @param blobs what lies beside it */
export function cutEngine(blobs?: BlobStore): CutEngine {
	return over(memoryEngine(), { id: "", salt: "", lines: [], opened: [], truncated: [] }, blobs);
}

interface Written {
	readonly id: string;
	readonly salt: string;
	readonly lines: readonly string[];
	/** The tips at which a writer began. */
	readonly opened: readonly Seq[];
	/** The tips at which the lines before a seq were taken away. They stay in `lines`. */
	readonly truncated: readonly { readonly at: Seq; readonly seq: Seq }[];
}

function over(engine: LogEngine, before: Written, blobs = engine.blobs(REALM)): CutEngine {
	let { id, salt } = before;
	const lines = [...before.lines];
	const opened = [...before.opened];
	const truncated = [...before.truncated];
	return {
		...engine,
		blobs: () => blobs,
		get tip() {
			return lines.length;
		},
		lines,
		log: (realm) => {
			const log = engine.log(realm);
			return {
				renew: (lease) => log.renew(lease),
				release: (lease) => log.release(lease),
				tail: () => log.tail(),
				read: (from, through, wants) => log.read(from, through, wants),
				subscribe: (from, options) => log.subscribe(from, options),
				async truncateBefore(lease, seq) {
					const first = await log.truncateBefore(lease, seq);
					truncated.push({ at: lines.length, seq });
					return first;
				},
				acquire: (options) =>
					log.acquire({
						...options,
						opening(at) {
							if (lines.length === 0) ({ log: id, salt } = options.fresh);
							const opening = options.opening(at);
							opened.push(lines.length);
							lines.push(...opening);
							return opening;
						},
					}),
				async append(lease, expect, more) {
					// As on a disk, the program goes on meanwhile.
					await new Promise((resolve) => setImmediate(resolve));
					await log.append(lease, expect, more);
					lines.push(...more);
				},
			};
		},
		async cut(after) {
			const copy = memoryEngine();
			const kept: Written = {
				...{ id, salt, lines: lines.slice(0, after), opened: opened.filter((tip) => tip < after) },
				truncated: truncated.filter(({ at }) => at <= after),
			};
			const log = copy.log(REALM);
			const owner = { pid: 0, host: "", started: "", command: "" };
			const fresh = { log: id, salt, now: 0 };
			// Each writer has raised the epoch.
			for (const [i] of kept.opened.entries()) {
				const opening = (): readonly string[] => (i === 0 ? kept.lines : []);
				const lease = await log.acquire({ owner, nonce: String(i), fresh, proven: async () => 0, opening });
				const { seq } = (i === kept.opened.length - 1 && kept.truncated.at(-1)) || { seq: 0 };
				if (seq > 0) await log.truncateBefore(lease, seq);
				await log.release(lease);
			}
			return over(copy, kept, blobs);
		},
	};
}

const REALM = "main";
