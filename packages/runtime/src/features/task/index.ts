/** Tasks: work that lives in another system, bound to sessions here. */
import { sessionTasks, taskRecords, taskReports } from "@reyn/tasks";
import type { Feature } from "../../kernel/feature.ts";
import { backgroundMessages, skillStarter, turnStarter } from "../../kernel/services.ts";
import { auditTask } from "./audit.ts";
import { type TaskOptions, Tasks } from "./task-host.ts";
import { tellTask } from "./tell.ts";

/** @param options absent: what is bound is known, and nothing is read or offered */
export const taskFeature = (options?: TaskOptions): Feature<Tasks> => ({
	name: "task",
	records: { code: taskRecords },
	projections: [sessionTasks, taskReports],
	needs: [backgroundMessages, skillStarter, turnStarter],
	tell: tellTask,
	audit: auditTask,
	start: (kernel) => new Tasks(kernel, options),
});
