/** What tokens cost, for the places that show tokens. */
import { type Cost, costInWords } from "@reyn/journal";

/** Goes behind tokens, where it is known and not nothing. */
export const costBehind = (cost: Cost, sign: string): string => (cost.usd === "0" ? "" : `${sign}${costInWords(cost)}`);
