/** Several moves that are taken back in one go: work that they had ended goes on, once. */
import { expect, test } from "vitest";
import { lastOf, makeProject, open, scripted, until } from "./project.ts";

test("a plan that was discarded, and then rewound, goes on once both are undone in one go, and says its answer once", async () => {
	await using project = await makeProject();
	let isHeld = true;
	const asked: string[] = [];
	const step = (id: string, depends_on: readonly string[]) => ({
		id,
		description: `find ${id}`,
		tools: [],
		depends_on,
	});
	const { runtime, shown } = await open(project, {
		model: scripted(async (request) => {
			const last = lastOf(request);
			if (last === "begin")
				return [{ name: "plan", args: { goal: "find out", steps: [step("a", []), step("b", ["a"])] } }];
			asked.push(last);
			await until(() => !isHeld || !/find [ab]/.test(last));
			return `found (${asked.length})`;
		}),
	});
	await runtime.resume();
	await runtime.prompt("begin");
	await until(() => asked.some((text) => /find a/.test(text)));
	const [plan] = runtime.restored().plans;
	const { tip } = runtime.wal;
	await runtime.discardPlan(plan?.plan ?? "");
	await runtime.timeline.label(tip, "here");
	await runtime.checkout(0, "me");
	const { past } = await runtime.timeline.moves();
	expect(past).toHaveLength(3);
	await runtime.undo("me", { to: past[0]?.seq ?? 0 });
	isHeld = false;
	for (const { plan: id } of runtime.restored().plans) await runtime.resumePlan(id).catch(() => {});
	await runtime.idle();
	const completed: number[] = [];
	for await (const { seq } of runtime.wal.read({ kinds: { only: ["plan_completed"] } })) completed.push(seq);
	expect(completed).toHaveLength(1);
	expect(shown.filter(({ from, text }) => from === plan?.plan && text.startsWith("found"))).toHaveLength(1);
	expect(asked.filter((text) => /find b/.test(text))).toHaveLength(1);
	await runtime.close();
});
