/** `wal inspect | tail`: the log record by record, as it is stored; a log of which all but that cannot be opened too. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openWal, type Seq, type Wal, type WalRecord } from "@reyn/wal";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { recordLine } from "../lines/wal.ts";
import { flag, option, word } from "../param.ts";
import { scope, seq } from "../shapes.ts";
import { asJson, oneLine } from "../text.ts";
import { streamVerb } from "../verb.ts";

/** As `WalRecord` of `@reyn/wal`. */
const record = z.object({ seq, ts: z.number(), kind: z.string(), scope, data: z.unknown(), crc: z.string() });

const wholeNumber = z.coerce
	.number("expected a whole number")
	.int("expected a whole number")
	.nonnegative("expected a whole number");

export const walInspect = streamVerb({
	name: "wal inspect",
	summary: "records as they are stored",
	params: {
		ref: word("ref", "a seq, or @ for the tip", z.string().optional()),
		from: option("seq", "from this seq on", wholeNumber.optional()),
		to: option("seq", "up to this seq", wholeNumber.optional()),
	},
	example: "--from 12 --to 20",
	each: record,
	async *tell(log, { ref, from, to }) {
		if (ref !== undefined && (from !== undefined || to !== undefined))
			throw new OperatorError("OPERATOR_ARGS", "give a ref, or --from and --to; not both");
		await using wal = await opened(log);
		const seq = ref === undefined ? undefined : seqOf(ref, wal);
		yield* wal.read({ after: (seq ?? from ?? wal.first) - 1, through: seq ?? to ?? wal.tip });
	},
	lines: (record, _say, { ref }) => (ref === undefined ? [recordLine(record)] : asJson(record, 2).split("\n")),
});

export const walTail = streamVerb({
	name: "wal tail",
	summary: "the newest records; with -f those to come as well, until Ctrl-C",
	params: {
		lines: { ...option("n", "how many", wholeNumber.default(10)), short: "n" },
		follow: { ...flag("wait for more", z.boolean().default(false)), short: "f" },
	},
	example: "-n 3 -f",
	each: record,
	async *tell(log, { lines, follow }, signal) {
		const last = yield* recordsAfter(log, ({ tip }) => tip - lines);
		if (follow) yield* recordsToCome(log, last, signal);
	},
	lines: (record) => [recordLine(record)],
});

const opened = (log: string): Promise<Wal> => openWal(log, { records: [], readOnly: true });

function seqOf(ref: string, { first, tip }: Wal): Seq {
	const seq = ref === "@" ? tip : /^\d{1,15}$/.test(ref) ? Number(ref) : undefined;
	if (seq === undefined)
		throw new OperatorError("OPERATOR_BAD_REF", `"${oneLine(ref)}" is no seq; give one, or @ for the tip`);
	if (seq < first || seq > tip)
		throw new OperatorError("OPERATOR_NOT_FOUND", `no seq ${seq}; this log has ${first} to ${tip}`);
	return seq;
}

/** The records after a seq that is chosen when the log is open. @returns the last one */
async function* recordsAfter(log: string, after: (wal: Wal) => Seq): AsyncGenerator<WalRecord, Seq> {
	await using wal = await opened(log);
	yield* wal.read({ after: Math.max(after(wal), wal.first - 1) });
	return wal.tip;
}

const POLL_MS = 100;

/** Beside a busy writer one look may come at a bad moment; so many in a row are no accident. */
const MAX_FAILURES = 20;

/** A writer overwrites the head after each sync, so a head that has not changed means that there is nothing new. */
async function* recordsToCome(log: string, from: Seq, signal: AbortSignal): AsyncGenerator<WalRecord> {
	let last = from;
	let seen: number | undefined;
	for (let failures = 0; !signal.aborted; await pause(POLL_MS, undefined, { signal }).catch(() => {})) {
		const changed = await stat(join(log, "wal.head")).then(
			({ mtimeMs }) => mtimeMs,
			() => undefined,
		);
		if (changed !== undefined && changed === seen) continue;
		try {
			for await (const record of recordsAfter(log, () => last)) {
				yield record;
				last = record.seq;
			}
			seen = changed;
			failures = 0;
		} catch (error) {
			if (++failures === MAX_FAILURES) throw error;
		}
	}
}
