/** A turn that a rewind has go on from a seq in it, cut after any record of that: it goes on at the next start, and pays for the rest alone. */
import { rm } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { blastRadius, mainSession } from "../src/index.ts";
import { cutAfter, kindsIn } from "./cut.ts";
import { makeProject, open, type Project, scripted } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

/** Looks twice, then answers. */
const looker = () =>
	scripted(({ messages }) => {
		const looked = messages.filter(({ role }) => role === "tool").length;
		return looked < 2
			? [{ name: looked === 0 ? "list" : "read", args: looked === 0 ? {} : { path: "README.md" } }]
			: "so it is";
	});

test("goes on after a kill at any record, and is closed where no turn was named", async () => {
	const first = await open(project, { model: looker() });
	const turn = await first.runtime.prompt("look!");
	await first.runtime.idle();
	const { tip } = first.runtime.wal;
	// Behind the first look.
	const target = (await kindsIn(project)).indexOf("step_completed", turn + 1) + 1;
	const previewed = await first.runtime.previewRewind(target, "both", mainSession);
	const radius = await blastRadius(first.runtime, previewed, turn);
	expect(radius.relaunches).toMatchObject({ turns: [turn], paid: { calls: 2 } });
	expect(radius.interrupts).toEqual([]);
	expect((await blastRadius(first.runtime, previewed)).interrupts).toEqual([turn]);
	await first.runtime.applyRewind(previewed, "ada", undefined, undefined, false, turn);
	await first.runtime.idle();
	await first.runtime.close();
	const kinds = await kindsIn(project);
	const reset = kinds.indexOf("reset") + 1;
	expect(reset).toBeGreaterThan(tip);

	for (let seq = reset; seq <= kinds.length; seq++) {
		const state = await cutAfter(project, seq);
		const model = looker();
		const { runtime } = await open({ ...project, state }, { model });
		runtime.resume();
		await runtime.idle();
		expect(runtime.conversation().items.toArray().at(-1), `${seq}`).toMatchObject({
			type: "reply",
			turn,
			text: "so it is",
		});
		const known = kinds.slice(reset, seq).filter((kind) => kind === "step_completed").length;
		expect(model.asked.length, `${seq}`).toBeLessThanOrEqual(known === 0 ? 2 : 1);
		await runtime.close();
		await rm(state, { recursive: true, force: true });
	}

	const again = await open(project, { model: looker() });
	await again.runtime.undo("ada");
	await again.runtime.applyRewind(await again.runtime.previewRewind(target, "both", mainSession), "ada");
	expect(again.runtime.restored().turns).toEqual([]);
	await again.runtime.close();
});
