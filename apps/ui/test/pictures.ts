/** Takes the pictures of docs/page.md from a page as it runs: `node --conditions=@reyn/source apps/ui/test/pictures.ts`, with the Node that the repository pins. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileTools } from "@reyn/tools";
import type { Page } from "playwright-core";
import { serve } from "../src/server/index.ts";
import { openBrowser } from "./browser.ts";
import { askIn, beginsBy, openHouse } from "./served.ts";

const pictures = join(import.meta.dirname, "../../../docs/pictures");
const files = await mkdtemp(join(tmpdir(), "reyn-pictures-"));
await writeFile(
	join(files, "keeper.md"),
	"# The keeper\n\nThe keeper of the lighthouse is Ada. She trims the wick at dusk.\n",
);
await writeFile(join(files, "harbour.md"), "# The harbour\n\nThe harbour is closed when the lamp is out.\n");
await writeFile(join(files, "storm.md"), "# The storm\n\nIn the storm of March the lamp was out for a night.\n");

const house = await openHouse({ name: "~/lighthouse" }, { tools: createFileTools(files) });
const { writer } = house;
const browser = await openBrowser();
try {
	for (const question of [
		"Who is the keeper of the lighthouse?",
		"How do the keeper and the harbour belong together? Compare them in detail.",
	]) {
		await writer.prompt(question);
		await writer.idle();
	}
	const before = writer.wal.tip;
	await writer.timeline.label(before, "before-the-storm");
	await writer.prompt("What happened in the storm?");
	await writer.idle();
	await writer.checkout(before, "user");
	await writer.prompt("When does the keeper trim the wick?");
	await writer.idle();
	await askIn(writer, ["Which report is to be written?", "the long one", "Who is to read it?"]);
	await writer.idle();

	const served = await serve({ ...house.subject, ...beginsBy(writer) });
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
	const page = await context.newPage();
	await page.goto(served.address);
	await page.locator('[role="treeitem"]').first().waitFor();
	await mkdir(pictures, { recursive: true });

	await settled(page);
	await page.screenshot({ path: join(pictures, "page.png") });

	// The line that was left, a moment of it, and what going there would do.
	await page
		.getByText(/left behind/)
		.first()
		.click();
	await page.getByText("What happened in the storm?").first().click();
	await settled(page);
	await page.screenshot({ path: join(pictures, "left.png") });

	await page.locator("#tree").focus();
	await page.keyboard.press("r");
	await page.getByRole("dialog").waitFor();
	await settled(page);
	await page.screenshot({ path: join(pictures, "confirm.png") });
	await page.keyboard.press("Escape");
	await context.close();
	await served.close();
} finally {
	await browser.close();
	await house[Symbol.asyncDispose]();
	await rm(files, { recursive: true });
}

/** What is read is there, and stays so. */
async function settled(page: Page): Promise<void> {
	do await new Promise((resolve) => setTimeout(resolve, 700));
	while ((await page.getByText("reading …").count()) > 0);
}
