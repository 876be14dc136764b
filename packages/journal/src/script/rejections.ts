/** Catches unhandled rejections of a script's promises, which must not end the process of its host. */
import { standing } from "./standing.ts";

/** @param more how many more promises have failed, beyond those with a reason */
type Tell = (reasons: readonly unknown[], more: number) => void;

/** How many are told with their reasons: this is work of the host, which the time limit of the script does not cover. */
const TOLD = 1000;

/** The owner of each place. A promise itself cannot tell its owner, since the script may have changed its prototype. */
const owners = new WeakMap<symbol, Tell>();
/** Promises that have failed, which the script may await later. */
const told = new WeakSet<object>();
/** Failures that are about to be told, together. */
const waiting = new Map<Tell, { readonly reasons: unknown[]; more: number }>();
let isListening = false;

/** Makes a place for the code of a realm, whose unhandled rejections are given to `tell`. */
export function placeOf(tell: Tell): symbol {
	if (!isListening) listen();
	isListening = true;
	const place = Symbol();
	owners.set(place, tell);
	return place;
}

/** Makes the present place one of this realm. */
export function standsHere(tell: Tell): void {
	const place = standing.getStore();
	if (place) owners.set(place, tell);
}

/**
 * Filters the process's events of unhandled rejections: listeners of the host, one of which may end the process, do not get those of
 * scripts. Without listeners Node behaves as usual for all others.
 */
function listen(): void {
	const { emit } = process;
	process.emit = function (this: unknown, name: string, ...given: readonly unknown[]): boolean {
		return isOfScript(name, given) || Reflect.apply(emit, this, [name, ...given]);
	} as typeof emit;
}

function isOfScript(name: string, given: readonly unknown[]): boolean {
	switch (name) {
		case "unhandledRejection": {
			const [reason, promise] = given;
			// The event runs in the async context in which the promise failed; in Node 22, in which it was made.
			const tell = ownerHere();
			if (!tell) return false;
			told.add(promise as object);
			keep(tell, reason);
			return true;
		}
		case "rejectionHandled":
			return told.has(given[0] as object);
		case "multipleResolves":
			return ownerHere() !== undefined;
		default:
			return false;
	}
}

function keep(tell: Tell, reason: unknown): void {
	const kept = waiting.get(tell);
	if (!kept) {
		waiting.set(tell, { reasons: [reason], more: 0 });
		// Node does this when it has gone through all that has failed.
		standing.run(undefined, process.nextTick, tellAll, tell);
	} else if (kept.reasons.length < TOLD) kept.reasons.push(reason);
	else kept.more++;
}

function tellAll(tell: Tell): void {
	const { reasons = [], more = 0 } = waiting.get(tell) ?? {};
	waiting.delete(tell);
	tell(reasons, more);
}

function ownerHere(): Tell | undefined {
	const place = standing.getStore();
	return place && owners.get(place);
}
