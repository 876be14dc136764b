/** Promises of a script that fail while nobody waits for them: they must not end the process of its host. */
import { standing } from "./standing.ts";

type Tell = (reason: unknown) => void;

/** Whose code stands there. A promise says nothing of that: the script may have taken its prototype away. */
const owners = new WeakMap<symbol, Tell>();
/** Promises that failed. The script may come to wait for them later. */
const told = new WeakSet<object>();
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
			standing.run(undefined, tell, reason);
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

function ownerHere(): Tell | undefined {
	const place = standing.getStore();
	return place && owners.get(place);
}
