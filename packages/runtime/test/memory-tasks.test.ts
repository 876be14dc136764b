/** The tasks in memory that tests here stand on keep the contract of a backend. */
import { testTaskBackend } from "@reyn/tasks/testing";
import { describe, expect, test } from "vitest";
import { memoryTasks } from "./memory-tasks.ts";

testTaskBackend({ describe, test, expect }, "memory", async () => {
	const memory = memoryTasks();
	return {
		open: async () => memory.opened(),
		async breakDown() {
			memory.isDown = true;
			return async () => {
				memory.isDown = false;
			};
		},
		remove: async (id) => memory.remove(id),
		retitle: async (id, title) => memory.put(id, { title }),
	};
});
