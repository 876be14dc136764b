/**
 * The process that runs one command. It goes on when the process that began it dies, and records how the command ended, so that whoever
 * comes next finds that. It imports nothing but Node.
 */
import { readFileSync } from "node:fs";
import type { Spec } from "./files.ts";
import { begin } from "./running.ts";

const [, , directory = ""] = process.argv;
// Whoever begins it may die before all is said: then nothing is run.
const spec = JSON.parse(readFileSync(0, "utf8")) as Spec;
let stop = (): void => {};
// Heard before the command begins: else one that comes as it does would end this process, and leave the command to itself.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => stop());
stop = begin(directory, spec, () => process.exit(0));
