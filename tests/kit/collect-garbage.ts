/** Collects garbage now, for tests that weigh what is kept. `--expose-gc` would change each realm that is made from then on. */
import { Session } from "node:inspector/promises";

export async function collectGarbage(): Promise<void> {
	const session = new Session();
	session.connect();
	await session.post("HeapProfiler.collectGarbage");
	session.disconnect();
}
