/** What the tools of a command may look at. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openForWork } from "../src/context.ts";

test("the tools of a command see neither its state, whatever that is called, nor what reyn keeps for its user", async () => {
	const cwd = await mkdtemp(join(tmpdir(), "reyn-context-"));
	vi.stubEnv("XDG_STATE_HOME", join(cwd, "home"));
	try {
		await mkdir(join(cwd, "home", "reyn"), { recursive: true });
		await writeFile(join(cwd, "home", "reyn", "kept.txt"), "the xylophone is kept here\n");
		await writeFile(join(cwd, "notes.md"), "The xylophone is made of wood.\n");
		// The state ignores itself: an empty file stays as it is, and nothing but the tools hides the state.
		await mkdir(join(cwd, "history"));
		await writeFile(join(cwd, "history", ".gitignore"), "");
		await using runtime = await openForWork({ cwd, state: join(cwd, "history"), pace: 0 });
		await runtime.prompt("What is a xylophone?");
		await runtime.idle();
		await runtime.prompt("Where is the xylophone kept?");
		await runtime.idle();
		const said = JSON.stringify(runtime.conversation());
		expect(said).toContain("1 file searched");
		expect(said).not.toContain("files searched");
	} finally {
		vi.unstubAllEnvs();
		await rm(cwd, { recursive: true });
	}
});
