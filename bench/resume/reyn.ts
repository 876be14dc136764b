/** Our journal, a directory for each name. A step is a model call or an effect; both are one call of `step`. */
import { join } from "node:path";
import { type Journal, openJournal, type StepOptions } from "@reyn/journal";
import { type Open, promptOf } from "./work.ts";

type Purity = NonNullable<StepOptions<string>["purity"]>;

const USAGE = { inputTokens: 20, outputTokens: 256 };

/** Paid for: recorded when it was answered, and on disk before the next one. */
export const openModelCalls: Open = over("llm", (journal) => journal.durable());

/** As they are meant: the start is on disk before the call, and the outcome goes there with the next start. */
export const openEffects: Open = over("side_effect", async () => {});

/** The outcome is on disk before the next one too. */
export const openEffectsWithOutcomes: Open = over("side_effect", (journal) => journal.durable());

function over(purity: Purity, recorded: (journal: Journal) => Promise<void>): Open {
	return async (directory, work, call) => {
		const run = async (name: string, input: Parameters<typeof work>[0]): Promise<void> => {
			await using journal = await openJournal(join(directory, name));
			const usage = purity === "llm" ? { usage: () => USAGE } : {};
			await work(input, async (index) => {
				const options = { purity, args: { prompt: promptOf(index) }, ...usage };
				const answer = await journal.step("answer", () => call(index), options);
				await recorded(journal);
				return answer;
			});
		};
		return { start: run, resume: run };
	};
}
