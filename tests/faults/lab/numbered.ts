/** The record that the faults write: a number and some text. */
import { defineRecord } from "@reyn/wal";

export interface Numbered {
	readonly n: number;
	readonly text: string;
}

export const numbered = defineRecord<Numbered, Numbered>("numbered", {
	"~standard": {
		version: 1,
		vendor: "faults",
		validate: (value) =>
			typeof value === "object" && value !== null && "n" in value && "text" in value
				? { value: value as Numbered }
				: { issues: [{ message: "expected { n, text }" }] },
	},
});
