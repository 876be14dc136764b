/** A failure is told the same in the life that it happened in and in all later ones, whatever was thrown. */
import { expect, test } from "vitest";
import { type Lane, runProgram, type Step } from "../src/index.ts";
import { DyingLog, scope, using } from "./dying-log.ts";

const coded = (more: object): Error => Object.assign(new Error("no"), more);

const thrown: Record<string, () => unknown> = {
	"an exit status as its code": () => coded({ code: 3 }),
	"the code of a DOMException": () => new DOMException("no", "AbortError"),
	"a code that JSON does not have": () => coded({ code: Number.NaN }),
	"a code that is an object": () => coded({ code: { status: 3 } }),
	"a detail with a date": () => coded({ detail: { at: new Date(0) } }),
	"a detail with bytes": () => coded({ detail: { bytes: new Uint8Array([1, 2]) } }),
	"a detail with what JSON leaves out": () => coded({ detail: { none: undefined, minus: -0 } }),
	"a detail of a class": () =>
		coded({
			detail: new (class Detail {
				at = 1;
			})(),
		}),
	"a detail as it is written": () => coded({ code: "X", detail: { list: [1, null, "a"] } }),
};

test.each(Object.entries(thrown))("%s", async (_, make) => {
	const fails: Step<never> = {
		kind: "step",
		name: "fails",
		args: {},
		purity: "side_effect",
		call: () => Promise.reject(make()),
	};
	const told: unknown[] = [];
	const body = async (lane: Lane): Promise<void> => {
		await lane.perform(fails).catch(({ message, code, name, detail }) => told.push({ message, code, name, detail }));
	};
	const log = new DyingLog();
	for (let life = 0; life < 3; life++) await runProgram("p", scope, using(log, {}), body);
	expect(told[1]).toStrictEqual(told[0]);
	expect(told[2]).toStrictEqual(told[0]);
	expect(log.kinds.filter((kind) => kind === "step_failed")).toHaveLength(1);
	const { code } = make() as { code?: unknown };
	if (typeof code === "number" && Number.isFinite(code)) expect(told[0]).toMatchObject({ code });
});
