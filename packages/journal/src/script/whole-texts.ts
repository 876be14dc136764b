/** What an answer is held against has whole characters: half of one is another one in the log, so the answer would be none of them. */
import { JournalError } from "../errors.ts";

/** @throws JournalError `SCRIPT_INVALID` */
export function assertWhole(call: string, option: string, value: unknown): void {
	if (isWhole(value)) return;
	throw new JournalError(
		"SCRIPT_INVALID",
		`ctx.${call}(): expected the option "${option}" to have whole characters; found half of one: cut texts with Array.from(text)`,
		{ call },
	);
}

function isWhole(value: unknown): boolean {
	if (typeof value === "string") return value.isWellFormed();
	if (typeof value !== "object" || value === null) return true;
	return Object.entries(value).every((each) => each.every(isWhole));
}
