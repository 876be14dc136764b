/** `gc`: the only verb that takes anything away, and it says first what. */
import { z } from "zod";
import { collectionLines } from "../lines/collection.ts";
import { option } from "../param.ts";
import { collectionShape, seq } from "../shapes.ts";
import { writeVerb } from "../verb.ts";

const count = z.coerce.number("expected a whole number").int("expected a whole number").nonnegative();
const policy = z.object({ keepDays: seq, keepCheckpoints: seq });

export const gc = writeVerb({
	name: "gc",
	summary: "take away history that is older than you keep, and files that nothing refers to; labels and live work stay",
	params: {
		keepDays: option("n", "days that stay, at least", count.default(30)),
		keepCheckpoints: option("n", "checkpoints that stay, at least", count.default(200)),
	},
	example: "--keep-days 7 --dry-run",
	isUnsigned: true,
	seen: collectionShape.extend({ policy }),
	done: collectionShape,
	look: async (runtime, policy) => ({ ...(await runtime.gc({ ...policy, dryRun: true })), policy }),
	nothing(seen) {
		const { retainedFrom, was, snapshots, chunks, artifacts } = seen;
		const isIdle = retainedFrom === was && snapshots + chunks + artifacts.files === 0;
		return isIdle ? collectionLines(seen, seen.policy, "would go") : undefined;
	},
	shown: (seen) => collectionLines(seen, seen.policy, "would go"),
	question: () => "take this away for good?",
	// What has become old since it was shown stays.
	act: (runtime, { policy, retainedFrom }) => runtime.gc({ ...policy, before: retainedFrom }),
	// Nothing records it. Done again it takes nothing more away.
	isDoneBy: () => false,
	lines: (done, _say, { policy }) => collectionLines(done, policy, "went"),
});
