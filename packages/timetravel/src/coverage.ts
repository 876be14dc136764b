/** Checks what a move is asked to cover, since that may come from outside: the parts of a scope, and kinds by name. */
import { z } from "zod";
import { TimetravelError } from "./errors.ts";
import type { Coverage } from "./undo.ts";

const name = z.string().min(1).optional();
const shape = z.object({
	scope: z.strictObject({ agent: name, session: name, run: name }),
	drop: z.array(z.string()).optional(),
});

/** @throws TimetravelError `TIMETRAVEL_COVERAGE` */
export function assertCoverage(coverage: Coverage): void {
	const { error } = shape.safeParse(coverage);
	if (!error) return;
	const wrong = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
	throw new TimetravelError(
		"TIMETRAVEL_COVERAGE",
		`expected a scope of agent, session and run, and \`drop\` as a list of kinds of record; got ${wrong}. Nothing was written`,
		{ wrong },
	);
}
