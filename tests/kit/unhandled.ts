/** What would end a process that has no listener of its own, while a test runs. */
import { onTestFinished } from "vitest";

/** Hears the unhandled rejections from now to the end of the test. @returns their reasons, in their order */
export function unhandled(): readonly unknown[] {
	const heard: unknown[] = [];
	const own = process.listeners("unhandledRejection");
	process.removeAllListeners("unhandledRejection");
	process.on("unhandledRejection", (reason) => void heard.push(reason));
	onTestFinished(() => {
		process.removeAllListeners("unhandledRejection");
		for (const each of own) process.on("unhandledRejection", each);
	});
	return heard;
}
