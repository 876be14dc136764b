/** How the server answers: each answer with the same guards for the browser, and errors as JSON with the status that fits their code. */
import type { ServerResponse } from "node:http";
import { codeOf } from "@reyn/wal";

/** A page of this server runs its own files, talks to this server alone, and makes no element of a text. */
export const guards: Readonly<Record<string, string>> = {
	"content-security-policy":
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
	"cross-origin-resource-policy": "same-origin",
	"cross-origin-opener-policy": "same-origin",
	"cache-control": "no-store",
};

export function answer(
	response: ServerResponse,
	status: number,
	type: string,
	body: string | Buffer,
	more: Readonly<Record<string, string>> = {},
): void {
	response.writeHead(status, { ...guards, "content-type": type, "content-length": Buffer.byteLength(body), ...more });
	response.end(body);
}

export const answerJson = (response: ServerResponse, status: number, value: unknown): void =>
	answer(response, status, "application/json; charset=utf-8", JSON.stringify(value ?? null));

export function answerError(response: ServerResponse, error: unknown): void {
	// Who asked has gone, or hears the rest already.
	if (response.headersSent || response.destroyed) return void response.destroy();
	const code = codeOf(error);
	const { message, detail } = error as { message?: unknown; detail?: unknown };
	// What has no code is no answer to anybody: it may say anything.
	const said =
		code === undefined ? { code: "ERROR", message: "this could not be answered" } : { code, message, detail };
	answerJson(response, statusOf(code), { error: said });
}

/** What was confirmed is not so any more: look again. */
const stale: readonly string[] = ["REWIND_STALE", "TIMETRAVEL_STALE", "UI_UNKNOWN_PREVIEW"];

function statusOf(code = "ERROR"): number {
	if (code === "ERROR") return 500;
	if (code === "UI_NO_KEY") return 401;
	if (code === "UI_READ_ONLY") return 405;
	if (stale.includes(code)) return 409;
	if (code === "UI_BAD_REQUEST" || code === "OPERATOR_ARGS" || code === "OPERATOR_BAD_REF") return 400;
	if (/_(NOT_FOUND|UNKNOWN(_\w+)?)$/.test(code)) return 404;
	return 422;
}
