/** Where this user's secret lies: in no directory that somebody else may have made. */
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { secretsDirectory } from "../src/trust.ts";

afterEach(() => vi.unstubAllEnvs());

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
