/** A program with two runs: the phase of one ends the process at once; the other one is done. */
import { defineSkill, done, openSkills } from "@reyn/skill-resume";
import { z } from "zod";

const dies = defineSkill({
	...{ name: "dies", description: "", input: z.unknown(), start: "only" },
	phases: {
		only: async () => {
			console.log("calls");
			return process.exit(1);
		},
	},
});
const other = defineSkill({
	...{ name: "other", description: "", input: z.unknown(), start: "only" },
	phases: { only: async () => done("fine") },
});
const skills = await openSkills(process.argv[2] as string, {
	skills: [dies, other],
	model: { id: "none", async *generate() {} },
	deliver: ({ run, output }) => console.log(run, output),
	failed: (_, { message }) => console.log(message),
});
await skills.start("dies", "dies", null);
await skills.idle();
await skills.start("other", "other", null);
await skills.idle();
await skills.close();
