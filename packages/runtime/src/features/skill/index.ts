/** Skills: work in phases that goes on where a killed process stopped. */
import { laneClosed } from "@reyn/journal";
import {
	type ChildPurity,
	runLane,
	type SkillResume,
	skillRecords,
	skillResumeSchema,
	skillRunDiscarded,
	skillRunPaused,
	skillRunResumed,
	skillRunStarted,
	skillRuns,
} from "@reyn/skill-resume";
import type { Feature } from "../../kernel/feature.ts";
import { asker, backgroundMessages, skillStarter } from "../../kernel/services.ts";
import { auditSkill } from "./audit.ts";
import { KnownSkills } from "./known-skills.ts";
import { skillRunsIn } from "./pieces.ts";
import { SkillHost } from "./skill-host.ts";
import { tellSkill } from "./tell.ts";

export interface SkillFeatureOptions {
	readonly skills?: KnownSkills | undefined;
	readonly resume?: SkillResume | undefined;
	/** What becomes of a child that a process left open, by the purity of its skill: see `decideChild` of `@reyn/skill-resume`. */
	readonly childPurity?: ChildPurity | undefined;
}

export const skillFeature = ({
	skills = new KnownSkills([]),
	resume,
	childPurity = {},
}: SkillFeatureOptions = {}): Feature<SkillHost> => ({
	name: "skill",
	records: { code: skillRecords },
	projections: [skillRuns],
	begins: [skillRunStarted, skillRunResumed],
	undo: {
		[skillRunDiscarded.kind]: (record) =>
			skillRunDiscarded.is(record) && record.data.by === "person"
				? { takenBackBy: { scope: record.scope } }
				: undefined,
	},
	needs: [asker, backgroundMessages],
	provides: [skillStarter],
	pieces: skillRunsIn,
	settle: ({ id }, before) =>
		before ? { becomes: "running" } : { becomes: "waiting", draft: skillRunPaused({ run: id }) },
	end: ({ id }, reason) => [skillRunDiscarded({ run: id, reason }), laneClosed({ lane: runLane(id) })],
	tell: tellSkill,
	audit: auditSkill,
	start: (kernel) => new SkillHost(kernel, { skills, resume: resume ?? skillResumeSchema.parse({}), childPurity }),
});
