/** DBOS Transact as it comes, over PostgreSQL that syncs. What was under way it starts again by itself when it is launched. */
import { DBOS } from "@dbos-inc/dbos-sdk";
import type { Input, Open } from "./work.ts";

// Its driver warns of how it is used by it.
process.noDeprecation = true;

export const openDbos: Open = async (systemDatabaseUrl, work, call) => {
	const workflow = DBOS.registerWorkflow(
		(input: Input) => work(input, (index) => DBOS.runStep(() => call(index), { name: "answer" })),
		{ name: "work" },
	);
	DBOS.setConfig({ name: "bench", systemDatabaseUrl, logLevel: "error" });
	await DBOS.launch();
	return {
		async start(name, input) {
			await (await DBOS.startWorkflow(workflow, { workflowID: name })(input)).getResult();
		},
		async resume(name) {
			await DBOS.retrieveWorkflow(name).getResult();
		},
	};
};
