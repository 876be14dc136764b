/** Work that would go on with another model than it was begun with. */
import type { Runtime, SessionScope } from "@reyn/runtime";
import type { z } from "zod";
import type { modelChangedShape } from "./shapes.ts";
import { oneLine } from "./text.ts";

type ModelChanged = z.infer<typeof modelChangedShape>;

/** @returns undefined: it goes on with the same one, or what it was begun with is unknown */
export function modelChanged(
	runtime: Runtime,
	{ scope, model: from }: { readonly scope: SessionScope; readonly model?: string },
): ModelChanged | undefined {
	if (from === undefined) return undefined;
	const to = runtime.goesOnWith(scope, from);
	return to === from ? undefined : { from, to };
}

export const modelChangedText = ({ from, to }: ModelChanged): string =>
	`begun with ${oneLine(from, 60)}, goes on with ${oneLine(to, 60)}`;
