/** Every fault that needs no privileges, in its short form, in the fast run in brief; the whole of each is `pnpm faults <name>`. */
import { expect, test } from "vitest";
import { SEED } from "../kit/seeded.ts";
import { isDeep } from "../sample.ts";
import type { Fault } from "./fault.ts";
import { faults } from "./index.ts";

/** Those that kill before system calls: each point is a process of its own under strace, so they take as long as all others. */
const atSystemCalls = ["syscalls", "captures", "truncation", "generations"];

/** Those that start whole programs. */
const ofProcesses = ["kill", "writers", "signals", "paste", "tree", "slow", "moved", "golden", "large"];

type Part = "at system calls" | "of processes" | "all others";

export function testShort(part: Part): void {
	for (const fault of faults) if (partOf(fault) === part) testFault(fault);
}

function partOf({ name }: Fault): Part {
	if (atSystemCalls.includes(name)) return "at system calls";
	return ofProcesses.includes(name) ? "of processes" : "all others";
}

function testFault({ name, title, promise, privileged, needs, run }: Fault): void {
	// Mounts belong to whoever asks for them, and planted defects run the tests that run here.
	const why = privileged ? "needs root" : name === "defects" ? "a run of its own" : needs();
	if (why !== undefined) {
		test.skip(`${name}: ${title}: ${promise} (skipped: ${why}; pnpm faults ${name})`, () => {});
		return;
	}
	test(`${name}: ${title}: ${promise}`, async () => {
		const figures = await run({ rounds: undefined, seed: SEED, short: true, brief: !isDeep });
		console.log([name, ...Object.entries(figures).map(([what, figure]) => `  ${what}: ${figure}`)].join("\n"));
		expect(Object.keys(figures).length).toBeGreaterThan(0);
	});
}
