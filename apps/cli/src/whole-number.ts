import { InvalidArgumentError } from "commander";

/** An option that is a count. */
export function wholeNumber(text: string): number {
	if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("expected a whole number.");
	return Number(text);
}
