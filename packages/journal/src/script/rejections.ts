/** Promises of a script that fail while nobody waits for them: they must not end the process of its host. */
import { standing } from "./standing.ts";

/** @param more so many more have failed, which is all that is said of them */
type Tell = (reasons: readonly unknown[], more: number) => void;

/** So many are told one by one: what a script computes has a limit of time, and this is work of its host. */
const TOLD = 1000;

/** Whose code stands there. A promise says nothing of that: the script may have taken its prototype away. */
const owners = new WeakMap<symbol, Tell>();
/** Promises that failed. The script may come to wait for them later. */
const told = new WeakSet<object>();
/** What has failed and is told in a moment, all at once. */
const waiting = new Map<Tell, { readonly reasons: unknown[]; more: number }>();
let isListening = false;

/** A place to stand for the code of a realm: of what fails there, it is told. */
export function placeOf(tell: Tell): symbol {
	if (!isListening) listen();
	isListening = true;
	const place = Symbol();
	owners.set(place, tell);
	return place;
}

/** The code of a realm goes on where it stands now. */
export function standsHere(tell: Tell): void {
	const place = standing.getStore();
	if (place) owners.set(place, tell);
}

/**
 * Listeners of the host, one of which may end the process, hear of promises of everybody else only, and where there are no
 * listeners Node does what it always does.
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
			// Node says it from where the promise failed; Node 22, from where it was made.
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
