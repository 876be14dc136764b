/** A copy of the page as one file: it shows what a history was, needs no server and no network, and changes nothing. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { scopeText } from "@reyn/operator";
import { type Clock, systemClock } from "@reyn/wal";
import { Api } from "./api.ts";
import * as asks from "./asks.ts";
import { pageFiles } from "./files.ts";
import { Keys } from "./keys.ts";
import { Reader } from "./reader.ts";
import type { Subject } from "./subject.ts";
import { Waiting } from "./waiting.ts";

export interface CopyOptions {
	/** How many moments are in it: the newest. Default: 200 */
	readonly moments?: number | undefined;
	/** Default: the system's. */
	readonly clock?: Clock | undefined;
	/** Told of each moment, how many there are, and how many are done. */
	readonly onProgress?: (done: number, all: number) => void;
}

/** What a copy shows of the whole, besides its moments. */
const whole = [asks.status, asks.spend] as const;

/**
 * @param subject of which nothing is changed
 * @returns the file, as HTML
 * @throws UiError `UI_NO_PAGE`; RuntimeError `RUNTIME_UNKNOWN_SESSION`; what opening and reading the state throws
 */
export async function copyPage(
	{ name, session, log, open }: Subject,
	{ moments = asks.ROWS, clock = systemClock, onProgress }: CopyOptions = {},
): Promise<string> {
	// All of it is of one moment, whoever writes meanwhile.
	const reader = new Reader(open, { isStill: true });
	try {
		// A session that is not there is refused, and not empty.
		await reader.use(async (runtime) => runtime.conversation(session));
		const made = new Date(clock.now()).toISOString().slice(0, 16).replace("T", " ");
		const readOnly = `this is a copy, made at ${made} UTC`;
		const api = new Api({ name, session, log, open, readOnly }, reader, new Keys(clock), new Waiting());
		return await pageOf(await answersOf(api, scopeText(session), { moments, onProgress }));
	} finally {
		await reader.close();
	}
}

interface Row {
	readonly seq: number;
	readonly active: boolean;
	/** A collection took it away: nothing can be said of it. */
	readonly gone?: true;
}

async function answersOf(
	api: Api,
	session: string,
	{ moments, onProgress }: { readonly moments: number; readonly onProgress: CopyOptions["onProgress"] },
): Promise<Readonly<Record<string, unknown>>> {
	const never = new AbortController().signal;
	const answers: Record<string, unknown> = {};
	const answer = async (path: string, ask: asks.Ask): Promise<unknown> => {
		const found = await api.answer(path, ask, never);
		answers[asks.nameOf(path, ask)] = found;
		return found;
	};
	const state = (await api.state(never)) as { readonly tip: number };
	const history = asks.history();
	const { document } = (await api.answer(
		"/api/read",
		{ ...history, given: { ...history.given, n: moments } },
		never,
	)) as {
		readonly document: { readonly entries: readonly Row[] };
	};
	answers[asks.nameOf("/api/read", history)] = { document };
	answers[asks.nameOf("/api/state")] = {
		...state,
		sessions: [session],
		verbs: [
			...new Set(
				[
					history,
					...whole,
					asks.conversation(0, undefined, 1),
					asks.changes(0, undefined),
					asks.state(0, undefined),
				].map(({ verb }) => verb),
			),
		],
	};
	for (const ask of whole) await answer("/api/read", ask);
	for (const verb of ["undo", "redo"] as const) await answer("/api/look", asks.moves(verb));
	const known = document.entries.filter(({ gone }) => !gone);
	const seqs = new Map([[state.tip, true], ...known.map(({ seq, active }) => [seq, active] as const)]);
	let done = 0;
	for (const [seq, isActive] of seqs) {
		await answer("/api/read", asks.conversation(seq, session, asks.MESSAGES));
		await answer("/api/read", asks.changes(seq, session));
		await answer("/api/read", asks.state(seq, session));
		if (seq > 0) await answer("/api/read", asks.record(seq, session));
		if (seq !== state.tip) await answer("/api/look", asks.going(seq, isActive, "both"));
		onProgress?.(++done, seqs.size);
	}
	return answers;
}

/** The files of the page in one, with the answers: nothing of it is from anywhere else, and no text of the history is code. */
async function pageOf(answers: Readonly<Record<string, unknown>>): Promise<string> {
	const files = await pageFiles();
	const text = (name: string): string => (files.get(name)?.text ?? Buffer.alloc(0)).toString();
	const style = text("/page.css");
	const script = text("/page.js").replaceAll("</script", "<\\/script");
	const packed = gzipSync(JSON.stringify(answers)).toString("base64");
	const hashed = (source: string): string => `'sha256-${createHash("sha256").update(source).digest("base64")}'`;
	const policy = [
		"default-src 'none'",
		`script-src ${hashed(script)}`,
		`style-src ${hashed(style)}`,
		"img-src data:",
		"base-uri 'none'",
		"form-action 'none'",
		"require-trusted-types-for 'script'",
		"trusted-types 'none'",
	].join("; ");
	// As functions: what stands in them has no meaning of its own.
	return text("/")
		.replace("<meta charset", () => `<meta http-equiv="content-security-policy" content="${policy}">\n<meta charset`)
		.replace('<link rel="stylesheet" href="/page.css">', () => `<style>${style}</style>`)
		.replace(
			'<script type="module" src="/page.js"></script>',
			() => `<script type="application/gzip" id="copy">${packed}</script>\n<script type="module">${script}</script>`,
		);
}
