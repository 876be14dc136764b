/** Which records a reader wants. */
import type { Wants } from "./engine/engine.ts";
import { type Scope, within } from "./record/record.ts";
import type { Range } from "./wal.ts";

export function isIn(kinds: readonly string[]): (kind: string) => boolean {
	const named = new Set(kinds);
	return (kind) => named.has(kind);
}

export function wanting(scope: Scope = {}, kinds: Range["kinds"] = undefined): Wants {
	const inScope: Wants = (_, each) => within(each, scope);
	if (!kinds) return inScope;
	const isNamed = isIn("only" in kinds ? kinds.only : kinds.except);
	const isOnly = "only" in kinds;
	return (kind, each) => isNamed(kind) === isOnly && inScope(kind, each);
}
