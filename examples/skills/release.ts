/** Runs a check, has another skill write the notes, asks a person, and runs the command that releases. */
import { defineSkill, done, next } from "@reyn/skill-resume";
import { z } from "zod";

const input = z.strictObject({
	version: z.string().regex(/^\d+\.\d+\.\d+$/, "a version is three numbers, such as 1.2.0"),
	/** A command that ends with 0 where all is well. */
	check: z.string().min(1),
	/** The command that releases it. */
	release: z.string().min(1),
});

export default defineSkill<z.infer<typeof input>>({
	name: "release",
	description: "Checks a version, writes its notes, asks whether to release it, and does",
	input,
	purity: "external",
	start: "check",
	phases: {
		async check({ tool, abort }, { check }) {
			const said = await tool("shell", { command: check });
			if (!said.startsWith("it ended with 0")) abort(`${check}: ${said}`);
			return next("notes", undefined);
		},
		// A run of its own, below this one: killed, it is not begun a second time.
		async notes({ skill }, { version }) {
			return next("ask", await skill("report", { about: version, to: `notes-${version}` }));
		},
		// It is recorded, and waits for days where it has to: `reyn questions`, `reyn answer`.
		async ask({ ask, abort }, { version }, notes) {
			const answer = await ask(`Release ${version} with ${notes}?`, { choices: ["yes", "no"] });
			if (answer === "no") abort("it is not to be released");
			return next("release", notes);
		},
		// Whether a command that a kill has cut off was run is looked up; where nobody knows, a person is asked.
		async release({ tool, abort }, { version, release }, notes) {
			const said = await tool("shell", { command: release });
			if (!said.startsWith("it ended with 0")) abort(`${release}: ${said}`);
			return done(`${version} is released, with ${notes}`);
		},
	},
});
