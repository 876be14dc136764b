/** The picture of the demo, which `demo.test.ts` runs, is that of the demo as it is. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { drawn, picture, recordDemo, said } from "../../tools/picture.ts";
import { reyn } from "../cli.ts";

test("its picture says what it says", async () => {
	const recorded = said(drawn(await recordDemo(reyn)));
	expect(said(await readFile(picture, "utf8")), "run: npx -y pnpm@12.21.0 exec node tools/picture.ts").toBe(recorded);
});
