/** A plan that is amended or paused while its steps run. */
import { expect, test } from "vitest";
import { type Decomposition, type PlanPorts, planAmended, planPaused, planResumed } from "../src/index.ts";
import { outbox, Process, planOf, scripted } from "./plan-process.ts";

const plan = planOf("s1", "s2 needs s1");

/** Executes a plan that gets other steps while one of its steps is asked. */
async function amendedUnderWay(process: Process, before: Decomposition, after: Decomposition): Promise<string> {
	let isAmended = false;
	const model = scripted({
		s2: async () => {
			isAmended = true;
			process.write(planAmended({ plan: "p1", steps: after.steps.length, decomposition: "amended" }));
			return "s2 done";
		},
	});
	const ports = { model, steps: async () => (isAmended ? after : before) };
	return (await process.execute(before, ports)).text;
}

test("steps that a plan got under way are run, and counted one by one", async () => {
	await using process = await Process.start();
	const [before, after] = [
		planOf("s1", "s2 needs s1", "s9 needs s2"),
		planOf("s2 needs s1", "s1", "s3", "s8 needs s2 s3"),
	];
	expect(await amendedUnderWay(process, before, after)).toBe("s8 done");
	const ends = process.progress.filter(({ change }) => change.status === "completed");
	expect(ends.map(({ step, index, done, size }) => `${done}/${size} ${step} at ${index}`)).toEqual([
		...["1/3 s1 at 1", "2/4 s2 at 1", "3/4 s3 at 3", "4/4 s8 at 4"],
	]);
});

test("steps of which one runs while another gets new company are counted one by one", async () => {
	await using process = await Process.start({ limits: { concurrency: 2 } });
	const others = Promise.withResolvers<void>();
	const [before, after] = [planOf("s1", "s2", "s9 needs s1 s2"), planOf("s1", "s2", "s3", "s9 needs s1 s2 s3")];
	const model = scripted({
		s1: async () => {
			await others.promise;
			return "s1 done";
		},
		s2: () => {
			process.write(planAmended({ plan: "p1", steps: 4, decomposition: "amended" }));
			return "s2 done";
		},
	});
	const progress: PlanPorts["progress"] = (line) => {
		process.progress.push(line);
		if (line.step === "s3" && line.change.status === "completed") others.resolve();
	};
	await process.execute(before, { model, steps: async () => after, progress });
	const ends = process.progress.filter(({ change }) => change.status === "completed");
	expect(ends.map(({ step, done, size }) => `${step} ${done}/${size}`)).toEqual([
		"s2 1/4",
		"s3 2/4",
		"s1 3/4",
		"s9 4/4",
	]);
});

test("a plan that is paused when all its steps are over tells its answer when it is resumed, and not before", async () => {
	await using process = await Process.start();
	const last = async (): Promise<void> => {
		process.write(planPaused({ plan: "p1", by: "person" }));
		throw new Error("no room");
	};
	await expect(process.execute(plan, { deliver: last })).rejects.toThrow("no room");
	await using next = await process.next();
	await expect(next.execute(plan)).rejects.toMatchObject({ code: "PLAN_PAUSED" });
	expect(next.view.get(outbox)).toEqual([]);
	next.write(planResumed({ plan: "p1", by: "person" }));
	await next.execute(plan);
	expect(next.view.get(outbox)).toEqual([{ plan: "p1", text: "s2 done" }]);
});
