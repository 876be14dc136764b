/** Going somewhere with files, on the page: what becomes of each is seen before, and what somebody else changed stays unless it is said. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RuntimeOptions } from "@reyn/runtime";
import { createFileTools, createWorkFiles } from "@reyn/tools";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deepTest } from "../../../tests/deep-test.ts";
import { isDeep } from "../../../tests/sample.ts";
import { openBrowser } from "./browser.ts";
import { type House, openHouse } from "./served.ts";
import { type Shown, show, violationsIn } from "./shown.ts";

let browser: Browser;
beforeAll(async () => {
	browser = await openBrowser();
});
afterAll(async () => {
	await browser?.close();
});

interface Writing extends House {
	/** Has a tool called: `write`, or `edit`. */
	call(name: string, args: object): Promise<void>;
	/** What a file holds; undefined: there is none. */
	held(path: string): Promise<string | undefined>;
	readonly work: string;
}

/** A house whose model calls what it is told to. */
async function openWriting(): Promise<Writing> {
	const work = await mkdtemp(join(tmpdir(), "reyn-ui-work-"));
	await mkdir(work, { recursive: true });
	const model: NonNullable<RuntimeOptions["model"]> = {
		id: "writing",
		async *generate({ messages }) {
			const last = messages.at(-1);
			if (last?.role === "user") yield { type: "toolCall", call: { id: "1", ...JSON.parse(last.text) } };
			else yield { type: "text", text: "written" };
			yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
		},
	};
	const own = { model, tools: createFileTools(work, { writes: true }), files: createWorkFiles(work) };
	const house = await openHouse({}, own);
	return {
		...house,
		work,
		async call(name, args) {
			await house.writer.prompt(JSON.stringify({ name, args }));
			await house.writer.idle();
		},
		held: (path) => readFile(join(work, path), "utf8").catch(() => undefined),
		async [Symbol.asyncDispose]() {
			await house[Symbol.asyncDispose]();
			await rm(work, { recursive: true });
		},
	};
}

/** Selects the oldest moment that is listed, but for the beginning. */
async function selectFirst({ page }: Shown): Promise<void> {
	await page.locator("#tree").focus();
	await page.keyboard.press("End");
	await page.keyboard.press("k");
	await expect.poll(() => page.url()).toMatch(/#\/m\/[1-9]\d*$/);
}

const hostile = "<img src=x onerror=hit()>.md";

test("files stay unless it is said; those of somebody else stay unless that is said too; undo and redo follow", async () => {
	await using house = await openWriting();
	const { writer, work, held } = house;
	await house.call("write", { path: "first.md", text: "first" });
	await house.call("edit", { path: "first.md", old: "first", new: "second" });
	await house.call("write", { path: hostile, text: "new" });
	await house.call("write", { path: "shared.md", text: "ours" });
	await writeFile(join(work, "shared.md"), "theirs");
	await using shown = await show(browser, house);
	const { page, wrong } = shown;
	await selectFirst(shown);
	await page.getByText("files in your workspace are not touched").waitFor();
	await page.keyboard.press("r");
	const dialog = page.getByRole("dialog");
	const files = dialog.getByLabel("Files that tools have changed go back too");
	await files.waitFor();
	expect(await files.isChecked()).toBe(false);
	await dialog.getByText("files in your workspace are not touched").waitFor();
	await dialog.getByText("go back too (3 written since)").waitFor();
	await files.focus();
	await page.keyboard.press("Space");
	await dialog.getByText("2 files go back to what they held").waitFor();
	await dialog.getByText("~ first.md changed back").waitFor();
	await dialog.getByText(`- ${hostile} removed`).waitFor();
	await dialog.getByText(/^stays: shared\.md: /).waitFor();
	expect(await dialog.textContent()).not.toMatch(/are not touched|--theirs|somebody else has changed too/);
	expect(await dialog.getByRole("row").allTextContents()).toEqual([
		"nowthen",
		"messages123",
		"sessions11",
		"filesas they are2 go back, 1 stays",
	]);
	const whole = dialog.getByLabel("All files go back, or nothing is done");
	await whole.check();
	await dialog.getByText(/^so nothing is done: /).waitFor();
	expect(await dialog.getByRole("button").allTextContents()).toEqual(["Close"]);
	await whole.uncheck();
	await dialog.getByRole("button", { name: "Rewind" }).waitFor();
	await files.focus();
	// The choice keeps the focus.
	expect(await page.evaluate("document.activeElement.type")).toBe("checkbox");
	const theirs = dialog.getByLabel("Also files that somebody else has changed since");
	expect(await theirs.isChecked()).toBe(false);
	if (isDeep) expect(await violationsIn(page)).toEqual([]);
	const { tip } = writer.wal;
	await dialog.getByRole("button", { name: "Rewind" }).click();
	await dialog.waitFor({ state: "hidden" });
	await page.getByRole("status").getByText("2 files hold what they held").waitFor();
	expect(writer.wal.tip).toBeGreaterThan(tip);
	expect(await Promise.all(["first.md", hostile, "shared.md"].map(held))).toEqual(["first", undefined, "theirs"]);
	await page.locator("#tree").focus();
	await page.keyboard.press("u");
	await dialog.getByText(`+ ${hostile} made again`).waitFor();
	expect(await files.count()).toBe(0);
	await dialog.getByRole("button", { name: "Undo" }).click();
	await dialog.waitFor({ state: "hidden" });
	expect(await Promise.all(["first.md", hostile, "shared.md"].map(held))).toEqual(["second", "new", "theirs"]);
	expect([wrong, await page.evaluate("hits")]).toEqual([[], 0]);
	if (!isDeep) return;
	// Now those of somebody else too, after they were seen by name.
	await selectFirst(shown);
	await page.keyboard.press("r");
	await files.check();
	await theirs.check();
	await dialog.getByText("3 files go back to what they held").waitFor();
	await dialog.getByText("- shared.md removed").waitFor();
	await dialog.getByRole("button", { name: "Rewind" }).click();
	await dialog.waitFor({ state: "hidden" });
	expect(await held("shared.md")).toBeUndefined();
	await page.locator("#tree").focus();
	await page.keyboard.press("u");
	await dialog.getByText("+ shared.md made again").waitFor();
	await dialog.getByRole("button", { name: "Undo" }).click();
	await dialog.waitFor({ state: "hidden" });
	expect(await held("shared.md")).toBe("theirs");
});

deepTest(
	"files are not offered where tools have changed none, to a note, or where it is said that they never go along",
	async () => {
		await using none = await openHouse();
		await using house = await openWriting();
		await house.call("write", { path: "first.md", text: "first" });
		await house.call("edit", { path: "first.md", old: "first", new: "second" });
		const offered = async (of: House, mode = "both"): Promise<readonly boolean[]> => {
			await using shown = await show(browser, of);
			const { page } = shown;
			await selectFirst(shown);
			await page.getByLabel("What goes back").selectOption(mode);
			await page.keyboard.press("Tab");
			await page.getByRole("button", { name: mode === "both" ? "Rewind" : "Add a note" }).click();
			const dialog = page.getByRole("dialog");
			await dialog.getByText(/files in your workspace/).waitFor();
			return await Promise.all((await dialog.getByRole("checkbox").all()).map((each) => each.isChecked()));
		};
		expect(await offered(none)).toEqual([]);
		expect(await offered(house)).toEqual([false]);
		expect(await offered(house, "summarize")).toEqual([]);
		expect(await offered({ ...house, subject: { ...house.subject, files: "never" } })).toEqual([]);
		expect(await offered({ ...house, subject: { ...house.subject, files: "always" } })).toEqual([true]);
	},
);

test("what was taken away by gc is drawn so, and no move there is offered", async () => {
	await using house = await openHouse();
	const { writer } = house;
	const [first] = writer.timeline.checkpoints();
	const { tip } = writer.wal;
	const left = await writer.checkout(first?.seq ?? 0, "user");
	await writer.checkout(tip, "user");
	await using shown = await show(browser, house);
	const { page, wrong } = shown;
	await selectFirst(shown);
	await page.getByRole("button", { name: /^Rewind to/ }).waitFor();
	await writer.prompt("What is left?");
	await writer.idle();
	await writer.gc({ keepDays: 0, keepCheckpoints: 1 });
	expect(writer.timeline.retainedFrom).toBeGreaterThan((first?.seq ?? 0) + 1);
	await writer.prompt("And now?");
	await writer.idle();
	await page.getByRole("treeitem", { name: new RegExp(`^#${first?.seq} .*taken away by gc`) }).waitFor();
	await page.locator("#view").getByText("is not kept").waitFor();
	await page.getByRole("heading", { name: `#${first?.seq} was taken away` }).waitFor();
	await expect.poll(() => page.getByRole("button", { name: /^(Rewind|Check out|Label)/ }).count()).toBe(0);
	if (isDeep) expect(await violationsIn(page)).toEqual([]);
	await page.locator("#tree").focus();
	for (const key of ["r", "L"]) await page.keyboard.press(key);
	expect(await page.getByRole("dialog").count()).toBe(0);
	await page.keyboard.press("Home");
	await page.keyboard.press("j");
	await page.getByRole("button", { name: /^Rewind to/ }).waitFor();
	// Of a line that was left, the move that began it is known.
	await page.getByRole("treeitem", { name: /^b\d+, left behind: 1 moment, its end taken away/ }).click();
	await page.getByRole("treeitem", { name: new RegExp(`^#${left.seq} .*taken away by gc`) }).click();
	await page.getByRole("heading", { name: `#${left.seq} was taken away` }).waitFor();
	// The browser notes it where what is shown was asked for just before it is known to be gone.
	expect(wrong.filter((each) => !each.includes("422"))).toEqual([]);
});

test("a name goes from one moment to another only where that is asked for, and is taken away from where it is", async () => {
	await using house = await openWriting();
	const { writer } = house;
	await house.call("write", { path: "first.md", text: "first" });
	await house.call("write", { path: "second.md", text: "second" });
	const labels = async () => (await writer.timeline.labels()).map(({ name, seq }) => [name, seq]);
	const { tip } = writer.wal;
	await writer.timeline.label(tip, "here");
	await using shown = await show(browser, house);
	const { page, wrong } = shown;
	await selectFirst(shown);
	await page.keyboard.press("L");
	const dialog = page.getByRole("dialog");
	await dialog.getByLabel("Its name").fill("here");
	await page.keyboard.press("Enter");
	await dialog.getByText(`That is the name of #${tip}.`).waitFor();
	expect(await labels()).toEqual([["here", tip]]);
	await dialog.getByRole("button", { name: `Move it here from #${tip}` }).click();
	await dialog.waitFor({ state: "hidden" });
	const [[, first] = []] = await labels();
	expect(first).toBeLessThan(tip);
	await page.locator("#tree").focus();
	await page.keyboard.press("L");
	await dialog.getByRole("button", { name: "Take away" }).click();
	await dialog.getByText(`"here" names #${first} no longer`).waitFor();
	await dialog.getByRole("button", { name: "Take it away" }).click();
	await dialog.waitFor({ state: "hidden" });
	// A refused request is an error to a browser, and nothing else was.
	expect([await labels(), wrong.filter((each) => !/status of 4\d\d/.test(each))]).toEqual([[], []]);
});
