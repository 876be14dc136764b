/** What a turn that goes on had paid for in processes before: its cost does not begin anew with each. */
import { type Cost, Payments } from "@reyn/journal";
import { Bill, priceFor } from "@reyn/journal/internal";
import type { Runtime } from "@reyn/runtime";
import type { Seq } from "@reyn/wal";

export interface Paid {
	readonly tokens: number;
	readonly cost: Cost;
}

/** @param turn undefined: none goes on. Reads the log from its prompt on. */
export async function paidBefore(
	{ wal, prices }: Pick<Runtime, "wal" | "prices">,
	turn: Seq | undefined,
): Promise<Paid> {
	const bill = new Bill();
	let tokens = 0;
	if (turn === undefined) return { tokens, cost: bill.cost };
	const payments = new Payments();
	for await (const record of wal.read({ after: turn })) {
		const payment = payments.take(record);
		if (payment?.work !== `turn/${turn}` || payment.how === "recalled") continue;
		const { usage } = payment;
		tokens += usage ? usage.inputTokens + usage.outputTokens : 0;
		bill.add(usage, priceFor(prices, payment));
	}
	return { tokens, cost: bill.cost };
}
