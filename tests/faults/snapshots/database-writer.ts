/**
 * The program whose database is killed and cut off: `database-writer.ts <directory> <options as JSON>`. It adds rows, captures,
 * restores and prunes as its script says, and tells what it is about to do and what is done, a line each; `database-ledger.ts`
 * reads them. The seq is that of the row added last.
 */
import crypto from "node:crypto";
import { copyFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { addRow, openDatabase, rowOf, type Schema } from "./database.ts";

type Command = "add" | "capture" | "restore" | "prune";

export interface DatabaseOptions {
	readonly schema: Schema;
	/** The seq before its first row. */
	readonly after: number;
	/** A restore is to the oldest generation, a prune leaves the newest. A capture ends beside the commands that follow it. */
	readonly script: readonly Command[];
	/** The script over and over, until it is killed. */
	readonly forever?: boolean;
	/** Where it stops (SIGSTOP): when it has told this line so often. */
	readonly stop?: { readonly line: string; readonly times: number };
}

const [directory = "", text = ""] = process.argv.slice(2);
const { schema, after, script, forever, stop } = JSON.parse(text) as DatabaseOptions;
let seq = after;
let times = 0;
let captured: Promise<void> = Promise.resolve();

// strace wants every name: the temporary file of a seal has the same each time.
crypto.randomBytes = ((size: number) => Buffer.alloc(size)) as typeof crypto.randomBytes;
syncBuiltinESMExports();

const generations = openDatabase(directory, schema, (step) => {
	// The trap: what lay beside the database before it was let go of is there again.
	if (step === "restore copied") copyBeside("", ".kept");
	if (step === "restore detached") copyBeside(".kept", "");
	tell(`at ${step}`);
});
// From here on the `-wal` has some of the pages only: laid over another database it makes a mix.
generations.database.pragma("wal_checkpoint(TRUNCATE)");
tell("opened");
do {
	for (const command of script) {
		await obey(command);
		await nextTurn();
	}
} while (forever);
await captured;
generations.close();

async function obey(command: Command): Promise<void> {
	switch (command) {
		case "add": {
			const row = rowOf(++seq, schema);
			tell(`adding ${row}`);
			addRow(generations.database, seq, schema);
			return tell(`added ${row}`);
		}
		case "capture": {
			await captured;
			const at = seq;
			tell(`capturing ${at}`);
			captured = generations.capture(at).then(() => tell(`captured ${at}`));
			return;
		}
		case "restore": {
			const oldest = generations.list().at(-1) ?? 0;
			tell(`restoring ${oldest}`);
			await generations.restoreToSeq(oldest, () => true);
			return tell(`restored ${oldest}`);
		}
		case "prune": {
			const [newest] = generations.list();
			const keep = (at: number): boolean => at === newest;
			const gone = generations.prune(keep, { dryRun: true });
			tell(`pruning ${gone}`);
			generations.prune(keep);
			return tell(`pruned ${gone}`);
		}
	}
}

function copyBeside(from: string, to: string): void {
	for (const end of ["-wal", "-shm"]) {
		const path = join(directory, `app.db${end}`);
		copyFileSync(path + from, path + to);
	}
}

function tell(line: string): void {
	process.stdout.write(`${line}\n`);
	if (stop?.line === line.replace(/ [\d,]+$/, "") && ++times === stop.times) process.kill(process.pid, "SIGSTOP");
}
