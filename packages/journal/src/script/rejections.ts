/** Promises of a script that fail while nobody waits for them: they must not end the process of its host. */

interface Watch {
	/** What the promises of the realm inherit from. */
	readonly prototype: object;
	readonly tell: (reason: unknown) => void;
}

const watches = new Set<Watch>();

/** Tells of what fails in a realm while `work` goes on. Promises of everybody else fail as they would without this. */
export async function watchRejections<T>(
	prototype: object,
	tell: (reason: unknown) => void,
	work: () => Promise<T>,
): Promise<T> {
	const watch = { prototype, tell };
	if (watches.size === 0) process.on("unhandledRejection", onRejection);
	watches.add(watch);
	try {
		return await work();
	} finally {
		// Node speaks of a rejection when the microtasks of its turn are over.
		setImmediate(() => {
			watches.delete(watch);
			if (watches.size === 0) process.off("unhandledRejection", onRejection);
		});
	}
}

function onRejection(reason: unknown, promise: Promise<unknown>): void {
	const prototype = Object.getPrototypeOf(promise);
	const watch = [...watches].find((each) => each.prototype === prototype);
	if (watch) watch.tell(reason);
	// With a listener Node leaves it to that one; if there is no other, this is what it would have done.
	else if (process.listenerCount("unhandledRejection") === 1) throw reason;
}
