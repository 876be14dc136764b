/** `wal repair`: gives up what is damaged of a log, once a person has accepted that loss to the letter. */
import { WalError } from "@reyn/wal";
import { z } from "zod";
import { howToRepair, proposalLines } from "../lines/wal.ts";
import { flag, option } from "../param.ts";
import { repairProposalShape } from "../shapes.ts";
import { oneLine } from "../text.ts";
import { closedVerb } from "../verb.ts";

const repaired = z.object({ proposal: repairProposalShape });

export const walRepair = closedVerb({
	name: "wal repair",
	summary: "show what giving the damage up would cost; do it with --apply and that loss accepted to the letter",
	params: {
		apply: flag("do it", z.boolean().default(false)),
		acceptLoss: option(
			"ranges",
			"what the proposal says would be lost, to the letter: none, 43..47 or 7..7,92..92",
			z.string().default(""),
		),
	},
	example: "--apply --accept-loss 43..47",
	seen: repaired,
	done: repaired,
	async look(log) {
		const { proposeRepair } = await import("@reyn/wal/tools");
		return { proposal: await proposeRepair(log) };
	},
	shown: ({ proposal }, say) => [...proposalLines(proposal), ...howToRepair(proposal, say)],
	isAccepted({ proposal: { kind, accept } }, { apply, acceptLoss }) {
		if (!apply || kind === "nothing") return false;
		if (acceptLoss === accept) return true;
		throw new WalError(
			"WAL_LOSS_NOT_ACCEPTED",
			`${acceptLoss === "" ? "nothing" : oneLine(acceptLoss)} was accepted, and ${accept} would be lost; nothing was changed. Say exactly: --apply --accept-loss ${accept}`,
			{ expected: accept, found: acceptLoss },
		);
	},
	async act(log, { proposal: { accept } }) {
		const { applyRepair } = await import("@reyn/wal/tools");
		return { proposal: await applyRepair(log, { acceptLoss: accept }) };
	},
	lines: ({ proposal }, say) => [...proposalLines(proposal), `done; check with: ${say`wal verify`}`],
});
