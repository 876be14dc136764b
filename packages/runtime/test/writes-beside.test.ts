/**
 * Random histories of writes of one file that are looked at, started, made, refused, in doubt and tried again beside each other, while
 * nobody else changes it: nobody else is said to have. `REYN_SEED` sets the first one's seed.
 */
import { expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { type FileWrite, leftIn, othersIn } from "../src/features/files/file-writes.ts";
import { mainSession } from "../src/index.ts";

test("writes beside each other are nobody else's, from whatever moment on", () => {
	for (let i = 0; i < sample(2_000, 40_000); i++) {
		const { writes, present } = history(SEED + i);
		for (let at = 0; at < writes.length; at++) {
			const others = othersIn(writes.slice(at), present, leftIn(writes.slice(0, at)));
			expect([SEED + i, at, others]).toEqual([SEED + i, at, { between: false, since: false }]);
		}
	}
});

type Look = Pick<FileWrite, "before" | "after">;

function history(seed: number): { readonly writes: readonly FileWrite[]; readonly present: FileWrite["before"] } {
	const random = seeded(seed);
	const writes: FileWrite[] = [];
	let present: FileWrite["before"] = "0";
	let looks: Look[] = [];
	/** The places in `writes` of those that are at work, and of those whose process died. */
	let started: number[] = [];
	const doubted: number[] = [];
	const take = <T>(list: T[]): T | undefined => list.splice(random.below(list.length), 1)[0];
	const at = (index: number): FileWrite => writes[index] as FileWrite;
	const start = ({ before, after }: Look, more: Pick<FileWrite, "again"> = {}): void => {
		const scope = mainSession;
		const seq = writes.length + 1;
		started.push(writes.push({ path: "a", before, after, seq, scope, lane: "l", outcome: "open", ...more }) - 1);
	};
	const end = (index: number, outcome: FileWrite["outcome"]): void => {
		writes[index] = { ...at(index), outcome };
	};
	const act = [
		// Some leave it as it is, and some take it away, as another one may.
		() =>
			looks.push({
				before: present,
				after: random.pick([present, null, ...Array.from({ length: 6 }, () => `${random()}`)]),
			}),
		() => {
			const look = take(looks);
			if (look) start(look);
		},
		() => {
			const index = take(started);
			if (index === undefined) return;
			const { before, after } = at(index);
			const isMade = [before, after].includes(present) && random.chance(0.8);
			if (isMade) present = after;
			// Of some that were made, only the flush failed.
			end(index, isMade && random.chance(0.9) ? "done" : "failed");
		},
		// The process dies, before or after the write.
		() => {
			if (random.chance(0.6)) return;
			for (const index of started) if (at(index).before === present && random.chance(0.5)) present = at(index).after;
			doubted.push(...started);
			started = [];
			looks = [];
		},
		() => {
			const index = take(doubted);
			if (index === undefined) return;
			if (at(index).after === present) return end(index, "done");
			end(index, "failed");
			start(at(index), { again: true });
		},
	];
	for (let i = 0; i < 20; i++) random.pick(act)();
	return { writes, present };
}
