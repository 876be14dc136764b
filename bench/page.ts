/** What the page takes of a machine: to be there, to be moved through, and to say what going far back would do. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { openBrowser } from "../apps/ui/test/browser.ts";
import { median, quantile } from "./figures.ts";
import { atMost, type Goal, goalTable } from "./goals.ts";
import { type Machine, machine, machineLine } from "./machine.ts";
import { oneTurn, Server } from "./page/server.ts";
import { Tab } from "./page/tab.ts";
import { Rival } from "./rival.ts";
import { inScratch } from "./scratch.ts";
import { short, table } from "./table.ts";

/** Milliseconds, of CPU but for those of somebody who waits; KiB and MiB. */
const goals = { rows: 200, answerKiB: 64, keyMs: 12, frameMs: 4, taskMs: 50, serverMiB: 150, seenMs: 250 };
/** To be there, beside the page of one turn. */
const there = { times: 1.5, andMs: 500 };

/** Before it the log says who writes. */
const FIRST_TURN = 2;
const KEYS = 50;
const WHEELS = 100;

export interface PageOptions {
	/** Of each log. */
	readonly records: readonly number[];
	readonly branches: number;
	/** So many times a page is opened, in a process that has just started. */
	readonly rounds: number;
	/** So many records come from another process while the page is shown. */
	readonly prompts: number;
	/** So many seconds nothing happens before the memory is looked at: V8 gives back what it does not need. */
	readonly rest: number;
	readonly json: boolean;
}

interface Row {
	readonly records: number;
	readonly branches: number;
	/** Medians. */
	readonly rowsMs: number;
	readonly emptyRowsMs: number;
	readonly rowsInDom: number;
	readonly firstAnswerKiB: number;
	readonly keyMs: number;
	readonly frameMs: number;
	readonly taskMs: number;
	readonly farMs: number;
	readonly farServerMs: number;
	/** At rest, with the page still shown; and the most before. */
	readonly serverMiB: number;
	readonly peakMiB: number;
	readonly seenMs: { readonly p50: number; readonly p99: number; readonly of: number };
}

interface Report {
	readonly bench: "page";
	readonly machine: Machine;
	readonly fileSystem: string;
	readonly rounds: number;
	readonly rows: readonly Row[];
	readonly goals: readonly Goal[];
}

export async function benchPage({ records, branches, rounds, prompts, rest, json }: PageOptions): Promise<void> {
	const browser = await openBrowser();
	try {
		await inScratch(async (directory, fileSystem) => {
			const empty = join(directory, "empty/state");
			await write(empty, 1, 0);
			const rows: Row[] = [];
			for (const count of records) {
				const state = join(directory, `${count}/state`);
				const written = await write(state, count, branches);
				rows.push({ ...written, ...(await measure(browser, { state, empty, rounds, prompts, rest })) });
			}
			const report: Report = { bench: "page", machine: machine(), fileSystem, rounds, rows, goals: judge(rows) };
			console.log(json ? JSON.stringify(report, null, "\t") : textOf(report));
		});
	} finally {
		await browser.close();
	}
}

async function write(state: string, records: number, branches: number): Promise<Pick<Row, "records" | "branches">> {
	const writer = await rival("write.ts", state, String(records), String(branches));
	try {
		const { found } = await writer.ask<{ found: Pick<Row, "records" | "branches"> }>({});
		oneTurn(state);
		return found;
	} finally {
		await writer.end();
	}
}

interface Measured {
	readonly state: string;
	readonly empty: string;
	readonly rounds: number;
	readonly prompts: number;
	readonly rest: number;
}

async function measure(
	browser: Browser,
	{ state, empty, rounds, prompts, rest }: Measured,
): Promise<Omit<Row, "records" | "branches">> {
	const [rowsMs, emptyRowsMs]: [number[], number[]] = [[], []];
	for (let round = 0; round < rounds; round++) {
		emptyRowsMs.push(await rowsOf(browser, empty));
		rowsMs.push(await rowsOf(browser, state));
	}
	const server = await Server.start(state);
	try {
		const tab = await Tab.open(browser, server.address);
		const rowsInDom = await tab.rowsInDom();
		const seenMs = await seen(tab, state, prompts);
		const keyMs = await perKey(tab);
		const frameMs = await perFrame(tab);
		const taskMs = await longestTask(browser, tab);
		const { farMs, farServerMs } = await far(tab, server);
		await sleep(rest * 1000);
		const { now: serverMiB, peak: peakMiB } = await server.memoryMiB();
		await tab.close();
		return {
			...{ rowsMs: median(rowsMs), emptyRowsMs: median(emptyRowsMs), rowsInDom },
			...{ firstAnswerKiB: tab.firstAnswerBytes / 1024, keyMs, frameMs, taskMs },
			...{ farMs, farServerMs, serverMiB, peakMiB, seenMs },
		};
	} finally {
		await server.end();
	}
}

async function rowsOf(browser: Browser, state: string): Promise<number> {
	const server = await Server.start(state);
	try {
		const tab = await Tab.open(browser, server.address);
		await tab.close();
		return tab.rowsMs;
	} finally {
		await server.end();
	}
}

/** Down through the history, slowly enough that each moment is shown. */
async function perKey(tab: Tab): Promise<number> {
	await tab.page.locator("#tree").focus();
	const all = await tab.cpuMs(async () => {
		for (let i = 0; i < KEYS; i++) {
			await tab.page.keyboard.press("j");
			await sleep(200);
		}
	});
	return all / KEYS;
}

/** By the wheel, as fast as frames come. */
async function perFrame(tab: Tab): Promise<number> {
	await tab.page.evaluate(
		"globalThis.frames = 0; (function next() { globalThis.frames++; requestAnimationFrame(next); })()",
	);
	const all = await tab.cpuMs(() => scroll(tab, 120));
	return all / (await tab.page.evaluate<number>("globalThis.frames"));
}

async function scroll({ page }: Tab, by: number): Promise<void> {
	await page.locator("#tree").hover();
	for (let i = 0; i < WHEELS; i++) {
		await page.mouse.wheel(0, by);
		await sleep(16);
	}
}

/** The same again, traced, which costs something itself: the longest task of the page, in milliseconds of CPU. */
async function longestTask(browser: Browser, tab: Tab): Promise<number> {
	await browser.startTracing(tab.page, { categories: ["toplevel", "__metadata"] });
	await scroll(tab, -120);
	const { traceEvents } = JSON.parse((await browser.stopTracing()).toString("utf8")) as { traceEvents: TraceEvent[] };
	const threads = new Map(
		traceEvents.map(({ name, pid, tid, args }) => [name === "thread_name" ? `${pid} ${tid}` : "", args?.name]),
	);
	const own = traceEvents.filter(({ pid, tid }) => threads.get(`${pid} ${tid}`) === "CrRendererMain");
	return Math.max(0, ...own.map(({ tdur = 0 }) => tdur / 1000));
}

/** In microseconds. */
interface TraceEvent {
	readonly name: string;
	readonly pid: number;
	readonly tid: number;
	/** Of CPU. */
	readonly tdur?: number;
	readonly args?: { readonly name?: string };
}

/** What going to the very first turn would do: until it is said, and what that takes of the server. */
async function far(tab: Tab, server: Server): Promise<Pick<Row, "farMs" | "farServerMs">> {
	const cpu = await server.cpuMs();
	const from = performance.now();
	await tab.page.evaluate(`location.hash = "#/m/${FIRST_TURN}"`);
	await tab.page.getByRole("heading", { name: `Going to #${FIRST_TURN}` }).waitFor();
	await tab.page.locator('.preview[aria-busy="false"]').waitFor();
	return { farMs: performance.now() - from, farServerMs: (await server.cpuMs()) - cpu };
}

/** Records of another process, each from when it is durable to when the page shows it. */
async function seen(tab: Tab, state: string, prompts: number): Promise<Row["seenMs"]> {
	const asker = await rival("ask.ts", state);
	try {
		const durable: { readonly seq: number; readonly at: number }[] = [];
		for (let i = 0; i < prompts; i++) {
			durable.push((await asker.ask<{ found: { seq: number; at: number } }>({})).found);
			// Whoever writes without a pause shows how much is shown at once, and not how soon.
			await sleep(50);
		}
		await sleep(1000);
		const shown = await tab.seen();
		const late = durable.map(({ seq, at }) => {
			const first = shown.find((each) => each.seq >= seq);
			return first ? Math.max(0, first.at - at) : Number.POSITIVE_INFINITY;
		});
		return { p50: median(late), p99: quantile(late, 0.99), of: prompts };
	} finally {
		await asker.end();
	}
}

async function rival(program: string, ...args: string[]): Promise<Rival> {
	const started = await Rival.start(program, join(import.meta.dirname, "page", program), ...args);
	if (started instanceof Rival) return started;
	throw new Error(started.skipped);
}

function judge(rows: readonly Row[]): Goal[] {
	return rows.flatMap(({ records, seenMs, ...row }) => {
		const of = (what: string): string => `${records} records: ${what}`;
		return [
			atMost(of("rows on screen, ms"), row.rowsMs, Math.round(row.emptyRowsMs * there.times + there.andMs)),
			atMost(of("rows in the DOM"), row.rowsInDom, goals.rows),
			atMost(of("first answer, KiB"), row.firstAnswerKiB, goals.answerKiB),
			atMost(of("an arrow key, ms of CPU"), row.keyMs, goals.keyMs),
			atMost(of("a frame of scrolling, ms of CPU"), row.frameMs, goals.frameMs),
			atMost(of("longest task of scrolling, ms of CPU"), row.taskMs, goals.taskMs),
			atMost(of("the server in memory at rest, MiB"), row.serverMiB, goals.serverMiB),
			atMost(of("a record of another process on the page, p99, ms"), seenMs.p99, goals.seenMs),
		];
	});
}

function textOf({ machine: on, fileSystem, rounds, rows, goals: judged }: Report): string {
	return [
		`the page; rows on screen are medians of ${rounds} openings, on ${fileSystem}`,
		machineLine(on),
		"",
		table(
			["", ...rows.map(({ records, branches }) => `${records} records, ${branches} branches`)],
			[
				["rows on screen, ms", ...rows.map(({ rowsMs }) => short(rowsMs))],
				["the same with one turn", ...rows.map(({ emptyRowsMs }) => short(emptyRowsMs))],
				["rows in the DOM", ...rows.map(({ rowsInDom }) => String(rowsInDom))],
				["first answer, KiB", ...rows.map(({ firstAnswerKiB }) => short(firstAnswerKiB))],
				["an arrow key, ms of CPU", ...rows.map(({ keyMs }) => short(keyMs))],
				["a frame of scrolling, ms of CPU", ...rows.map(({ frameMs }) => short(frameMs))],
				["longest task of scrolling, ms of CPU", ...rows.map(({ taskMs }) => short(taskMs))],
				["what going to the first turn would do, ms", ...rows.map(({ farMs }) => short(farMs))],
				["the server for it, ms of CPU", ...rows.map(({ farServerMs }) => short(farServerMs))],
				["the server in memory at rest, MiB", ...rows.map(({ serverMiB }) => short(serverMiB))],
				["the same at most before, MiB", ...rows.map(({ peakMiB }) => short(peakMiB))],
				[
					"a record of another process on the page, ms, p50 and p99",
					...rows.map(({ seenMs: { p50, p99, of } }) => `${short(p50)}, ${short(p99)} of ${of}`),
				],
			],
		),
		"",
		goalTable(judged),
	].join("\n");
}
