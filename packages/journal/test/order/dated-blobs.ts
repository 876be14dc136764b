/** What lies beside a log in memory, as it lay there when the log was shorter: what a process stored after it died is gone. */
import type { BlobStore, Seq } from "@reyn/wal";

export interface DatedBlobs extends BlobStore {
	/** The process died when the log had come to this seq. */
	cut(after: Seq): void;
}

/** @param tip of the log, at any moment */
export function datedBlobs(tip: () => Seq): DatedBlobs {
	const versions = new Map<string, { readonly at: Seq; readonly bytes: Uint8Array | undefined }[]>();
	const now = (name: string): Uint8Array | undefined => versions.get(name)?.at(-1)?.bytes;
	const put = (name: string, bytes: Uint8Array | undefined): void =>
		void versions.set(name, [...(versions.get(name) ?? []), { at: tip(), bytes }]);
	return {
		put: async (name, bytes) => put(name, Uint8Array.from(bytes)),
		get: async (name) => now(name),
		list: async (prefix) => [...versions.keys()].filter((name) => name.startsWith(prefix) && now(name)).sort(),
		delete: async (name) => put(name, undefined),
		cut(after) {
			for (const [name, all] of versions)
				versions.set(
					name,
					all.filter(({ at }) => at <= after),
				);
		},
	};
}
