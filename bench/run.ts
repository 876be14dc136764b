/** `pnpm bench <name>`: measures one thing against its goals. The names are the files beside this one. */
import { parseArgs } from "node:util";
import { benchRecovery } from "./recovery.ts";

const USAGE = "usage: pnpm bench recovery [--records 1000000] [--rounds 7] [--json]";

const { positionals, values } = parseArgs({
	allowPositionals: true,
	options: {
		records: { type: "string", default: "1000000" },
		rounds: { type: "string", default: "7" },
		json: { type: "boolean", default: false },
	},
});
const records = count(values.records);
const rounds = count(values.rounds);
if (positionals.join(" ") !== "recovery" || records === undefined || rounds === undefined) {
	console.error(USAGE);
	process.exitCode = 2;
} else {
	await benchRecovery({ records, rounds, json: values.json });
}

function count(text: string): number | undefined {
	return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}
