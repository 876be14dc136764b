/** The page of a house in a browser, as a person opens it. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Served, serve } from "../src/server/index.ts";
import type { House } from "./served.ts";

export interface Shown extends AsyncDisposable {
	readonly page: Page;
	readonly served: Served;
	readonly context: BrowserContext;
	/** What the policy of the page stopped, and what it failed with. */
	readonly wrong: string[];
}

/** A page of its own address, as a person opens it. */
export async function show(
	browser: Browser,
	of: House,
	how: Parameters<Browser["newContext"]>[0] = {},
): Promise<Shown> {
	const served = await serve(of.subject);
	const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...how });
	context.setDefaultTimeout(120_000);
	const page = await context.newPage();
	const wrong: string[] = [];
	page.on("pageerror", ({ message }) => wrong.push(message));
	page.on("console", (said) => {
		// That there is no record of the beginning is an answer, which the browser notes as an error of its own.
		const isAnswer = said.text().startsWith("Failed to load resource: the server responded with a status of 404");
		if (said.type() === "error" && !isAnswer) wrong.push(said.text());
	});
	await page.addInitScript("globalThis.hits = 0; globalThis.hit = () => { globalThis.hits = 1; };");
	await page.goto(served.address);
	await page.locator('[role="treeitem"]').first().waitFor();
	return {
		...{ page, served, context, wrong },
		async [Symbol.asyncDispose]() {
			await context.close();
			await served.close();
		},
	};
}

/** What keeps somebody from it who cannot see it, or cannot use a mouse. */
export const violationsIn = async (page: Page): Promise<readonly string[]> =>
	(await new AxeBuilder({ page }).analyze()).violations.map(
		({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`,
	);
