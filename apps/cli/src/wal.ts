/** Commands of `reyn wal` that are no verbs: they show as many records as there are, or write to a log that nobody has open. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { asJson, oneLine } from "@reyn/operator/text";
import { layoutOf } from "@reyn/runtime";
import { codeOf, openWal, type Wal, type WalRecord } from "@reyn/wal";
import type { RepairProposal } from "@reyn/wal/tools";
import { type Command, InvalidArgumentError } from "commander";
import { examining, type Globals, stateOf } from "./context.ts";
import { CliError } from "./exit-code.ts";
import { err, out } from "./print.ts";
import { reyn } from "./suggest.ts";
import { forgetIfUnknown } from "./trust.ts";
import { untilStopped } from "./until-stopped.ts";
import { groupOf } from "./verbs.ts";

type Print = (globals: Globals, value: unknown, lines: readonly string[]) => void;

export function addWalCommands(
	program: Command,
	globals: () => Globals,
	print: Print,
	done: (exitCode: number) => void,
): void {
	const wal = groupOf(program, "wal");

	wal
		.command("inspect")
		.argument("[ref]", "a seq, or @ for the tip")
		.description("records as they are stored")
		.option("--from <seq>", "from this seq on", seqOf)
		.option("--to <seq>", "up to this seq", seqOf)
		.addHelpText("after", "\nExample: reyn wal inspect --from 12 --to 20")
		.action(async (ref: string | undefined, { from, to }: { from?: number; to?: number }) => {
			if (ref !== undefined && (from !== undefined || to !== undefined))
				throw new CliError("CLI_USAGE", "give a ref, or --from and --to; not both");
			await using log = await openLog(globals());
			const seq = ref === undefined ? undefined : refOf(ref, log);
			const range = { after: (seq ?? from ?? log.first) - 1, through: seq ?? to ?? log.tip };
			for await (const record of log.read(range)) await show(globals(), record, seq !== undefined);
		});

	wal
		.command("tail")
		.description("the newest records; with -f those to come as well, until Ctrl-C")
		.option("-n, --lines <n>", "how many", seqOf, 10)
		.option("-f, --follow", "wait for more")
		.addHelpText("after", "\nExample: reyn wal tail -n 3 -f")
		.action(async ({ lines, follow }: { lines: number; follow?: boolean }) => {
			const last = await showAfter(globals(), (log) => log.tip - lines);
			if (follow) done(await followFrom(globals(), last));
		});

	wal
		.command("repair")
		.description("show what giving the damage up would cost; do it with --apply and that loss accepted to the letter")
		.option("--apply", "do it")
		.option(
			"--accept-loss <ranges>",
			"what the proposal says would be lost, to the letter: none, 43..47 or 7..7,92..92",
		)
		.addHelpText("after", "\nExample: reyn wal repair --apply --accept-loss 43..47")
		.action(async ({ apply, acceptLoss = "" }: { apply?: boolean; acceptLoss?: string }) => {
			const { proposeRepair } = await import("@reyn/wal/tools");
			const proposal = await examining(globals(), (log) => proposeRepair(log));
			if (!apply || proposal.kind === "nothing")
				return print(globals(), { proposal, applied: false }, [...proposalLines(proposal), ...howTo(proposal)]);
			if (!globals().json) err.lines(proposalLines(proposal));
			if (acceptLoss !== proposal.accept)
				throw new CliError(
					"CLI_REFUSED",
					`${acceptLoss === "" ? "nothing" : oneLine(acceptLoss)} was accepted, and ${proposal.accept} would be lost; nothing was changed. Say exactly: --apply --accept-loss ${proposal.accept}`,
				);
			await forgetIfUnknown(stateOf(globals()));
			const applied = await repair(globals(), acceptLoss);
			print(globals(), { proposal: applied, applied: true }, [`done; check with: ${reyn`wal verify`}`]);
		});
}

const openLog = (globals: Globals): Promise<Wal> =>
	examining(globals, (log) => openWal(log, { records: [], readOnly: true }));

/** @throws CliError `CLI_REFUSED` when the loss has become another meanwhile */
async function repair(globals: Globals, acceptLoss: string): Promise<RepairProposal> {
	const { applyRepair } = await import("@reyn/wal/tools");
	try {
		return await examining(globals, (log) => applyRepair(log, { acceptLoss }));
	} catch (error) {
		if (codeOf(error) === "WAL_LOSS_NOT_ACCEPTED") throw new CliError("CLI_REFUSED", (error as Error).message);
		throw error;
	}
}

function seqOf(text: string): number {
	if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("expected a whole number.");
	return Number(text);
}

function refOf(ref: string, { first, tip }: Wal): number {
	const seq = ref === "@" ? tip : /^\d{1,15}$/.test(ref) ? Number(ref) : undefined;
	if (seq === undefined) throw new CliError("CLI_USAGE", `"${oneLine(ref)}" is no seq; give one, or @ for the tip`);
	if (seq < first || seq > tip) throw new CliError("CLI_NOT_FOUND", `no seq ${seq}; this log has ${first} to ${tip}`);
	return seq;
}

/** Prints the records after a seq that is chosen when the log is open, and gives the last one. */
async function showAfter(globals: Globals, after: (log: Wal) => number): Promise<number> {
	await using log = await openLog(globals);
	for await (const record of log.read({ after: Math.max(after(log), log.first - 1) })) await show(globals, record);
	return log.tip;
}

async function show({ json }: Globals, record: WalRecord, whole = false): Promise<void> {
	await (json ? out.json(record) : whole ? out.text(asJson(record, 2)) : out.line(recordLine(record)));
}

function recordLine({ seq, ts, kind, scope, data }: WalRecord): string {
	const where = Object.values(scope).join("/");
	const time = new Date(ts).toISOString();
	return oneLine(`#${seq}  ${time}  ${kind}${where ? `  ${where}` : ""}  ${asJson(data)}`, 160);
}

/** Beside a busy writer one look may come at a bad moment; so many in a row are no accident. */
const MAX_FAILURES = 20;

/** A writer overwrites the head after each sync, so a head that has not changed means that there is nothing new. */
function followFrom(globals: Globals, from: number): Promise<number> {
	const head = join(layoutOf(stateOf(globals)).wal, "wal.head");
	let last = from;
	let seen: number | undefined;
	let failures = 0;
	return untilStopped(async () => {
		const changed = await stat(head).then(
			({ mtimeMs }) => mtimeMs,
			() => undefined,
		);
		if (changed !== undefined && changed === seen) return;
		try {
			last = await showAfter(globals, () => last);
			seen = changed;
			failures = 0;
		} catch (error) {
			if (++failures === MAX_FAILURES) throw error;
		}
	});
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

function proposalLines({ kind, why, lost, keptAfter, changes }: RepairProposal): string[] {
	if (kind === "nothing") return [`nothing to repair: ${why}`];
	const count = lost.reduce((sum, [from, to]) => sum + to - from + 1, 0);
	return [
		kind === "finish" ? `a repair was not finished: ${oneLine(why, 200)}` : `damaged: ${oneLine(why, 200)}`,
		count > 0 ? `lost: ${rangesText(lost)}: ${count} ${count === 1 ? "record" : "records"}` : "lost: no record",
		...(keptAfter > 0 ? [`kept: ${keptAfter} records after seq ${lost[0]?.[0]}, under the seqs that they have`] : []),
		...changes.map(({ path, keptIn }) =>
			keptIn === undefined
				? `made: ${oneLine(nameOf(path))}`
				: `replaced: ${oneLine(nameOf(path))}, kept as ${oneLine(nameOf(keptIn))}`,
		),
	];
}

/** As many as fit a few lines; `--json` has them all. */
const MAX_RANGES = 20;

function rangesText(ranges: RepairProposal["lost"]): string {
	const shown = ranges
		.slice(0, MAX_RANGES)
		.map(([from, to]) => (from === to ? `seq ${from}` : `seqs ${from} to ${to}`));
	return [...shown, ...(ranges.length > MAX_RANGES ? [`and ${ranges.length - MAX_RANGES} more`] : [])].join(", ");
}

function howTo({ kind, accept }: RepairProposal): string[] {
	return kind === "nothing"
		? []
		: [
				"nothing was changed. A copy of the directory is worth more than any repair; without one, accept the loss with:",
				reyn`wal repair --apply --accept-loss ${accept}`,
			];
}
