/** Parses a command-line option that is a count. */
import { InvalidArgumentError } from "commander";

/** @throws InvalidArgumentError for anything but 1 to 9 digits */
export function wholeNumber(text: string): number {
	if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("expected a whole number.");
	return Number(text);
}
