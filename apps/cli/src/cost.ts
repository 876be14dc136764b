/** What tokens cost, for the places that show tokens. */
import { type Cost, costInWords, inDollars } from "@reyn/journal";
import { picodollars } from "@reyn/journal/internal";

/** Goes behind tokens, where it is known and not nothing. */
export const costBehind = (cost: Cost, sign: string): string => (cost.usd === "0" ? "" : `${sign}${costInWords(cost)}`);

export const costTogether = (a: Cost, b: Cost): Cost => ({
	usd: inDollars(picodollars(a.usd) + picodollars(b.usd)),
	unknown: a.unknown + b.unknown,
});
