/** Definitions of skills. */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineSkill, done, next } from "../src/index.ts";

const write = async () => done("a report");
const spec = { name: "report", description: "Writes", input: z.object({}), start: "write", phases: { write } };

test("a skill is what it was defined as, with ten visits of a phase and effects unless it says otherwise", () => {
	expect(defineSkill(spec)).toEqual({ ...spec, maxVisits: 10, purity: "side_effect" });
	const more = { maxVisits: 2, purity: "pure" } as const;
	expect(defineSkill({ ...spec, ...more })).toEqual({ ...spec, ...more });
});

test("a phase ends with a next one or with none", () => {
	expect(next("write", { facts: 2 })).toEqual({ kind: "next", phase: "write", output: { facts: 2 } });
	expect(done("a report")).toEqual({ kind: "done", output: "a report" });
});
