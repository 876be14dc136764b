/** The error class of this package, and its codes. */
import { ReynError } from "@reyn/wal";

export type AiSdkCode = "AI_SDK_VERSION";

/** Each code is a heading in the README. */
export class AiSdkError extends ReynError<AiSdkCode> {}
