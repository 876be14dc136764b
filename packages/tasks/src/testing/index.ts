/** The published contract of a task backend: `@reyn/tasks/testing`. */
export { type TaskStoreUnderTest, testTaskBackend } from "./backend-suite.ts";
