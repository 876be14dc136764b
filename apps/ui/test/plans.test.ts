/** Plans on the page: what going on would run and cost is seen before, and steps that have not begun are amended. */
import type { RuntimeOptions } from "@reyn/runtime";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isDeep } from "../../../tests/sample.ts";
import type { Subject } from "../src/server/index.ts";
import { openBrowser } from "./browser.ts";
import { beginsBy, type House, openHouse } from "./served.ts";
import { type Shown, show, violationsIn } from "./shown.ts";

let browser: Browser;
beforeAll(async () => {
	browser = await openBrowser();
});
afterAll(async () => {
	await browser?.close();
});

const steps = [
	{ id: "a", description: "Read <b>A</b>" },
	{ id: "b", description: "Read B" },
	{ id: "c", description: "Write \u202eit up", depends_on: ["a", "b"] },
];

/** A plan of which a is over, b was cut, and c has not begun; it is paused. */
async function openPaused(): Promise<House & { readonly plan: string; readonly asked: string[] }> {
	const asked: string[] = [];
	let isWilling = false;
	const model: NonNullable<RuntimeOptions["model"]> = {
		id: "planning",
		async *generate({ messages }, { signal }) {
			const [first] = messages;
			const step = /^Step (\w+):/m.exec(first?.role === "user" ? first.text : "")?.[1];
			if (step === undefined)
				yield {
					type: "toolCall",
					call: { id: "1", name: "plan", args: { goal: "Compare <img src=x onerror=hit()>", steps } },
				};
			else {
				asked.push(step);
				if (step === "b" && !isWilling)
					await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
				yield { type: "text", text: `${step} is done` };
			}
			yield { type: "usage", usage: { inputTokens: 1000, outputTokens: 10 } };
		},
	};
	const house = await openHouse({}, { model });
	await house.writer.prompt("compare them");
	await vi.waitUntil(() => house.writer.plans()[0]?.finished === 1 && asked.includes("b"), 10_000);
	const plan = house.writer.plans()[0]?.plan as string;
	await house.writer.pausePlan(plan);
	await house.writer.idle();
	isWilling = true;
	return { ...house, plan, asked };
}

const open = (house: House, more: Partial<Subject> = {}): Promise<Shown> =>
	show(browser, { ...house, subject: { ...house.subject, ...beginsBy(house.writer), ...more } });

async function opened(page: Page, button: string): Promise<Locator> {
	await page.getByRole("button", { name: button, exact: true }).click();
	const dialog = page.getByRole("dialog");
	await dialog.waitFor();
	return dialog;
}

const focused = (page: Page): Promise<unknown> => page.evaluate("document.activeElement?.textContent");

describe("a plan that waits", () => {
	test("goes on as it was shown, and not as somebody else has changed it since", async () => {
		await using house = await openPaused();
		const { writer, plan, asked } = house;
		await using shown = await open(house);
		const { page, wrong } = shown;
		const dialog = await opened(page, `Go on with plan ${plan}`);
		await dialog.getByText("would run: b (unknown), c (unknown)").waitFor();
		await dialog.getByText("stays, and is not paid again: a").waitFor();
		await dialog.getByText("price, if they take what they took last: unknown").waitFor();
		await expect.poll(() => focused(page)).toBe("Cancel");
		await writer.amendPlan(plan, {
			put: [
				{ id: "d", description: "Read D" },
				{ ...steps[2], depends_on: ["a", "b", "d"] },
			],
		});
		const { tip } = writer.wal;
		await dialog.getByRole("button", { name: "Go on" }).click();
		await dialog.getByText("Something moved in between, and nothing was written.").waitFor();
		await dialog.getByText("would run: b (unknown), c (unknown), d (unknown)").waitFor();
		expect([writer.wal.tip, asked]).toEqual([tip, ["a", "b"]]);
		await dialog.getByRole("button", { name: "Go on" }).click();
		await dialog.waitFor({ state: "hidden" });
		await vi.waitUntil(() => writer.plans()[0]?.status === "completed", 10_000);
		expect(asked.toSorted()).toEqual(["a", "b", "b", "c", "d"]);
		// One that is over runs again from a step, and is not amended.
		await page.getByText("Plans that are over").click();
		await page.getByText("Steps", { exact: true }).click();
		await opened(page, `Run c of plan ${plan} again`);
		await dialog.getByText("would run: c (1,010 tokens)").waitFor();
		await dialog.getByText("stays, and is not paid again: a, b, d").waitFor();
		await dialog.getByText("price, if they take what they took last: 1,010 tokens").waitFor();
		expect(await page.getByRole("button", { name: /^(Amend|Discard|Go on)/ }).count()).toBe(0);
		await dialog.getByRole("button", { name: "Run again" }).click();
		await dialog.waitFor({ state: "hidden" });
		await vi.waitUntil(() => asked.filter((step) => step === "c").length === 2, 10_000);
		await writer.idle();
		// The answer that it was refused with is an error to the browser.
		expect(wrong.filter((each) => !each.includes("409"))).toEqual([]);
		expect(await page.evaluate("hits")).toBe(0);
	});

	test("is left by a rewind: it is among those that are over, says by which, and has no steps to run", async () => {
		await using house = await openPaused();
		const { writer, plan } = house;
		await writer.applyRewind(await writer.previewRewind(0, "both"), "ada");
		await using shown = await open(house);
		const { page, wrong } = shown;
		await page.getByText("Plans that are over").click();
		await page.getByText("rewound", { exact: true }).waitFor();
		const { seq } = (await writer.timeline.records()).findLast(({ kind }) => kind === "reset") as { seq: number };
		await page.getByText(`#${seq} went to before it; it was paused, as #${seq - 1} shows`).waitFor();
		expect(await page.getByRole("heading", { name: `plan ${plan}` }).count()).toBe(1);
		expect(await page.getByText("Steps", { exact: true }).count()).toBe(0);
		expect(wrong).toEqual([]);
	});

	test("has its steps amended: what is wrong is said where it was typed, nothing typed is lost, and it is done as it was shown", async () => {
		await using house = await openPaused();
		const { writer, plan } = house;
		await using shown = await open(house);
		const { page, wrong } = shown;
		await page.getByText("Steps", { exact: true }).click();
		const dialog = await opened(page, `Amend plan ${plan}`);
		const { tip } = writer.wal;
		const step = dialog.getByRole("group", { name: /^c/ });
		const long = `<script>hit()</script>${"x".repeat(600)}`;
		await step.getByLabel("What it is to do").fill(long);
		await step.getByLabel("Comes after").fill("a, nobody");
		await dialog.getByRole("button", { name: "Add a step" }).click();
		const added = dialog.getByRole("group", { name: /^A new step/ });
		await added.getByLabel("Its name").fill("c");
		await page.keyboard.press("Enter");
		await added.getByText('there is a step "c" already').waitFor();
		await added.getByLabel("Its name").fill("4 d");
		await added.getByLabel("What it is to do").fill("Read D");
		await added.getByText("Tools, model").click();
		await added.getByLabel("The tools").fill("saw");
		await dialog.getByRole("button", { name: "Look at it" }).click();
		await step.getByText(/expected at most 500 characters; found 622/).waitFor();
		await added.getByText(/expected a short name such as s1.*found "4 d"/).waitFor();
		// It can be mended at once.
		await expect.poll(() => page.evaluate("document.activeElement?.value")).toBe(long);
		await added.getByLabel("Its name").fill("d");
		await step.getByLabel("What it is to do").fill("Say <b>all</b>");
		await dialog.getByRole("button", { name: "Look at it" }).click();
		await added.getByText(/step "d" wants the tool "saw"/).waitFor();
		await step.getByText(/step "c" depends on "nobody"; the steps are a, b, c, d/).waitFor();
		expect(await added.getByLabel("The tools").getAttribute("aria-invalid")).toBe("true");
		if (isDeep) expect(await violationsIn(page)).toEqual([]);
		await page.setViewportSize({ width: 320, height: 700 });
		expect(await dialog.evaluate("document.querySelector('dialog').scrollWidth > innerWidth")).toBe(false);
		await page.setViewportSize({ width: 1400, height: 900 });
		await added.getByLabel("The tools").fill("");
		await step.getByLabel("Comes after").fill("a, b, d");
		await dialog.getByRole("button", { name: "Look at it" }).click();
		await dialog.getByText("3 steps now, 4 then:").waitFor();
		await expect.poll(() => focused(page)).toBe("Back");
		expect(await dialog.getByRole("listitem").allTextContents()).toEqual([
			"a Read <b>A</b>",
			"b Read B",
			"− goes: c Write ⟨U+202E⟩it up · after a, b",
			"+ comes: c Say <b>all</b> · after a, b, d",
			"+ comes: d Read D",
		]);
		if (isDeep) expect(await violationsIn(page)).toEqual([]);
		expect(writer.wal.tip).toBe(tip);
		// Somebody else is faster: it is looked at again, with what was typed.
		await writer.amendPlan(plan, { describe: { c: "Meanwhile" } });
		await dialog.getByRole("button", { name: "Amend" }).click();
		await dialog.getByText("Something moved in between").waitFor();
		expect(await dialog.getByRole("listitem").allTextContents()).toContain("− goes: c Meanwhile · after a, b");
		await expect.poll(() => focused(page)).toBe("Back");
		await page.keyboard.press("Enter");
		expect(await step.getByLabel("What it is to do").inputValue()).toBe("Say <b>all</b>");
		await page.keyboard.press("Escape");
		await dialog.waitFor({ state: "hidden" });
		await opened(page, `Amend plan ${plan}`);
		expect(await step.getByLabel("What it is to do").inputValue()).toBe("Say <b>all</b>");
		expect(await added.getByLabel("Its name").inputValue()).toBe("d");
		await dialog.getByRole("button", { name: "Look at it" }).click();
		await dialog.getByRole("button", { name: "Amend" }).click();
		await dialog.waitFor({ state: "hidden" });
		expect((await writer.planSteps(plan)).map(({ id, description, needs }) => [id, description, needs])).toEqual([
			["a", "Read <b>A</b>", []],
			["b", "Read B", []],
			["c", "Say <b>all</b>", ["a", "b", "d"]],
			["d", "Read D", []],
		]);
		await page.getByText(`the change of the steps of plan ${plan}`).first().waitFor();
		expect(wrong.filter((each) => !/4(09|22)/.test(each))).toEqual([]);
		expect(await page.evaluate("hits")).toBe(0);
	});
});
