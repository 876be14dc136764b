/** A reader that moves along with the log of another process: after each look it is what one is that is opened anew. */
import { expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import type { Runtime } from "../src/index.ts";
import { live, options } from "./lived.ts";
import { makeProject, open } from "./project.ts";

test.each(Array.from({ length: sample(1, 12) }, (_, i) => SEED + i))("whatever happens (seed %i)", async (seed) => {
	await using project = await makeProject();
	const { runtime } = await open(project, options());
	const reading = { ...options(), readOnly: true } as const;
	const { runtime: reader } = await open(project, reading);
	const look = async (): Promise<void> => {
		await durable(runtime);
		await reader.refresh();
		const { runtime: fresh } = await open(project, reading);
		// What was durable when the other was opened: work may go on meanwhile.
		if (fresh.wal.tip === reader.wal.tip) expect(await told(reader)).toEqual(await told(fresh));
		await fresh.close();
	};
	await live(runtime, seeded(seed), look);
	await runtime.idle();
	await look();
	const { tip } = runtime.wal;
	expect(reader.wal.tip).toBe(tip);
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	await look();
	expect(reader.timeline.retainedFrom).toBe(runtime.timeline.retainedFrom);
	await runtime.prompt("hello again", { agent: "default", session: "third" });
	await runtime.idle();
	await look();
	expect(reader.sessions()).toEqual(runtime.sessions());
	await reader.close();
	await runtime.close();
});

async function durable({ wal }: Runtime): Promise<void> {
	for await (const _record of wal.read({ after: Math.max(0, wal.tip - 1) }));
}

async function told(runtime: Runtime) {
	const sessions = runtime.sessions();
	return {
		restored: runtime.restored(),
		sessions,
		views: sessions.map((scope) => runtime.view(scope).hash()),
		talks: sessions.map((scope) => runtime.conversation(scope)),
		checkpoints: runtime.timeline.checkpoints(),
		branches: runtime.timeline.branches(),
		moves: await runtime.timeline.moves(),
		runs: await runtime.scripts.list(),
	};
}
