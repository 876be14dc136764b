/** A tab that shows the page, and what it takes of its browser. */
import type { Browser, CDPSession, Page } from "playwright-core";

export class Tab {
	readonly page: Page;
	/** From the asking for the page to the first row of the history. */
	readonly rowsMs: number;
	/** Of the first window of the history. */
	readonly firstAnswerBytes: number;
	readonly #cdp: CDPSession;

	private constructor(page: Page, cdp: CDPSession, rowsMs: number, firstAnswerBytes: number) {
		this.page = page;
		this.#cdp = cdp;
		this.rowsMs = rowsMs;
		this.firstAnswerBytes = firstAnswerBytes;
	}

	static async open(browser: Browser, address: string): Promise<Tab> {
		const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
		const page = await context.newPage();
		const cdp = await context.newCDPSession(page);
		await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
		await page.addInitScript(`
			globalThis.seen = [];
			new MutationObserver(() => {
				const seq = Number(/#(\\d+)/.exec(document.querySelector('[role="treeitem"]')?.textContent ?? "")?.[1] ?? 0);
				if (seq > (globalThis.seen.at(-1)?.seq ?? 0)) globalThis.seen.push({ seq, at: Date.now() });
			}).observe(document, { subtree: true, childList: true, characterData: true });
		`);
		const first = page.waitForResponse((response) => response.url().endsWith("/api/read"));
		const from = performance.now();
		await page.goto(address);
		await page.locator('[role="treeitem"]').first().waitFor();
		const rowsMs = performance.now() - from;
		return new Tab(page, cdp, rowsMs, (await (await first).body()).length);
	}

	/** Milliseconds of the page's main thread while something is done. */
	async cpuMs(act: () => Promise<unknown>): Promise<number> {
		const before = await this.#taskMs();
		await act();
		return (await this.#taskMs()) - before;
	}

	rowsInDom(): Promise<number> {
		return this.page.locator('[role="treeitem"]').count();
	}

	/** When each newest record was first on the page. */
	seen(): Promise<readonly { readonly seq: number; readonly at: number }[]> {
		return this.page.evaluate("globalThis.seen");
	}

	close(): Promise<void> {
		return this.page.context().close();
	}

	async #taskMs(): Promise<number> {
		const { metrics } = await this.#cdp.send("Performance.getMetrics");
		return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1000;
	}
}
