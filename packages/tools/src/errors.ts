/** The error class of the file tools, and its codes. */
import { ReynError } from "@reyn/wal";

export type ToolCode =
	| "TOOL_CHANGED"
	| "TOOL_CLOSED_ADDRESS"
	| "TOOL_COMMAND"
	| "TOOL_INVALID_ARGS"
	| "TOOL_NO_LIBRARY"
	| "TOOL_NO_MATCH"
	| "TOOL_NOT_FOUND"
	| "TOOL_NOT_TEXT"
	| "TOOL_OUTSIDE_ROOT"
	| "TOOL_TOO_LARGE"
	| "TOOL_UNREACHABLE"
	| "TOOL_UNREADABLE"
	| "TOOL_UNSAFE_PATHS"
	| "TOOL_UNWRITABLE";

/** What a file tool could not do. The message is read by the model and by people: one line, with the way out. */
export class ToolError extends ReynError<ToolCode> {}
