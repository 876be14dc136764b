/**
 * The program that is killed, starved and lied to: `writer.ts <directory> <options as JSON>`. It opens the log, appends
 * numbered records, and prints what was acknowledged only once it is, so that whoever started it has a ledger outside:
 *
 *     opened <tip> <torn bytes>
 *     acked <seq> <crc>
 *     error <code> <message>
 *
 * With `hold` it then takes commands, a line each: `append <count>`, `read`, `lag`, `close`.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { type Appended, fileEngine, type LogFileOptions, openWal, type Wal } from "@reyn/wal";
import { numbered } from "./numbered.ts";

export interface WriterOptions extends Partial<LogFileOptions> {
	/** How many records; without it, until it is killed. */
	readonly count?: number;
	/** Records in a batch. Default: 4. */
	readonly batch?: number;
	/** Characters of text in each. Default: 40. */
	readonly bytes?: number;
	/** Take commands afterwards. */
	readonly hold?: boolean;
}

const [directory = "", text = "{}"] = process.argv.slice(2);
const {
	count = Number.POSITIVE_INFINITY,
	batch = 4,
	bytes = 40,
	hold = false,
	...files
} = JSON.parse(text) as WriterOptions;

const say = (...words: readonly unknown[]): void => void process.stdout.write(`${words.join(" ")}\n`);
const delay = monitorEventLoopDelay({ resolution: 5 });
let n = 0;
/** How often a timer of 1 ms came round while a batch was waited for. */
let turns = 0;

const wal = await attempt(() => openWal(fileEngine(directory, files), { records: [numbered] }));
if (wal) {
	say("opened", wal.tip, wal.torn?.bytes ?? 0);
	delay.enable();
	for (let left = count; left > 0; left -= batch) if (!(await append(wal, Math.min(left, batch)))) break;
	if (hold) {
		say("holding");
		for await (const line of createInterface({ input: process.stdin })) await obey(wal, line);
	}
	await attempt(() => wal.close());
}

async function append(to: Wal, records: number): Promise<boolean> {
	const done = await attempt(async () => {
		const appended: Appended[] = [];
		for (let i = 0; i < records; i++) appended.push(to.append(numbered({ n: ++n, text: "x".repeat(bytes) }), {}));
		const timer = setInterval(() => turns++, 1);
		// Resolves too when the disk is full: what waits then is acknowledged later, or never.
		for await (const _ of to.read({ after: to.tip })) break;
		clearInterval(timer);
		const acked = (): void =>
			void process.stdout.write(appended.map(({ record: { seq, crc } }) => `acked ${seq} ${crc}\n`).join(""));
		const durable = appended.at(-1)?.durable;
		if (to.durableTip < to.tip) {
			durable?.then(acked, () => {});
			to.append(numbered({ n: ++n, text: "" }), {}); // says why
			return false;
		}
		await durable;
		acked();
		return true;
	});
	return done === true;
}

async function obey(to: Wal, line: string): Promise<void> {
	const [command, argument] = line.split(" ");
	switch (command) {
		case "append":
			await append(to, Number(argument));
			break;
		case "read":
			await attempt(async () => {
				let last = 0;
				for await (const { seq } of to.read({ through: to.durableTip })) last = seq;
				say("read", last);
			});
			break;
		case "lag":
			say("lag", (delay.percentile(99) / 1e6).toFixed(1), (delay.max / 1e6).toFixed(1), turns);
			break;
		case "close":
			await attempt(async () => {
				await to.close();
				say("closed");
			});
			break;
	}
	say("done", command);
}

async function attempt<T>(run: () => Promise<T>): Promise<T | undefined> {
	try {
		return await run();
	} catch (error) {
		const { code = "?", message, detail } = error as { code?: string; message: string; detail?: { code?: string } };
		say("error", code, detail?.code ?? "-", message);
		process.exitCode = 1;
		return undefined;
	}
}
