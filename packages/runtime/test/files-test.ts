/** Tests of what a state in files alone has, or that look at files to see something: over another store they are skipped, and say why. */
import { test } from "vitest";
import { overSqlite } from "./project.ts";

export function filesTest(why: string): typeof test {
	if (overSqlite) console.log(`not over sqlite: ${why}`);
	return overSqlite ? (test.skip as typeof test) : test;
}
