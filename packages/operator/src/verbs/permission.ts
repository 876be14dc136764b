/** `permissions` and `revoke`: what may be done without a question, and what people have granted for good. */
import { permissionModes, permissionRevoked } from "@reyn/runtime";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { when } from "../lines/when.ts";
import { word } from "../param.ts";
import { grantShape, list, permissionRuleShape, seq } from "../shapes.ts";
import { asLine } from "../text.ts";
import { readVerb, writeVerb } from "../verb.ts";

export const permissions = readVerb({
	name: "permissions",
	summary: "what tools may do without a question, what they may not do, and what was granted",
	params: {},
	example: "",
	result: z.object({
		mode: z.enum(permissionModes).exactOptional(),
		rules: list(permissionRuleShape),
		grants: list(grantShape),
	}),
	read: (runtime) => runtime.permissions(),
	lines: ({ mode, rules, grants }, say) => [
		mode === undefined ? "every call is made: nothing is asked" : `mode ${mode}: ${means[mode]}`,
		...rules.map(({ effect, action, on, agent }) =>
			asLine(`${effect} ${action}${on === undefined ? "" : ` on ${on}`}${agent === undefined ? "" : ` for ${agent}`}`),
		),
		...grants.map((grant) => `#${grant.seq} ${grantText(grant)}, by ${asLine(grant.by)}, ${when(grant.at)}`),
		...(grants.length > 0 ? [`take one back with: ${say`revoke <seq>`}`] : []),
	],
});

const means = {
	ask: "what only looks is done, all else is asked about",
	edits: "files are read and changed, all else is asked about",
	all: "what no rule denies or asks about is done",
	"read-only": "what only looks is done, and nothing else",
} as const;

type Grant = z.infer<typeof grantShape>;

export const grantText = ({ action, on, agent, session }: Grant): string =>
	asLine(`${action} ${on} granted to ${agent}${session === undefined ? "" : `, in the session ${session}`}`);

export const revoke = writeVerb({
	name: "revoke",
	summary: "take back what was granted for good, from the next call on",
	params: {
		grant: word("seq", "its number, as permissions has it", z.coerce.number("a number, such as 12").int().positive()),
	},
	example: "12",
	seen: z.object({ grant: grantShape, tip: seq }),
	done: z.object({ grant: seq }),
	async look(runtime, { grant }) {
		const { grants } = await runtime.permissions();
		const found = grants.find((each) => each.seq === grant);
		if (found) return { grant: found, tip: runtime.wal.tip };
		const known = grants.map((each) => `#${each.seq}`).join(", ") || "none";
		throw new OperatorError("OPERATOR_NOT_FOUND", `nothing is granted in #${grant}; there are ${known}`, { grant });
	},
	shown: ({ grant }) => [grantText(grant)],
	question: ({ grant }) => `take back ${asLine(`${grant.action} ${grant.on}`)}?`,
	async act(runtime, { grant }, actor) {
		await runtime.revokePermission(grant.seq, actor);
		return { grant: grant.seq };
	},
	isDoneBy: (record, { grant }, actor) =>
		permissionRevoked.is(record) && record.data.grant === grant.seq && record.data.by === actor,
	lines: (_, _say, { grant }) => [`${asLine(`${grant.action} ${grant.on}`)} is asked about again`],
});
