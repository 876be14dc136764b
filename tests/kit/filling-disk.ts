/** A disk in memory that fills up when a test says so. */
import type { DiskFile } from "@reyn/wal";
import { MemoryDisk } from "@reyn/wal/testing";

/** Takes no byte while it is full. */
export class FillingDisk extends MemoryDisk {
	isFull = false;

	protected override file(...args: Parameters<MemoryDisk["file"]>): DiskFile {
		const file = super.file(...args);
		return {
			...file,
			write: (bytes, position) => {
				if (this.isFull) throw noSpace();
				return file.write(bytes, position);
			},
		};
	}
}

export const noSpace = (): Error => Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
