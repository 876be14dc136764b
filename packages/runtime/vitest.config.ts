/** The tests of runtime, over files; `REYN_STORE=sqlite` runs them over a database, but for those of a directory. */
import { defineConfig } from "vitest/config";
import { isDeep } from "../../tests/sample.ts";
import base from "../../vitest.base.ts";

/** Files of tests that are not run over a database, and why. Tests that are not, in a file that is, say so themselves (`filesTest`). */
const ofFiles = {
	"former-files": "what older versions wrote in a directory",
	"full-disk": "a disk that fills up under the log in files",
	planted: "what lies in a directory",
	secrets: "every byte of every file is looked at",
	"stored-states": "a directory that came from elsewhere",
	trust: "whose a directory is",
};

const overSqlite = process.env.REYN_STORE === "sqlite";
if (overSqlite)
	for (const [name, why] of Object.entries(ofFiles)) console.log(`not over sqlite: ${name}.test (${why})`);

export default defineConfig({
	...base,
	test: {
		...base.test,
		setupFiles: isDeep ? [] : ["test/in-thread.ts"],
		exclude: [
			...(base.test?.exclude ?? []),
			...(overSqlite ? Object.keys(ofFiles).map((name) => `test/${name}.test.ts`) : []),
		],
	},
});
