/** Runs turbo so that it tells nobody: it would send what is built, and ask whether there is a newer one. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const turbo = fileURLToPath(import.meta.resolve("turbo/bin/turbo"));
const { status, error } = spawnSync(process.execPath, [turbo, ...process.argv.slice(2)], {
	stdio: "inherit",
	env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", TURBO_NO_UPDATE_NOTIFIER: "1" },
});
if (error) throw error;
process.exitCode = status ?? 1;
