/** Errors of this package. */
import { ReynError } from "@reyn/wal";

export type UiCode =
	| "UI_BAD_REQUEST"
	| "UI_NO_KEY"
	| "UI_READ_ONLY"
	| "UI_UNKNOWN_PREVIEW"
	| "UI_NO_PAGE"
	| "UI_CLOSED";

export class UiError extends ReynError<UiCode> {}
