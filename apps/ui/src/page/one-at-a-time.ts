/** Runs something one at a time: what is asked for meanwhile is run once more behind it, however often it was asked for. */
export function oneAtATime(run: () => Promise<unknown>): () => Promise<void> {
	let running: Promise<void> | undefined;
	let isAsked = false;
	return () => {
		isAsked = true;
		running ??= (async () => {
			try {
				while (isAsked) {
					isAsked = false;
					await run();
				}
			} finally {
				running = undefined;
			}
		})();
		return running;
	};
}
