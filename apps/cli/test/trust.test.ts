/** Where this user's secret lies, in no directory that somebody else may have made, and what is asked before anything is trusted. */
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { assertTrusted, secretsDirectory } from "../src/trust.ts";

afterEach(() => {
	vi.unstubAllEnvs();
	vi.restoreAllMocks();
});

test.skipIf(process.platform === "win32").each(["", ".", "relative"])(
	'with HOME "%s" it lies in the home of the account, not where the process works',
	(home) => {
		for (const state of ["", ".state"]) {
			vi.stubEnv("XDG_STATE_HOME", state);
			vi.stubEnv("HOME", home);
			expect(secretsDirectory()).toBe(join(userInfo().homedir, ".local", "state", "reyn"));
		}
	},
);

test("off a terminal nobody is asked, so nothing of the state is hashed, whatever lies in it", async () => {
	const root = mkdtempSync(join(tmpdir(), "reyn-trust-"));
	try {
		vi.stubEnv("XDG_STATE_HOME", join(root, "secrets"));
		const state = join(root, ".reyn");
		mkdirSync(join(state, "state"), { recursive: true, mode: 0o700 });
		const log = join(state, "state", "wal.jsonl");
		writeFileSync(log, "", { mode: 0o600 });
		truncateSync(log, 8 * 1024 ** 3);
		const stdin = vi.spyOn(process, "stdin", "get");
		stdin.mockReturnValue({ isTTY: false } as typeof process.stdin);
		const refused = { code: "CLI_REFUSED", message: expect.stringContaining("in flight in it: nothing") };
		await expect(assertTrusted(state, {}, async () => undefined)).rejects.toMatchObject(refused);
		stdin.mockReturnValue({ isTTY: true } as typeof process.stdin);
		// On one there is more than can be held to what is shown, which is said before it is shown.
		const shown = vi.fn(async () => undefined);
		await expect(assertTrusted(state, {}, shown)).rejects.toMatchObject({
			code: "CLI_REFUSED",
			message: expect.stringContaining("say --trust"),
		});
		expect(shown).not.toHaveBeenCalled();
	} finally {
		rmSync(root, { recursive: true, force: true });
	}
});
