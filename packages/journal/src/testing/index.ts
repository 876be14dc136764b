/** What a model and a tool have to hold to, as suites, the runner injected. */
export { type ModelUnderTest, testModel } from "./model-suite.ts";
export { type ToolUnderTest, testTool } from "./tool-suite.ts";
