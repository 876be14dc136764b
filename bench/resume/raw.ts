/** The least that durable steps can be: a write and a sync each, in space allocated ahead. Its resume reads the lines again. */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Entry, recordOf } from "../entry.ts";
import { parseLines } from "./lines.ts";
import type { Open } from "./work.ts";

/** More than a line has. */
const ALLOCATED_PER_STEP = 2048;

export const openRaw: Open = async (directory, work, call) => {
	const pathOf = (name: string): string => join(directory, `${name}.jsonl`);
	return {
		async start(name, input) {
			const file = openSync(pathOf(name), "wx");
			writeSync(file, Buffer.alloc(input.steps * ALLOCATED_PER_STEP, "\n"));
			fdatasyncSync(file);
			let end = 0;
			await work(input, async (index) => {
				const text = await call(index);
				end += writeSync(file, `${JSON.stringify(recordOf({ key: name, text, version: index }))}\n`, end);
				fdatasyncSync(file);
				return text;
			});
			closeSync(file);
		},
		async resume(name, input) {
			const answers: string[] = [];
			parseLines(pathOf(name), (line) => answers.push((line as { readonly data: Entry }).data.text));
			await work(input, async (index) => answers[index] ?? call(index));
		},
	};
};
