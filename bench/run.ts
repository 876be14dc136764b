/** `pnpm bench <name>`: measures one thing against its goals. The names are the files beside this one. */
import { parseArgs } from "node:util";

/** What a flag takes: one whole number, or several with commas between. */
type Numbers = number | readonly number[];
type Options<Usual> = { readonly [Flag in keyof Usual]: Usual[Flag] extends number ? number : readonly number[] } & {
	readonly json: boolean;
};

interface Bench {
	readonly usage: string;
	run(args: readonly string[]): Promise<void>;
}

class UsageError extends Error {}

const benches: Readonly<Record<string, Bench>> = {
	append: bench("append", { rounds: 11, ms: 400 }, async () => (await import("./append.ts")).benchAppend),
	checkout: bench(
		"checkout",
		{ records: 1_000_000, sessions: 1000, rounds: 7 },
		async () => (await import("./checkout.ts")).benchCheckout,
	),
	install: bench("install", { rounds: 11 }, async () => (await import("./install.ts")).benchInstall),
	open: bench(
		"open",
		{ records: [30_000, 1_000_000], sessions: 1000, rounds: 7 },
		async () => (await import("./open.ts")).benchOpen,
	),
	page: bench(
		"page",
		{ records: [100_000], branches: 200, rounds: 5, prompts: 500, rest: 40 },
		async () => (await import("./page.ts")).benchPage,
	),
	plan: bench("plan", { plans: 50, repetitions: 10, rounds: 5 }, async () => (await import("./plan.ts")).benchPlan),
	recovery: bench(
		"recovery",
		{ records: 1_000_000, rounds: 7 },
		async () => (await import("./recovery.ts")).benchRecovery,
	),
	resume: bench(
		"resume",
		{ steps: [100, 1000, 10_000], rounds: 5 },
		async () => (await import("./resume.ts")).benchResume,
	),
	rewind: bench(
		"rewind",
		{ records: [10_000, 1_000_000], files: 1000, times: 100, rounds: 5 },
		async () => (await import("./rewind.ts")).benchRewind,
	),
	skills: bench(
		"skills",
		{ runs: [100, 1000], phases: 200, rounds: 5 },
		async () => (await import("./skills.ts")).benchSkills,
	),
	snapshot: bench(
		"snapshot",
		{ steps: [100, 1000, 3000], rounds: 21, histories: [10, 100, 1000, 10_000] },
		async () => (await import("./snapshot.ts")).benchSnapshot,
	),
	start: bench("start", { rounds: 21 }, async () => (await import("./start.ts")).benchStart),
	tasks: bench(
		"tasks",
		{ writes: 200, tasks: [1000, 100_000], kept: [100, 10_000], rounds: 7 },
		async () => (await import("./tasks.ts")).benchTasks,
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
function bench<Usual extends Readonly<Record<string, Numbers>>>(
	name: string,
	usual: Usual,
	load: () => Promise<(options: Options<Usual>) => Promise<void>>,
): Bench {
	const flags = Object.entries<Numbers>(usual);
	return {
		usage: `usage: pnpm bench ${name} ${flags.map(([flag, value]) => `[--${flag} ${value}]`).join(" ")} [--json]`,
		async run(args) {
			const { json, ...texts } = parsed(args, [...flags.map(([flag]) => flag)]);
			const numbers = flags.map(([flag, value]) => {
				const text = String(texts[flag] ?? value);
				return [flag, typeof value === "number" ? numberOf(flag, text) : numbersOf(flag, text)];
			});
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

function numberOf(flag: string, text: string): number {
	if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`--${flag} takes a whole number, found "${text}"`);
	return Number(text);
}

/** In ascending order. */
function numbersOf(flag: string, text: string): readonly number[] {
	const numbers = text.split(",").map((each) => numberOf(flag, each));
	return numbers.sort((a, b) => a - b);
}
