/** The contract of the log as a suite: every engine passes it. The runner is injected, so no test library is shipped. */
export { type EngineUnderTest, type Runner, testEngine } from "./engine-suite.ts";
