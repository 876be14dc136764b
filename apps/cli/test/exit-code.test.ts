/** Which exit code a command ends with, by its error. */
import { expect, test } from "vitest";
import { CliError, exitCodeOf } from "../src/exit-code.ts";

test.each([
	["WAL_LOCKED", 4],
	["WAL_CORRUPT", 5],
	["WAL_UNSAFE", 5],
	["PLAN_INVALID", 2],
	["PLAN_LOST", 5],
	["TIMETRAVEL_OUT_OF_RANGE", 3],
	["OPERATOR_BAD_REF", 2],
	["SOMETHING_ELSE", 1],
	[undefined, 1],
])("an error with the code %s ends the process with %i", (code, exitCode) => {
	expect(exitCodeOf(Object.assign(new Error("x"), { code }))).toBe(exitCode);
});

test("an error of the command line itself says by its code how it ends", () => {
	expect([
		exitCodeOf(new CliError("CLI_USAGE", "")),
		exitCodeOf(new CliError("CLI_NOT_FOUND", "")),
		exitCodeOf(new CliError("CLI_REFUSED", "")),
	]).toEqual([2, 3, 4]);
});
