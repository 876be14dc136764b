/** The tasks in memory that tests here stand on keep the contract of a backend, and so does what a runtime puts before one. */
import type { TaskBackend } from "@reyn/tasks";
import { type TaskStoreUnderTest, testTaskBackend } from "@reyn/tasks/testing";
import { describe, expect, test } from "vitest";
import { taskPort } from "../src/features/task/task-port.ts";
import { type MemoryTasks, memoryTasks } from "./memory-tasks.ts";

const place = (opened: (memory: MemoryTasks) => TaskBackend) => async (): Promise<TaskStoreUnderTest> => {
	const memory = memoryTasks();
	return {
		open: async () => opened(memory),
		async breakDown() {
			memory.isDown = true;
			return async () => {
				memory.isDown = false;
			};
		},
		remove: async (id) => memory.remove(id),
		retitle: async (id, title) => memory.put(id, { title }),
	};
};
const runner = { describe, test, expect };

testTaskBackend(
	runner,
	"memory",
	place((memory) => memory.opened()),
);

/** As a runtime has it: of one backend, opened once. */
function before(backend: TaskBackend): TaskBackend {
	return taskPort(async () => backend);
}

testTaskBackend(
	runner,
	"the port of a runtime",
	place((memory) => before(memory.opened())),
);

test("the port of a runtime has what its backend has, once that is opened, and promises nothing before", async () => {
	for (const transactions of [false, true]) {
		const capabilities = { transactions, supportsRewind: false };
		const port = before({ ...memoryTasks().opened(), capabilities });
		expect(port.capabilities).toEqual({ transactions: false, supportsRewind: false });
		await port.list();
		expect(port.capabilities).toEqual(capabilities);
	}
});
