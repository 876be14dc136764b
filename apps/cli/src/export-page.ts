/** `reyn export`: a copy of the page as one file, which shows what a history was without a server. */
import { resolve } from "node:path";
import { layoutOf, type SessionScope } from "@reyn/runtime";
import { copyPage } from "@reyn/ui";
import { type Globals, openForReading, stateOf } from "./context.ts";
import { writeNew } from "./new-file.ts";
import { err, out } from "./print.ts";

export interface ExportOptions {
	readonly session: SessionScope;
	/** How many moments, the newest. */
	readonly n?: number;
}

/** @throws CliError `CLI_REFUSED` where there is such a file, `CLI_USAGE` where none can be */
export async function exportPage(globals: Globals, file: string, { session, n }: ExportOptions): Promise<void> {
	const path = resolve(globals.cwd, file);
	const log = layoutOf(stateOf(globals)).wal;
	let told = 0;
	const onProgress = (done: number, all: number): void => {
		// A line for each hundred: there may be thousands.
		if (Math.floor(done / 100) === told && (done < all || all < 100)) return;
		told = Math.floor(done / 100);
		err.line(`${done} of ${all} moments`);
	};
	const open = () => openForReading(globals);
	const text = await copyPage({ name: resolve(globals.cwd), session, log, open }, { moments: n, onProgress });
	await writeNew(path, text);
	if (globals.json) out.json({ file: path, bytes: Buffer.byteLength(text) });
	else
		out.line(
			`${path}: ${Math.ceil(Buffer.byteLength(text) / 1024)} KiB, for any browser; whoever has it can read all that is in it`,
		);
}
