/** Durable steps: recall what already happened, or start durably, call, complete. */
export type { Message, Model, ModelPart, ModelRequest, Tool, ToolCall, ToolContext, ToolSpec, Usage } from "./ports.ts";
export { isRecalled, leavesOutcome, type Purity, purities, startsDurably } from "./purity.ts";
