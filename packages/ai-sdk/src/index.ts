/** A language model of the AI SDK as a model of Reyn. */

export type { AiSdkCall, AiSdkMessage, AiSdkModel, AiSdkSettings } from "./ai-sdk-model.ts";
export { AiSdkError } from "./errors.ts";
export { fromAiSdk } from "./from-ai-sdk.ts";
