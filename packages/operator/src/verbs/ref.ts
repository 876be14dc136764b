/** Params that several verbs take. */

import { mainSession } from "@reyn/runtime";
import { z } from "zod";
import { sessionText } from "../lines/scope.ts";
import { choice, option, word } from "../param.ts";
import { type ScopeWidth, scopeWidths } from "../refs.ts";

export const ref = word(
	"ref",
	"142, @ (the tip), @-3 (checkpoints back), b7 (the end of a branch), a label",
	z.string(),
);

export const session = option("session", "in which session", z.string().pipe(sessionText).default(mainSession));

/** How many are wanted: the newest. */
export const newest = (help: string) => option("count", help, z.coerce.number().int().positive().optional());

export const scopeWidth = choice<ScopeWidth>(
	"scope",
	"whose history goes back: everything, or that of the agent or session at the ref",
	scopeWidths,
	"process",
);
