/** Reads a log without its lock: a live writer may append, seal and rename while we read. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Disk } from "../disk/disk.ts";
import type { Behind } from "../engine/engine.ts";
import { WalError } from "../errors.ts";
import { isPath, wrong } from "../given.ts";
import type { Seq } from "../record/record.ts";
import { type Decision, decide } from "./decide.ts";
import { asWalError, refusal } from "./messages.ts";
import { activePath, headPath } from "./names.ts";
import { readHead, type Survey, survey } from "./survey.ts";

export interface Inspection {
	readonly found: Survey;
	readonly decision: Decision;
	/** The log's id; undefined when no segment and no head says it. */
	readonly log: string | undefined;
	/** How far the log is known to have been acknowledged. */
	readonly acknowledged: Seq;
	/** Why it may have been acknowledged further. */
	readonly behind: Behind | undefined;
}

const TRIES = 8;

/** A head that is overwritten while it is read looks unsound, and that of a new log comes a moment after its first segment. */
const HEAD_TRIES = 3;

/**
 * Damage stays where it is, and what a writer does moves on: something is wrong only when two inspections in a row say the same.
 * The head that judges an inspection is the one of the one before it, since what it promised then has to be there now.
 *
 * @throws WalError `WAL_IO` when there is no log, `WAL_NEWER_FORMAT`
 */
export async function inspect(
	disk: Disk,
	directory: string,
	proven: Seq,
	how: "quick" | "whole" = "whole",
): Promise<Inspection> {
	if (!isPath(directory)) throw wrong("this call", "the first argument", "the path of a directory", directory);
	let before: { readonly head: Survey["head"]; readonly refused: string } | undefined;
	for (let tries = 1; ; tries++) {
		let found: Survey;
		try {
			found = survey(disk, directory, how);
		} catch (error) {
			// Between the rename of a sealed segment and the making of the next one there is no `wal.jsonl`.
			if (tries === TRIES) throw asWalError(error, "open", activePath(directory));
			await sleep(5);
			continue;
		}
		if (before?.head) found = { ...found, head: before.head };
		const decision = decide(found, proven);
		const refused = decision.kind === "refuse" ? JSON.stringify([decision.path, decision.offset, decision.seq]) : "";
		if (decision.kind !== "refuse" || refused === before?.refused || tries === TRIES) {
			const judgement = judged(found, decision, directory, proven);
			const behind = decision.kind === "refuse" ? undefined : behindOf(disk, directory, judgement);
			if (!behind || tries >= HEAD_TRIES) return { ...judgement, behind };
			await sleep(5);
			continue;
		}
		before = { head: found.head, refused };
		await sleep(5);
	}
}

/**
 * Looks at the head after the rest was read: before a line can say that something is durable, the head has said it.
 */
function behindOf(disk: Disk, directory: string, { found, log }: Omit<Inspection, "behind">): Behind | undefined {
	const { active, sealed } = found;
	if (disk.identity(headPath(directory)) === undefined) return "head missing";
	const head = readHead(disk, directory);
	if (head?.log !== log) return "head unsound";
	const told = Math.max(active?.durable ?? 0, sealed.at(-1)?.footer.last ?? 0);
	return head !== undefined && head.seq < told ? "head old" : undefined;
}

function judged(found: Survey, decision: Decision, directory: string, proven: Seq): Omit<Inspection, "behind"> {
	if (decision.kind === "refuse" && decision.code === "WAL_NEWER_FORMAT") throw refusal(decision, directory);
	const { sealed, active, head } = found;
	if (decision.kind === "fresh")
		throw new WalError("WAL_IO", `there is no log in ${directory} (ENOENT)`, { path: directory, code: "ENOENT" });
	const log = logIdOf(found);
	const own = sealed.filter(({ header }) => header.log === log);
	return {
		found,
		decision,
		log,
		acknowledged: Math.max(
			proven,
			head !== undefined && head.log === log ? head.seq : 0,
			active !== undefined && (active.header?.log ?? log) === log ? active.durable : 0,
			active?.header?.log === log ? (active?.header?.first ?? 1) - 1 : 0,
			...own.map(({ header, footer }) => Math.max(header.first - 1, footer.last)),
		),
	};
}

/** Most segments say the same; where they do not, the head breaks the tie. */
function logIdOf({ sealed, active, head }: Survey): string | undefined {
	const votes = new Map<string, number>();
	const vote = (log: string | undefined, weight: number): void => {
		if (log) votes.set(log, (votes.get(log) ?? 0) + weight);
	};
	for (const { header } of sealed) vote(header.log, 2);
	vote(active?.header?.log, 2);
	vote(head?.log, 1);
	return [...votes].sort(([, a], [, b]) => b - a)[0]?.[0];
}
