/** Helpers of both test suites: values that nobody may change, and a limit for calls that were cancelled. */

/** A copy of a JSON value that throws when somebody changes it. */
export function frozen<T>(value: T): T {
	const freeze = (part: unknown): void => {
		if (typeof part !== "object" || part === null) return;
		for (const each of Object.values(part)) freeze(each);
		Object.freeze(part);
	};
	const copy = structuredClone(value);
	freeze(copy);
	return copy;
}

const SOON_MS = 2_000;

/** Waits for work that was cancelled. @throws when it takes too long to end */
export async function endsSoon<T>(work: Promise<T> | T): Promise<T> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<never>((_, reject) => {
		const error = new Error(`expected an end within ${SOON_MS} ms of being cancelled; there was none`);
		timer = setTimeout(() => reject(error), SOON_MS);
	});
	return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
