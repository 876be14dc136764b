/** Runs the tests over what was just built: with a sample of what is long, or with `deep` the whole of that, and nothing else. What follows goes to vitest. */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const given = process.argv.slice(2);
const isDeep = given[0] === "deep";
const vitest = join(dirname(fileURLToPath(import.meta.resolve("vitest/package.json"))), "vitest.mjs");
const { status, error } = spawnSync(process.execPath, [vitest, "run", ...given.slice(isDeep ? 1 : 0)], {
	stdio: "inherit",
	env: { ...process.env, REYN_BUILT: "1", ...(isDeep ? { REYN_DEEP: "only" } : {}) },
});
if (error) throw error;
process.exitCode = status ?? 1;
