/** The calls of a writer, for whichever thread they are made on. */
import type { Disk } from "../disk/disk.ts";
import type { Seq } from "../record/record.ts";
import type { HostSpec } from "./host.ts";
import { LogFile, type OpenedFile } from "./log-file.ts";
import { asWalError, type Doing } from "./messages.ts";
import { activePath } from "./names.ts";

export function callsOn(disk: Disk, { directory, options, fresh, owner }: HostSpec) {
	let file: LogFile | undefined;
	const opened = (): LogFile => file as LogFile;
	const guarded = <T>(doing: Doing, run: () => T): T => {
		try {
			return run();
		} catch (error) {
			throw asWalError(error, doing, activePath(directory));
		}
	};
	return {
		lock: (): string | undefined =>
			guarded("open", () => {
				const locked = LogFile.lock(disk, directory, options, owner);
				try {
					const logId = locked.logId();
					file = locked;
					return logId;
				} catch (error) {
					// Who is refused the lock holds nothing: the thread may be given to another log.
					locked.abandon();
					throw error;
				}
			}),
		recover: (proven: Seq): OpenedFile => guarded("open", () => opened().recover(proven, fresh)),
		append: (text: string, expect: Seq, count: number): Seq =>
			guarded("write", () => opened().append(Buffer.from(text), expect, count)),
		truncateBefore: (seq: Seq): Seq => guarded("truncate", () => opened().truncateBefore(seq)),
		close: (): void => guarded("close", () => opened().close()),
		end: (): void => file?.abandon(),
	};
}
