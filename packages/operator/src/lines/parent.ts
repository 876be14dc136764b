/** What a skill run is a child of, in words. */
import type { Restored } from "@reyn/runtime";

export const parentText = ({ kind, id, step }: NonNullable<Restored["runs"][number]["parent"]>): string =>
	`of ${kind === "skill" ? "phase" : "step"} ${step} of ${kind} ${id}`;
