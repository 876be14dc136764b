/** What database writers have told, kept outside of them; and whether the disk keeps to it. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { openDatabase, type Row, rowsOf } from "./database.ts";

type Rows = readonly Row[];

class Ledger {
	/** What the database holds. */
	rows: Rows = [];
	/** What it may hold instead, since something was begun that has not been said to be done. */
	instead: Rows | undefined;
	/** What was to be captured, by seq. */
	readonly contents = new Map<number, Rows>();
	/** Captured, and not about to be pruned. */
	readonly sure = new Set<number>();
	readonly pruned = new Set<number>();

	/** The lines of writers that came one after another. */
	constructor(lines: readonly string[]) {
		for (const line of lines) {
			const [word = "", told = ""] = line.split(" ");
			this.#read(word, told);
		}
	}

	#read(word: string, told: string): void {
		const seqs = told.split(",").map(Number);
		const [seq = 0] = seqs;
		switch (word) {
			case "adding":
				this.instead = [...this.rows, told];
				break;
			case "restoring":
				this.instead = this.contents.get(seq);
				break;
			case "added":
			case "restored":
				this.rows = this.instead ?? [];
				this.instead = undefined;
				break;
			case "capturing":
				this.contents.set(seq, this.rows);
				break;
			case "captured":
				this.sure.add(seq);
				break;
			case "pruning":
				for (const each of seqs) this.sure.delete(each);
				break;
			case "pruned":
				for (const each of seqs) this.pruned.add(each);
				break;
		}
	}
}

export interface Checked {
	/** Generations that are there, each whole. */
	readonly generations: number;
	/** Does the database hold what was being added or restored, and not said to be done? */
	readonly ahead: boolean;
}

/**
 * Restores every generation, captures once more and prunes the rest. Throws when what is there is not what the writers told.
 *
 * @param before how many lines were told before the power went. While it goes a sync may say that it is done and not be: what
 * was told meanwhile may be there or not
 */
export async function checkDatabase(
	directory: string,
	lines: readonly string[],
	before = lines.length,
): Promise<Checked> {
	const ledgers = [new Ledger(lines.slice(0, before))];
	for (let end = before + 1; end <= lines.length; end++) ledgers.push(new Ledger(lines.slice(0, end)));
	const [certain, last] = [ledgers[0], ledgers.at(-1)] as const;
	assert.ok(certain && last);
	const generations = openDatabase(directory, "today");
	const rows = (what: string): Rows => {
		assert.equal(generations.database.pragma("integrity_check", { simple: true }), "ok", what);
		return rowsOf(generations.database);
	};
	try {
		const names = await readdir(directory, { recursive: true });
		assert.ok(!names.some((name) => /\.(tmp|restore)/.test(name)), `left lying about: ${names}`);
		const found = rows("the database");
		const states = ledgers.flatMap(({ rows, instead }) => (instead === undefined ? [rows] : [rows, instead]));
		if (!states.some((state) => isDeepStrictEqual(state, found))) assert.deepEqual(found, certain.rows, "the database");

		const list = generations.list();
		for (const seq of certain.sure)
			assert.ok(list.includes(seq) || !last.sure.has(seq), `generation ${seq} is not there any more`);
		for (const seq of list) {
			assert.ok(!certain.pruned.has(seq), `generation ${seq} was pruned`);
			await generations.restoreToSeq(seq, (at) => at === seq);
			assert.deepEqual(rows(`generation ${seq}`), last.contents.get(seq), `generation ${seq}`);
		}
		const [again, left] = [Number.MAX_SAFE_INTEGER, rows("before the last capture")];
		await generations.capture(again);
		const pruned = generations.prune((seq) => seq === again);
		assert.deepEqual(pruned, list);
		assert.equal((await readdir(join(directory, "generations"))).length, 2, "a prune leaves what is kept and no more");
		await generations.restoreToSeq(again, () => true);
		assert.deepEqual(rows("after it"), left, "captured and restored once more");
		return { generations: list.length, ahead: !isDeepStrictEqual(found, certain.rows) };
	} finally {
		generations.close();
	}
}
