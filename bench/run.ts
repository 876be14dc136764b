/** `pnpm bench <name>`: measures one thing against its goals. The names are the files beside this one. */
import { parseArgs } from "node:util";

type Options<Flag extends string> = Readonly<Record<Flag, number>> & { readonly json: boolean };

interface Bench {
	readonly usage: string;
	run(args: readonly string[]): Promise<void>;
}

class UsageError extends Error {}

const benches: Readonly<Record<string, Bench>> = {
	append: bench("append", { rounds: 11, ms: 400 }, async () => (await import("./append.ts")).benchAppend),
	recovery: bench(
		"recovery",
		{ records: 1_000_000, rounds: 7 },
		async () => (await import("./recovery.ts")).benchRecovery,
	),
};

const [name = "", ...args] = process.argv.slice(2);
const usage = Object.values(benches)
	.map((each) => each.usage)
	.join("\n");
const asked = Object.hasOwn(benches, name) ? benches[name] : undefined;

if (name === "--help" || (asked && args.includes("--help"))) {
	console.log(asked?.usage ?? usage);
} else {
	try {
		if (!asked) throw new UsageError(`expected the name of a bench, found "${name}"`);
		await asked.run(args);
	} catch (error) {
		if (!(error instanceof UsageError)) throw error;
		console.error(`${error.message}\n${asked?.usage ?? usage}`);
		process.exitCode = 2;
	}
}

/** Loaded when it is asked for: one needs libraries that another does without. */
function bench<Flag extends string>(
	name: string,
	usual: Readonly<Record<Flag, number>>,
	load: () => Promise<(options: Options<Flag>) => Promise<void>>,
): Bench {
	const flags = Object.entries<number>(usual);
	return {
		usage: `usage: pnpm bench ${name} ${flags.map(([flag, value]) => `[--${flag} ${value}]`).join(" ")} [--json]`,
		async run(args) {
			const { json, ...texts } = parsed(args, [...flags.map(([flag]) => flag)]);
			const numbers = flags.map(([flag, value]) => [flag, numberOf(flag, texts[flag] ?? String(value))]);
			await (await load())({ ...Object.fromEntries(numbers), json: json === true });
		},
	};
}

function parsed(
	args: readonly string[],
	flags: readonly string[],
): Readonly<Record<string, string | boolean | undefined>> {
	const texts = Object.fromEntries(flags.map((flag) => [flag, { type: "string" as const }]));
	try {
		return parseArgs({ args: [...args], options: { ...texts, json: { type: "boolean" } } }).values;
	} catch (error) {
		throw new UsageError((error as Error).message);
	}
}

function numberOf(flag: string, text: string | boolean): number {
	if (!/^[1-9]\d{0,8}$/.test(String(text))) throw new UsageError(`--${flag} takes a whole number, found "${text}"`);
	return Number(text);
}
