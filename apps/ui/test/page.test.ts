/** The page in a browser: what a person sees and does, and that neither a log nor a page elsewhere can act in it. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { AxeBuilder } from "@axe-core/playwright";
import { offlineModel } from "@reyn/offline-model";
import { openRuntime, RuntimeError, type RuntimeEvent, type RuntimeOptions } from "@reyn/runtime";
import { createFileTools } from "@reyn/tools";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deepTest } from "../../../tests/deep-test.ts";
import { isDeep, some } from "../../../tests/sample.ts";
import { copyPage, type Subject, serve } from "../src/server/index.ts";
import { openBrowser } from "./browser.ts";
import { hostileTexts } from "./hostile-texts.ts";
import { askIn, beginsBy, type House, openHouse } from "./served.ts";
import { type Shown, show as showIn, violationsIn } from "./shown.ts";

let browser: Browser;
let house: House;
beforeAll(async () => {
	[browser, house] = await Promise.all([openBrowser(), openHouse()]);
});
afterAll(async () => {
	await browser?.close();
	await house?.[Symbol.asyncDispose]();
});

const show = (how: Parameters<typeof showIn>[2] = {}, of: House = house): Promise<Shown> => showIn(browser, of, how);

/** Shows a tab, or hides it, as far as it can tell. */
const see = (page: Page, isSeen: boolean): Promise<unknown> =>
	page.evaluate(
		`Object.defineProperty(document, "visibilityState", { configurable: true, value: "${isSeen ? "visible" : "hidden"}" });
		document.dispatchEvent(new Event("visibilitychange"));`,
	);

const selectedRow = (page: Page): Promise<string | null> =>
	page.locator('[role="treeitem"][aria-selected="true"]').textContent();

describe("a person", () => {
	test("sees the history, goes to a moment by the keyboard, confirms, and comes back", async () => {
		await using shown = await show();
		const { page, wrong } = shown;
		const { tip } = house.writer.wal;
		await expect.poll(() => selectedRow(page)).toContain(`#${tip}`);
		await page.locator("#tree").focus();
		await page.keyboard.press("End");
		await page.keyboard.press("k");
		await expect.poll(() => page.url()).toMatch(/#\/m\/\d+$/);
		const target = Number(/\d+$/.exec(page.url())?.[0]);
		expect(target).toBeLessThan(tip);
		await page.keyboard.press("r");
		const dialog = page.getByRole("dialog");
		await dialog.waitFor();
		await expect.poll(() => dialog.textContent()).toMatch(/files in your workspace are not touched/i);
		// The answer that changes nothing has the focus.
		await expect.poll(() => page.evaluate("document.activeElement?.textContent")).toBe("Cancel");
		expect(house.writer.wal.tip).toBe(tip);
		await page.keyboard.press("Escape");
		await dialog.waitFor({ state: "hidden" });
		expect(house.writer.wal.tip).toBe(tip);
		const { paid } = (await house.ask("/api/read", { verb: "spend", given: {} })).body.document;
		const tokens = (paid.inputTokens + paid.outputTokens).toLocaleString("en");
		await page.getByRole("button", { name: `${tokens} tokens paid` }).waitFor();
		await page.keyboard.press("$");
		await dialog.waitFor();
		expect(await dialog.getByRole("row", { name: /^all that was paid for/ }).allTextContents()).toEqual([
			`all that was paid for${[paid.calls, paid.inputTokens, paid.outputTokens].map((each) => each.toLocaleString("en")).join("")}unknown`,
		]);
		await page.keyboard.press("Escape");
		await dialog.waitFor({ state: "hidden" });
		await page.keyboard.press("r");
		await dialog.waitFor();
		// The next one is asked for before the end of the one before was told.
		await page.evaluate(
			`document.querySelector("dialog").close();
			document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "r", bubbles: true }));`,
		);
		await dialog.waitFor();
		await dialog.getByRole("button").last().click();
		await dialog.waitFor({ state: "hidden" });
		await expect.poll(() => house.writer.wal.tip).toBeGreaterThan(tip);
		await expect.poll(() => selectedRow(page)).toContain(`#${house.writer.wal.tip}`);
		const after = house.writer.wal.tip;
		await page.locator("#tree").focus();
		await page.keyboard.press("u");
		await dialog.waitFor();
		await dialog.getByRole("button").last().click();
		await dialog.waitFor({ state: "hidden" });
		await expect.poll(() => house.writer.wal.tip).toBeGreaterThan(after);
		expect(wrong).toEqual([]);
	});

	deepTest("is shown the new preview where something came in between, and nothing is done by itself", async () => {
		await using shown = await show();
		const { page } = shown;
		await page.locator("#tree").focus();
		await page.keyboard.press("End");
		await page.keyboard.press("r");
		const dialog = page.getByRole("dialog");
		await dialog.waitFor();
		await expect.poll(() => dialog.textContent()).toMatch(/files in your workspace are not touched/i);
		await house.writer.prompt("Who came in between?");
		await house.writer.idle();
		const { tip } = house.writer.wal;
		await dialog.getByRole("button").last().click();
		await expect.poll(() => dialog.textContent()).toMatch(/moved|came in between|changed/i);
		expect(house.writer.wal.tip).toBe(tip);
		await dialog.getByRole("button").last().click();
		await dialog.waitFor({ state: "hidden" });
		await expect.poll(() => house.writer.wal.tip).toBeGreaterThan(tip);
	});

	test("asks something, sees the answer come, and is told where it was not begun; what was typed stays", async () => {
		let refuses = true;
		const begins = beginsBy(house.writer);
		const subject: Subject = {
			...house.subject,
			...begins,
			async begin(verb, given) {
				if (refuses) throw new RuntimeError("RUNTIME_CLOSED", "it was closed just before");
				return begins.begin?.(verb, given) as Promise<{ begun: object; pid: number }>;
			},
		};
		await using shown = await show({}, { ...house, subject });
		const { page, wrong } = shown;
		await page.locator("#tree").focus();
		await page.keyboard.press("a");
		await page.keyboard.type("Who keeps");
		await page.keyboard.press("Shift+Enter");
		await page.keyboard.type("the bees?");
		await page.keyboard.press("Enter");
		await expect.poll(() => page.getByRole("alert").allTextContents()).toContain("it was closed just before");
		expect(await page.locator("#ask").inputValue()).toBe("Who keeps\nthe bees?");
		const { tip } = house.writer.wal;
		refuses = false;
		await page.keyboard.press("Enter");
		await page.locator(".said-you").getByText("the bees?").waitFor();
		await expect.poll(() => page.locator("#ask").inputValue()).toBe("");
		await house.writer.idle();
		await expect.poll(() => page.locator(".said-other").last().getAttribute("aria-busy")).toBeNull();
		expect(house.writer.wal.tip).toBeGreaterThan(tip);
		expect(wrong.filter((each) => !each.includes("422"))).toEqual([]);
	});

	deepTest("has what was said told in short, and is told where there is nothing to tell", async () => {
		const model = offlineModel();
		await using own = await openHouse({}, { model });
		await using shown = await show({}, { ...own, subject: { ...own.subject, ...beginsBy(own.writer) } });
		const { page } = shown;
		const compact = page.getByRole("button", { name: "Compact" });
		const { tip } = own.writer.wal;
		await compact.click();
		await page.getByRole("alert").getByText("nothing was said in default/main").waitFor();
		expect(own.writer.wal.tip).toBe(tip);
		await own.writer.prompt("Who keeps the lighthouse?");
		await own.writer.idle();
		await compact.click();
		await page
			.getByRole("status")
			.getByText(/^what was said is told in short in #\d+$/)
			.waitFor();
		const kinds: string[] = [];
		for await (const { kind } of own.writer.wal.read()) kinds.push(kind);
		expect(kinds).toContain("compaction_asked");
	});

	deepTest("sees an answer that is not whole yet as far as it came, its marks shown", async () => {
		const { promise: goOn, resolve: open } = Promise.withResolvers<void>();
		const model: RuntimeOptions["model"] = {
			id: "slow",
			async *generate(_, { signal }) {
				yield { type: "text", text: "Nobody " };
				yield { type: "text", text: "keeps \u202ethem." };
				const stopped = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
				await Promise.race([goOn, stopped]);
				yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
			},
		};
		let told: (event: RuntimeEvent) => void = () => {};
		await using slow = await openHouse({}, { model, onEvent: (event) => told(event) });
		await using shown = await show({}, { ...slow, subject: { ...slow.subject, ...beginsBy(slow.writer) } });
		const { page, served } = shown;
		told = served.onEvent;
		await slow.writer.prompt("Who keeps the wasps?");
		const busy = page.locator('.said[aria-busy="true"]');
		await expect.poll(() => busy.locator(".said-text").textContent()).toBe("Nobody keeps ⟨U+202E⟩them.");
		await page.getByRole("button", { name: "Stop this answer" }).click();
		await busy.waitFor({ state: "detached" });
		expect(slow.writer.conversation().open).toEqual([]);
		await slow.writer.prompt("Who keeps the wasps then?");
		await expect.poll(() => busy.locator(".said-text").textContent()).toBe("Nobody keeps ⟨U+202E⟩them.");
		open();
		await slow.writer.idle();
		await busy.waitFor({ state: "detached" });
		await expect.poll(() => page.locator(".said-text").last().textContent()).toBe("Nobody keeps ⟨U+202E⟩them.");
	});

	test("answers what scripts ask, each question its own answer, by choice and by a line", async () => {
		const run = await askIn(house.writer, ["Which?", "that", "Why?"]);
		await using shown = await show({}, { ...house, subject: { ...house.subject, ...beginsBy(house.writer) } });
		const { page } = shown;
		await page.locator("#tree").focus();
		await page.getByLabel("Why?").waitFor();
		await page.keyboard.press(".");
		await page.keyboard.press(".");
		await expect.poll(() => page.evaluate("document.activeElement?.textContent")).toMatch(/^(this|)$/);
		await page.getByLabel("Why?").fill("because");
		await page.getByLabel("Why?").press("Enter");
		await page.getByLabel("Why?").waitFor({ state: "detached" });
		await page.getByText("Calls", { exact: true }).click();
		await page.getByRole("group", { name: "Which?" }).getByRole("button", { name: "that" }).click();
		await page.getByRole("group", { name: "Which?" }).waitFor({ state: "detached" });
		await house.writer.idle();
		expect(await house.writer.scripts.result(run)).toEqual(["that", "because"]);
	});

	test("sees what a tool would do before it does it, and says no, and why", async () => {
		const post = {
			...{ name: "post", description: "Posts", parameters: {}, purity: "side_effect" as const },
			wants: async () => [
				{ action: "post", subject: "news", covers: "**", shows: ["- We are closed.", "+ <b>We are open.</b>"] },
			],
			call: async () => "posted",
		};
		const told: string[] = [];
		const model: RuntimeOptions["model"] = {
			id: "posting",
			async *generate({ messages }) {
				const last = messages.at(-1);
				if (last?.role === "tool") {
					told.push(last.text);
					yield { type: "text", text: "Well." };
				} else yield { type: "toolCall", call: { id: "1", name: "post", args: {} } };
				yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
			},
		};
		await using asking = await openHouse({}, { model, tools: [post], permissions: {} });
		await using shown = await show({}, { ...asking, subject: { ...asking.subject, ...beginsBy(asking.writer) } });
		const { page } = shown;
		await asking.writer.prompt("tell them");
		const question = page.getByRole("group", { name: "post news?" });
		await question.getByText("+ <b>We are open.</b>").waitFor();
		await question.getByLabel("Why no").fill("not before nine");
		expect(await question.getByRole("button", { name: "once" }).isDisabled()).toBe(true);
		await question.getByRole("button", { name: "no" }).click();
		await question.waitFor({ state: "detached" });
		await asking.writer.idle();
		expect(told).toEqual(["ERROR: denied: post news: user says no: not before nine"]);
	});

	test("sees a plan before it starts, and says in words what to change", async () => {
		const steps = [
			{ id: "a", description: "Read <b>all</b>" },
			{ id: "b", description: "Say it", depends_on: ["a"] },
		];
		const told: string[] = [];
		const model: RuntimeOptions["model"] = {
			id: "planning",
			async *generate({ messages }) {
				const last = messages.at(-1);
				if (last?.role === "tool") {
					told.push(last.text);
					yield { type: "text", text: "Well." };
				} else yield { type: "toolCall", call: { id: "1", name: "plan", args: { goal: "Find out", steps } } };
				yield { type: "usage", usage: { inputTokens: 1, outputTokens: 1 } };
			},
		};
		await using asking = await openHouse({}, { model, plans: { confirm: "ask" } });
		await using shown = await show({}, { ...asking, subject: { ...asking.subject, ...beginsBy(asking.writer) } });
		const { page } = shown;
		await asking.writer.prompt("find out");
		const question = page.getByRole("group", { name: "Start a plan of 2 steps?" });
		await question.getByText("a: Read <b>all</b>").waitFor();
		await question.getByLabel("In words edit, no").fill("read less");
		expect(await question.getByRole("button", { name: "yes" }).isDisabled()).toBe(true);
		await question.getByRole("button", { name: "edit" }).click();
		await question.waitFor({ state: "detached" });
		await asking.writer.idle();
		expect(told).toEqual(["ERROR: not started: user wants it changed: read less. Propose it again, so changed"]);
	});

	test("drags the point at which a script is killed, and sees what going on would cost; nothing is written", async () => {
		const source = `export default async (ctx) => { for (const one of ["a", "b", "c"]) await ctx.agent("Say " + one); };`;
		const { run, end } = await house.writer.scripts.start({ name: "three.ts", source }, undefined);
		await end;
		const { tip } = house.writer.wal;
		const { started } = house.writer.scripts.list().find((each) => each.run === run) ?? {};
		const options = { state: house.state, model: offlineModel(), tools: [], readOnly: "as recovered" } as const;
		const ahead: Subject["ahead"] = async (use) => {
			await using runtime = await openRuntime(options);
			return await use(runtime);
		};
		await using shown = await show({}, { ...house, subject: { ...house.subject, ahead } });
		const { page, wrong } = shown;
		await page.getByText("Scripts that are over").click();
		const card = page.locator("article", { hasText: run });
		await card.getByText("What a crash would have cost").click();
		await card.getByText("as it is now").waitFor();
		expect(await card.locator("ol").textContent()).not.toContain("to be made");
		const slider = page.getByLabel(`Crash point of script run ${run}`);
		await slider.focus();
		await page.keyboard.press("Home");
		await card.getByText(`killed behind #${started}, after 0 of 3 calls`).waitFor();
		await expect.poll(() => card.locator("ol").textContent()).not.toContain("recalled");
		await page.keyboard.press("ArrowRight");
		await card.getByText("after 1 of 3 calls").waitFor();
		const at = Number(/#(\d+)/.exec((await card.locator(".meter").textContent()) ?? "")?.[1]);
		const { saved, toPay, percentFree } = await house.writer.scripts.explain(run, { at });
		expect(Math.min(saved, toPay)).toBeGreaterThan(0);
		await card.getByText(`${percentFree} % free: ${saved} tokens recalled, ${toPay} to pay`).waitFor();
		expect([wrong, house.writer.wal.tip]).toEqual([[], tip]);
	});

	deepTest("runs a step of a plan again, with all that depends on it, and sees before what it took", async () => {
		const files = await mkdtemp(join(tmpdir(), "reyn-ui-plan-"));
		await writeFile(join(files, "foxes.md"), "# Foxes\n\nA fox sleeps by day.\n");
		await writeFile(join(files, "owls.md"), "# Owls\n\nAn owl hunts at night.\n");
		const ended: string[] = [];
		let cancel = (): void => {};
		const onEvent = (event: RuntimeEvent): void => {
			if (event.type !== "plan_step" || event.change.status !== "completed") return;
			ended.push(event.step);
			cancel();
		};
		await using planning = await openHouse({}, { tools: createFileTools(files), onEvent });
		cancel = () => planning.writer.cancel();
		await planning.writer.prompt("How do foxes and owls differ? Compare them in detail.");
		await planning.writer.idle();
		cancel = () => {};
		const [done = ""] = ended;
		const [{ plan = "" } = {}] = planning.writer.restored().plans;
		const steps = await planning.writer.planSteps(plan);
		const { again = [] } = steps.find(({ id }) => id === done) ?? {};
		await using shown = await show({}, { ...planning, subject: { ...planning.subject, ...beginsBy(planning.writer) } });
		const { page } = shown;
		await page.getByText("Steps", { exact: true }).click();
		await page.getByRole("button", { name: `Run ${done} of plan ${plan} again` }).click();
		const dialog = page.getByRole("dialog");
		await dialog.waitFor();
		const { runs } = await planning.writer.previewResume(plan, done);
		const costs = runs.map(({ id, tokens }) =>
			tokens === undefined ? `${id} (unknown)` : `${id} (${tokens.toLocaleString("en")} tokens)`,
		);
		expect([runs.map(({ id }) => id), costs[0]]).toEqual([again, expect.stringContaining(" tokens)")]);
		await expect.poll(() => dialog.textContent()).toContain(`would run: ${costs.join(", ")}`);
		await expect.poll(() => page.evaluate("document.activeElement?.textContent")).toBe("Cancel");
		const { tip } = planning.writer.wal;
		await page.keyboard.press("Enter");
		await dialog.waitFor({ state: "hidden" });
		expect(planning.writer.wal.tip).toBe(tip);
		await page.getByRole("button", { name: `Run ${done} of plan ${plan} again` }).click();
		await dialog.getByRole("button", { name: "Run again" }).click();
		await dialog.waitFor({ state: "hidden" });
		await planning.writer.idle();
		expect(planning.writer.restored().plans).toEqual([]);
		expect(ended.filter((id) => id === done)).toHaveLength(2);
		await rm(files, { recursive: true });
	});

	deepTest(
		"reads the log as it is: a window at a time, filtered, to a record of it, and whether it is sound",
		async () => {
			await using own = await openHouse();
			for (let i = 0; i < 20; i++) {
				await own.writer.prompt(`Is ${i} a number?`);
				await own.writer.idle();
			}
			await using shown = await show({}, own);
			const { page, wrong } = shown;
			const { tip } = own.writer.wal;
			await page.locator("#tree").focus();
			await page.keyboard.press("5");
			const rows = page.locator(".log li");
			await expect.poll(() => rows.first().textContent()).toContain(`#${tip}`);
			expect(await rows.count()).toBe(100);
			await page.getByRole("button", { name: "Older" }).click();
			await expect.poll(() => rows.first().textContent()).toContain(`#${tip - 100}`);
			await page.getByRole("searchbox", { name: "Filter of records" }).fill("kind:user_prompt lighthouse");
			await expect.poll(() => rows.count()).toBe(1);
			expect(await rows.textContent()).toContain("Who keeps the lighthouse?");
			const seq = /#(\d+)/.exec((await rows.textContent()) ?? "")?.[1];
			await page.getByRole("searchbox", { name: "Filter of records" }).fill("seq:3");
			await expect.poll(() => rows.first().textContent()).toContain("#3");
			expect(await rows.count()).toBe(3);
			expect(await page.getByRole("button", { name: "Newest" }).isDisabled()).toBe(true);
			await page.getByRole("searchbox", { name: "Filter of records" }).fill("kind:user_prompt lighthouse");
			await expect.poll(() => rows.first().textContent()).toContain(`#${seq}`);
			await page.getByRole("button", { name: `Go to record ${seq}` }).click();
			await expect.poll(() => page.url()).toContain(`#/m/${seq}`);
			await page.getByRole("button", { name: "Check the log" }).click();
			await page.getByText(/^sound: \d+ records in/).waitFor();
			expect(wrong).toEqual([]);
		},
	);

	deepTest("has eight tabs, and each that is seen is live", async () => {
		await using own = await openHouse();
		await using shown = await show({}, own);
		const { page, context } = shown;
		const all = [page];
		while (all.length < 8) {
			const opened = context.waitForEvent("page");
			await page.locator("#tree").focus();
			await page.keyboard.press("t");
			const tab = await opened;
			await tab.locator('[role="treeitem"]').first().waitFor();
			// A browser shows one of them; here all would be seen, and hold a stream each.
			await see(tab, false);
			all.push(tab);
		}
		await own.writer.prompt("Who has eight tabs?");
		await own.writer.idle();
		await expect.poll(() => page.locator("#tree").textContent()).toContain("Who has eight tabs?");
		await see(page, false);
		for (const tab of all) {
			await see(tab, true);
			await expect.poll(() => tab.locator("#tree").textContent()).toContain("Who has eight tabs?");
			await see(tab, false);
		}
		// A code is for one tab: what stands in its address is none any more.
		expect(new Set(all.map((tab) => new URL(tab.url()).hash.startsWith("#k=")))).toEqual(new Set([false]));
	});

	deepTest("looks at another session, and asks there", async () => {
		const side = { agent: "default", session: "side" };
		await house.writer.prompt("Who is beside?", side);
		await house.writer.idle();
		await using shown = await show({}, { ...house, subject: { ...house.subject, ...beginsBy(house.writer) } });
		const { page } = shown;
		await page.locator(".said-you").first().waitFor();
		expect(await page.locator("#view").textContent()).not.toContain("Who is beside?");
		await page.getByLabel("Session").selectOption("default/side");
		await expect.poll(() => page.locator("#view").textContent()).toContain("Who is beside?");
		expect(await page.locator("#view").textContent()).not.toContain("Who keeps the lighthouse?");
		await page.locator("#ask").fill("And who else?");
		await page.keyboard.press("Enter");
		await expect.poll(() => page.locator("#view").textContent()).toContain("And who else?");
		await house.writer.idle();
		expect(
			house.writer
				.conversation(side)
				.items.toArray()
				.filter(({ type }) => type === "prompt"),
		).toHaveLength(2);
	});

	deepTest("compares two moments, on whatever lines they are, and with now again", async () => {
		await using own = await openHouse();
		await using shown = await show({}, own);
		const { page } = shown;
		await page.locator("#tree").focus();
		await page.keyboard.press("End");
		await page.keyboard.press("c");
		await page.keyboard.press("Home");
		await expect.poll(() => page.url()).toMatch(/#\/m\/[1-9]\d*$/);
		const seq = /\d+$/.exec(page.url())?.[0];
		await page.keyboard.press("d");
		await page.getByRole("tab", { name: "Changes to #0" }).waitFor();
		await expect.poll(() => page.locator("#view").textContent()).toContain(`What came between #${seq} and #0`);
		expect(await page.locator("#view").textContent()).toContain("Who keeps the lighthouse?");
		await page.keyboard.press("End");
		await page.keyboard.press("c");
		await page.getByRole("tab", { name: "Changes to now" }).waitFor();
		await expect.poll(() => page.locator("#view").textContent()).toContain("What came between #0 and now");
	});

	deepTest("sees what another process records, without a click", async () => {
		await using shown = await show();
		const { page } = shown;
		await house.writer.prompt("What is new under the sun?");
		await house.writer.idle();
		await expect.poll(() => page.locator("#tree").textContent()).toContain("What is new under the sun?");
	});

	test.each(
		some(
			[
				["light", { colorScheme: "light" }],
				["dark", { colorScheme: "dark" }],
				["forced colours", { forcedColors: "active" }],
				["narrow", { viewport: { width: 320, height: 700 } }],
			] as const,
			4,
		),
	)("who cannot see it has it all the same: %s", async (_, how) => {
		await using asking = await openHouse();
		await askIn(asking.writer, ["Which?", "that", "Why?"]);
		await using shown = await show(how, { ...asking, subject: { ...asking.subject, ...beginsBy(asking.writer) } });
		const { page } = shown;
		await page.getByText("Calls", { exact: true }).click();
		await page.getByText("not answered").first().waitFor();
		expect(await violationsIn(page)).toEqual([]);
		const isWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
		expect(isWide).toBe(false);
		if (!isDeep) return;
		await page.locator("#tree").focus();
		await page.keyboard.press("End");
		await page.keyboard.press("r");
		await page.getByRole("dialog").waitFor();
		expect(await violationsIn(page)).toEqual([]);
		await page.keyboard.press("Escape");
		await page.keyboard.press("5");
		await page.getByRole("button", { name: "Check the log" }).waitFor();
		expect(await violationsIn(page)).toEqual([]);
		for (const key of ["?", "$"]) {
			await page.keyboard.press(key);
			await page.getByRole("dialog").waitFor();
			expect(await violationsIn(page), key).toEqual([]);
			await page.keyboard.press("Escape");
		}
	});
});

describe("the key of the page", () => {
	test("is nowhere but in its memory, and its code not in the address any more (H11)", async () => {
		await using served = await serve(house.subject);
		const context = await browser.newContext();
		const page = await context.newPage();
		await page.goto(served.address);
		await page.locator('[role="treeitem"]').first().waitFor();
		const code = served.address.slice(served.address.indexOf("#k=") + 3);
		const kept = await page.evaluate(
			"JSON.stringify([location.href, document.title, document.cookie, { ...localStorage }, { ...sessionStorage }, history.state])",
		);
		expect(kept).not.toContain(code);
		expect(kept).toContain(`"http://127.0.0.1:${served.port}/`);
		expect(kept).not.toMatch(/[0-9a-f]{64}/);
		expect(await context.cookies()).toEqual([]);
		// The second tab, and the same one loaded again, have none.
		const second = await context.newPage();
		await second.goto(served.address);
		await second.getByText("This page has no key").waitFor();
		await page.reload();
		await page.getByText("This page has no key").waitFor();
		await context.close();
	});
});

describe("what a log says", () => {
	const texts = some(hostileTexts, 5);

	test(`is text, whatever it is: ${texts.length} that would act (H20)`, async () => {
		await using other = await openHouse();
		for (let i = 0; i < texts.length; i += 10) {
			await other.writer.prompt(texts.slice(i, i + 10).join("\n"));
			await other.writer.idle();
		}
		for (const text of texts.slice(0, 6)) await askIn(other.writer, [`${text} which`, text, `${text} why`]);
		await using shown = await show({}, { ...other, subject: { ...other.subject, ...beginsBy(other.writer) } });
		const { page, wrong } = shown;
		for (const calls of await page.getByText("Calls", { exact: true }).all()) await calls.click();
		await page.locator("#tree").focus();
		for (const key of ["1", "2", "3", "4", "5"]) {
			await page.keyboard.press(key);
			for (let i = 0; i < 12; i++) await page.keyboard.press("j");
			await page.keyboard.press("Home");
			await expect.poll(() => page.getByText("reading …").count()).toBe(0);
		}
		await page.keyboard.press("1");
		await page.getByText("hit()").first().waitFor();
		await page.keyboard.press("r");
		await page.keyboard.press("Escape");
		expect(await page.evaluate("hits")).toBe(0);
		expect(wrong).toEqual([]);
		// Seen to count: what is executed is counted.
		await page.evaluate("hit()");
		expect(await page.evaluate("hits")).toBe(1);
	});

	deepTest("is text in a copy of the page too, which opens from a disk and asks nobody", async () => {
		await using other = await openHouse();
		await other.writer.prompt(hostileTexts.join("\n"));
		await other.writer.idle();
		const files = await mkdtemp(join(tmpdir(), "reyn-ui-copy-"));
		await writeFile(join(files, "copy.html"), await copyPage(other.subject));
		const context = await browser.newContext({ offline: true, viewport: { width: 1400, height: 900 } });
		const page = await context.newPage();
		const wrong: string[] = [];
		page.on("pageerror", ({ message }) => wrong.push(message));
		page.on("console", (said) => said.type() === "error" && wrong.push(said.text()));
		page.on("request", (request) => request.url().startsWith("file://") || wrong.push(request.url().slice(0, 100)));
		await page.addInitScript("globalThis.hits = 0; globalThis.hit = () => { globalThis.hits = 1; };");
		await page.goto(pathToFileURL(join(files, "copy.html")).href);
		await page.getByText("hit()").first().waitFor();
		await page.locator("#tree").focus();
		for (const key of ["1", "2", "3", "4"]) {
			await page.keyboard.press(key);
			for (let i = 0; i < 6; i++) {
				await page.keyboard.press("j");
				await expect.poll(() => page.locator("#view").getAttribute("aria-busy")).toBe("false");
				expect(await page.locator(".refused").allTextContents()).toEqual([]);
			}
			if (key === "4") await page.getByText("There is no record before the first.").waitFor();
			await page.keyboard.press("Home");
		}
		expect(await page.getByRole("button", { name: /^(Rewind|Undo|Ask|Label)/ }).count()).toBe(0);
		expect(await page.getByRole("tab", { name: "Log" }).count()).toBe(0);
		expect([await page.evaluate("hits"), wrong]).toEqual([0, []]);
		expect((await new AxeBuilder({ page }).analyze()).violations.map(({ id }) => id)).toEqual([]);
		await context.close();
		await rm(files, { recursive: true });
	});

	test("that turns or hides letters is seen as such", async () => {
		await using other = await openHouse();
		await other.writer.prompt("a \u202e turned \u200b hidden \u0007 bell");
		await other.writer.idle();
		await using shown = await show({}, other);
		const { page } = shown;
		await page.locator("#tree").focus();
		await page.keyboard.press("1");
		await page.getByText("⟨U+202E⟩").first().waitFor();
		const seen = (await page.locator("body").textContent()) ?? "";
		expect(["\u202e", "\u200b", "\u0007"].filter((mark) => seen.includes(mark))).toEqual([]);
	});
});

describe("a page elsewhere", () => {
	/** A page of another origin, which tries all that a page can. */
	async function elsewhere(): Promise<{ readonly origin: string } & AsyncDisposable> {
		const server = createServer((_, response) => {
			response.writeHead(200, { "content-type": "text/html" });
			response.end("<!doctype html><title>elsewhere</title>");
		});
		await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
		return {
			origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
			async [Symbol.asyncDispose]() {
				server.closeAllConnections();
				await new Promise((resolve) => void server.close(resolve));
			},
		};
	}

	/** What a page can try, as the text of a program that gives all that it got. */
	const tries = (at: string, token: string): string => `(async () => {
		const at = "${at}";
		const all = [
			async () => (await fetch(at)).text(),
			async () => (await fetch(at + "/api/state", { headers: { authorization: "Bearer ${token}" } })).text(),
			async () => {
				const answer = await fetch(at + "/api/look", { method: "POST", body: '{"verb":"undo","given":{}}', mode: "no-cors" });
				if (answer.type !== "opaque") return answer.text();
				throw new Error("nothing is seen of it");
			},
			async () => {
				const frame = document.body.appendChild(document.createElement("iframe"));
				frame.src = at;
				await new Promise((resolve) => frame.addEventListener("load", resolve));
				if (frame.contentDocument?.body.textContent) return frame.contentDocument.body.textContent;
				throw new Error("nothing is seen of it");
			},
			() => new Promise((resolve, reject) => {
				const script = document.head.appendChild(document.createElement("script"));
				script.addEventListener("load", () => resolve("a script of the page was run"));
				script.addEventListener("error", () => reject(new Error("not loaded")));
				script.src = at + "/page.js";
			}),
		];
		const found = await Promise.allSettled(all.map((each) => each()));
		const form = document.body.appendChild(document.createElement("form"));
		Object.assign(form, { action: at + "/api/act", method: "post", target: "_blank" });
		form.submit();
		return found.flatMap(({ status, value }) => (status === "fulfilled" ? [String(value)] : []));
	})()`;

	test("reads nothing and changes nothing, whatever it tries (H19)", async () => {
		await using other = await elsewhere();
		const context = await browser.newContext();
		const page = await context.newPage();
		await page.goto(other.origin);
		const { tip } = house.writer.wal;
		const at = `http://127.0.0.1:${house.served.port}`;
		const read = await page.evaluate(tries(at, house.token));
		expect(read).toEqual([]);
		await context.close();
		expect(house.writer.wal.tip).toBe(tip);
	});

	deepTest("that gives this server a name of its own reads nothing (H5)", async () => {
		const rebound = await openBrowser(["--host-resolver-rules=MAP evil.test 127.0.0.1"]);
		try {
			const page = await rebound.newPage();
			const answer = await page.goto(`http://evil.test:${house.served.port}/`);
			expect(answer?.status()).toBe(403);
			expect(await page.content()).not.toContain("page.js");
		} finally {
			await rebound.close();
		}
	});
});

test("it is small: script and style together at most 60 kB, compressed", async () => {
	const { pageFiles } = await import("../src/server/files.ts");
	const files = await pageFiles();
	const bytes = ["/page.js", "/page.css"].map((name) => gzipSync(files.get(name)?.text ?? "").length);
	expect(Math.min(...bytes)).toBeGreaterThan(1000);
	expect(bytes.reduce((all, each) => all + each)).toBeLessThanOrEqual(60 * 1024);
});

deepTest("an empty state, and one that cannot be read, are said so", async () => {
	let says = { code: "CLI_NOT_FOUND", message: "there is no history yet" };
	await using other = await openHouse({
		open: async () => {
			if (says.code === "")
				return openRuntime({
					state: other.state,
					model: { id: "none", async *generate() {} },
					tools: [],
					readOnly: true,
				});
			throw Object.assign(new Error(says.message), { code: says.code });
		},
	});
	for (const each of [says, { code: "WAL_CORRUPT", message: "record 7 is damaged" }]) {
		says = each;
		const served = await serve(other.subject);
		const context = await browser.newContext();
		const page = await context.newPage();
		await page.goto(served.address);
		await page.getByText(each.message).first().waitFor();
		await context.close();
		await served.close();
	}
});

deepTest(
	"a log that is damaged while it is shown is said to be, and so does each question; the server is not said to be gone",
	async () => {
		await using other = await openHouse();
		await other.writer.close();
		await using shown = await show({}, other);
		const { page } = shown;
		const path = join(other.state, "state/wal.jsonl");
		const whole = await readFile(path);
		const damaged = Buffer.from(whole);
		damaged[whole.lastIndexOf("fox")] = "F".charCodeAt(0);
		await writeFile(path, damaged);
		await page.locator(".banner").getByText("is not as it was").waitFor();
		await expect.poll(() => page.getByText("The server is gone").count()).toBe(0);
		await page.getByRole("tab", { name: /^State/ }).click();
		await page.locator("#view").getByText("is not as it was").waitFor();
		await writeFile(path, whole);
		await expect.poll(() => page.locator(".banner").count()).toBe(0);
	},
);

deepTest("a full disk is said while work of this page waits for it, and no longer", async () => {
	await using own = await openHouse();
	await using shown = await show({}, own);
	const { page, served } = shown;
	await page.locator('[role="treeitem"]').first().waitFor();
	served.onEvent({ type: "disk_full", text: "no space left on device" });
	await page.locator(".banner").getByText("The disk is full").waitFor();
	expect(await page.locator(".banner").textContent()).toContain("no space left on device");
	served.onEvent({ type: "disk_free" });
	await expect.poll(() => page.locator(".banner").count()).toBe(0);
});
