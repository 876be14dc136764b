/** A plan in flight whose steps another version has written: it is left as it is, and says so; others go on. */
import { PLAN_TOOL, planStarted, writeDecomposition } from "@reyn/plan";
import { expect, test } from "vitest";
import { kindsIn } from "./cut.ts";
import { lastOf, makeProject, open, scripted, storeAt } from "./project.ts";

const steps = [
	{ id: "a", description: "first", tools: [], depends_on: [] },
	{ id: "b", description: "last", tools: [], depends_on: ["a"] },
];

test("one that is newer is not given up, and holds up no other", async () => {
	await using project = await makeProject();
	const model = () =>
		scripted((request) => (lastOf(request) === "plan!" ? [{ name: PLAN_TOOL, args: { goal: "g", steps } }] : "done"));
	const first = await open(project, { model: model() });
	await first.runtime.prompt("hello");
	await first.runtime.idle();
	const newer = { goal: "newer", steps: steps.map((step) => ({ ...step, skill: "digest" })) };
	const decomposition = await writeDecomposition(newer, storeAt(project.state).blobs("plans"));
	const scope = { agent: "default", session: "main", run: "p99" };
	await first.runtime.wal.append(planStarted({ plan: "p99", goal: "newer", steps: 2, decomposition }), scope).durable;
	await first.runtime.close();
	const { runtime, events, shown } = await open(project, { model: model() });
	runtime.resume();
	await runtime.prompt("plan!");
	await runtime.idle();
	expect(shown.map(({ text }) => text)).toEqual(["done"]);
	expect(events.filter(({ type }) => type === "plan_end")).toContainEqual(
		expect.objectContaining({
			...{ plan: "p99", outcome: "stopped" },
			reason: expect.stringContaining(
				'the steps of a plan are none that this version reads (steps.0: there is no "skill"',
			),
		}),
	);
	await expect(runtime.planSteps("p99")).rejects.toMatchObject({ code: "PLAN_UNREADABLE" });
	expect(runtime.restored().plans).toMatchObject([{ plan: "p99", status: "running" }]);
	expect(await kindsIn(project)).not.toContain("plan_aborted");
	await runtime.close();
});
