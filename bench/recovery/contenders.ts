/** The ways to read a log that are compared. Each runs in a process of its own, which tells its time and its memory. */
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { openWal, type WalRecord } from "@reyn/wal";
import { apply, type Entries, records } from "../entries.ts";

export const contenderNames = ["floor", "floor with state", "read", "full", "open"] as const;
export type ContenderName = (typeof contenderNames)[number];

/** A contender gives how many lines or records it saw, and what it holds at the end. */
type Contender = (directory: string) => Promise<{ readonly seen: number; readonly state: unknown }>;

export const contenders: Readonly<Record<ContenderName, Contender>> = {
	/** The least that any reader of these lines can do: chunks, line ends, JSON.parse. */
	async floor(directory) {
		let seen = 0;
		for (const path of segments(directory)) seen += parseLines(path, () => {});
		return { seen, state: undefined };
	},
	/** The same, and what is read goes into the state: what a state alone costs. */
	async "floor with state"(directory) {
		const state: Entries = new Map();
		let seen = 0;
		for (const path of segments(directory)) seen += parseLines(path, (line) => apply(state, line as WalRecord));
		return { seen, state };
	},
	/** Every line checked, every record through its schema, and nothing kept: what the log's reader costs. */
	async read(directory) {
		await using wal = await openWal(directory, { records, readOnly: true });
		let seen = 0;
		for await (const _ of wal.read()) seen++;
		return { seen, state: undefined };
	},
	/** Recovery without a snapshot: the two together. */
	async full(directory) {
		await using wal = await openWal(directory, { records, readOnly: true });
		const state: Entries = new Map();
		let seen = 0;
		for await (const record of wal.read()) {
			apply(state, record);
			seen++;
		}
		return { seen, state };
	},
	/** Opening to append, and closing: what a start costs when a snapshot has the rest. */
	async open(directory) {
		await using wal = await openWal(directory, { records });
		return { seen: wal.tip, state: undefined };
	},
};

function segments(directory: string): string[] {
	return readdirSync(directory)
		.filter((name) => name.endsWith(".jsonl"))
		.sort((a, b) => (a === "wal.jsonl" ? 1 : b === "wal.jsonl" ? -1 : a < b ? -1 : 1))
		.map((name) => join(directory, name));
}

function parseLines(path: string, use: (line: unknown) => void): number {
	const file = openSync(path, "r");
	const chunk = Buffer.allocUnsafe(1024 * 1024);
	let rest = "";
	let seen = 0;
	try {
		for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
			let start = 0;
			for (let end = chunk.indexOf(0x0a); end !== -1 && end < read; end = chunk.indexOf(0x0a, start)) {
				use(JSON.parse(rest + chunk.toString("latin1", start, end)));
				rest = "";
				seen++;
				start = end + 1;
			}
			rest += chunk.toString("latin1", start, read);
		}
	} finally {
		closeSync(file);
	}
	return seen;
}
