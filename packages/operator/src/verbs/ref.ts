/** Params that several verbs take. */

import { z } from "zod";
import { choice, word } from "../param.ts";
import { type ScopeWidth, scopeWidths } from "../refs.ts";

export const ref = word(
	"ref",
	"142, @ (the tip), @-3 (checkpoints back), b7 (the end of a branch), a label",
	z.string(),
);

export const scopeWidth = choice<ScopeWidth>(
	"scope",
	"whose history goes back: everything, or that of the agent or session at the ref",
	scopeWidths,
	"process",
);
