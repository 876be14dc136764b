/** Words for counts, times and kinds. */
import { signal } from "@preact/signals";
import type { Cost } from "./shapes.ts";

export const counted = (count: number, what: string): string =>
	`${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

/** A sum that has an unknown part is none. */
export function dollars({ usd, unknown }: Cost): string {
	const known = Number(usd);
	if (known === 0 && unknown > 0) return "unknown";
	const small = known > 0 && known < 1;
	const sum = small && known < 0.000_05 ? "under $0.0001" : `$${known.toFixed(small ? 4 : 2)}`;
	return unknown > 0 ? `at least ${sum}` : sum;
}

/** Moves on by itself, so that ages on the page do. */
const clock = signal(Date.now());
setInterval(() => {
	clock.value = Date.now();
}, 20_000);

/** How long ago, as short as it goes. */
export function age(ts: number): string {
	if (ts === 0) return "";
	const seconds = Math.max(0, Math.round((Math.max(clock.value, ts) - ts) / 1000));
	if (seconds < 60) return `${seconds}s`;
	if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
	if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
	return `${Math.floor(seconds / 86_400)}d`;
}

export const when = (ts: number): string =>
	new Date(ts)
		.toISOString()
		.replace("T", " ")
		.replace(/\.\d+Z$/, " UTC");

/** As much of it as fits a line. */
export function short(text: string, width = 300): string {
	const line = text.replace(/\s+/g, " ").trim();
	return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

/** Whose message it is. */
export function speaker(who: string): string {
	const known: Readonly<Record<string, string>> = { you: "You", agent: "Agent", tools: "Tools", note: "Note" };
	return known[who] ?? (/^p\d/.test(who) ? `Plan ${who}` : who);
}
