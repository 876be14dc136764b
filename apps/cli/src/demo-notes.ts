/** What `reyn demo` asks about where there is nothing to ask about: three notes, in a directory of their own. */
import { mkdtemp, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isBare } from "./context.ts";

const notes: Readonly<Record<string, string>> = {
	"lighthouse.md":
		"# The lighthouse\n\nThe lighthouse keeper is called Ada Brandt. The lamp of the lighthouse is lit an hour before the ferry leaves.\nIn fog the keeper rings the bell for the ferry, and writes it into the logbook.\n",
	"ferry.md":
		"# The ferry\n\nThe ferry leaves the harbour at six, and never in fog without the bell of the lighthouse.\nA test of the engine of the ferry is made each morning, and noted in the logbook.\n",
	"harbour.md":
		"# The harbour\n\nThe harbour has room for the ferry and nine boats. The logbook of the harbour lies beside the bell.\nWho moves the ferry asks the keeper of the lighthouse first.\n",
};

/** The directory itself where it has files, or cannot be read; else one with the notes. */
export async function placeToAsk(cwd: string): Promise<string> {
	const names = await readdir(cwd).catch(() => undefined);
	if (names === undefined || !isBare(names)) return cwd;
	const place = await mkdtemp(join(tmpdir(), "reyn-notes-"));
	for (const [name, text] of Object.entries(notes)) await writeFile(join(place, name), text);
	return place;
}
