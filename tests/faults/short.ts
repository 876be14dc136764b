/** Every fault that needs no privileges, in its short form, in the fast run in brief; the whole of each is `pnpm faults <name>`. */
import { expect, test } from "vitest";
import { SEED } from "../kit/seeded.ts";
import { isDeep } from "../sample.ts";
import type { Fault } from "./fault.ts";
import { faults } from "./index.ts";

/** Those that kill before system calls: each point is a process of its own under strace, so they take as long as all others. */
const atSystemCalls = ["syscalls", "captures", "truncation", "generations"];

export function testShort(which: "at system calls" | "all others"): void {
	for (const fault of faults)
		if (atSystemCalls.includes(fault.name) === (which === "at system calls")) testFault(fault);
}

function testFault({ name, title, promise, privileged, needs, run }: Fault): void {
	// Mounts belong to whoever asks for them, and planted defects run the tests that run here.
	const why = privileged ? "needs root" : name === "defects" ? "a run of its own" : needs();
	if (why !== undefined) {
		test.skip(`${name}: ${title}: ${promise} (skipped: ${why}; pnpm faults ${name})`, () => {});
		return;
	}
	test(`${name}: ${title}: ${promise}`, { timeout: 180_000 }, async () => {
		const figures = await run({ rounds: undefined, seed: SEED, short: true, brief: !isDeep });
		console.log([name, ...Object.entries(figures).map(([what, figure]) => `  ${what}: ${figure}`)].join("\n"));
		expect(Object.keys(figures).length).toBeGreaterThan(0);
	});
}
