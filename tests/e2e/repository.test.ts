/**
 * A model mends a small repository until its failing test passes, over each provider's wire, and is killed at any moment: the files are
 * those of a session that nobody killed, no answer is paid for again, each file is changed once and each command begun once. What each
 * file held before is kept: `reyn files` says the same of all.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anthropic } from "../../packages/ai-sdk/test/anthropic-wire.ts";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Reply, type Speaker, type Wire } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { type Killable, startProcess } from "../kit/killable.ts";
import { type Random, SEED, seeded } from "../kit/seeded.ts";
import { some } from "../sample.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-repository-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const broken = {
	"sum.js": "export const sum = (a, b) => a - b;\n",
	"mean.js": 'import { sum } from "./sum.js";\nexport const mean = (all) => all.reduce(sum, 0) / all.lenght;\n',
	"old.js": "// nobody needs this\n",
	"test.js":
		'import { mean } from "./mean.js";\nimport { label } from "./label.js";\nif (label(mean([1, 2, 3])) !== "mean: 2") throw new Error("it fails");\nconsole.log("it passes");\n',
	"package.json": '{ "type": "module" }\n',
};

/** Each command says in a ledger that it was begun. */
const command = (id: string, text: string): string => `echo ${id} >> ledger; ${text}`;

/** What the model does, round by round. What it is told decides nothing, but the last word of it. */
const rounds: readonly (readonly { readonly name: string; readonly args: object }[])[] = [
	[{ name: "shell", args: { command: command("first", "node test.js 2>&1 | tail -3; sleep 0.2") } }],
	[
		{ name: "read", args: { path: "sum.js" } },
		{ name: "read", args: { path: "mean.js" } },
	],
	[
		{ name: "edit", args: { path: "sum.js", old: "a - b", new: "a + b" } },
		{ name: "edit", args: { path: "mean.js", old: "lenght", new: "length" } },
	],
	[{ name: "shell", args: { command: command("second", "node test.js; sleep 0.2") } }],
	[{ name: "write", args: { path: "lib/label.js", text: 'export const label = (of) => "mean: " + of;\n' } }],
	[{ name: "edit", args: { path: "test.js", old: "./label.js", new: "./lib/label.js" } }],
	[{ name: "read", args: { path: "old.js" } }],
	[{ name: "remove", args: { path: "old.js", version: "VERSION" } }],
	[{ name: "shell", args: { command: command("third", "node test.js; sleep 0.2") } }],
];

interface Provider {
	readonly speaker: Speaker;
	readonly model: string;
	env(url: string): Readonly<Record<string, string>>;
	/** How many rounds have been answered, and the texts that tools have given. */
	heard(body: Readonly<Record<string, unknown>>): { readonly round: number; readonly texts: readonly string[] };
}

// biome-ignore lint/suspicious/noExplicitAny: the bodies of some providers
type Said = any;

const ofChat: Pick<Provider, "speaker" | "heard"> = {
	speaker: chat,
	heard: ({ messages }) => ({
		round: (messages as Said[]).filter(({ role }) => role === "assistant").length,
		texts: (messages as Said[]).flatMap(({ role, content }) => (role === "tool" ? [String(content)] : [])),
	}),
};

const providers: readonly Provider[] = [
	{ ...ofChat, model: "openai/gpt-x", env: (url) => ({ OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: url }) },
	{
		...{ speaker: anthropic, model: "anthropic/claude-x" },
		env: (url) => ({ ANTHROPIC_API_KEY: "sk-none", ANTHROPIC_BASE_URL: url }),
		heard: ({ messages }) => ({
			round: (messages as Said[]).filter(({ role }) => role === "assistant").length,
			texts: (messages as Said[]).flatMap(({ content }) =>
				Array.isArray(content)
					? content.flatMap((part: Said) => (part.type === "tool_result" ? [JSON.stringify(part.content)] : []))
					: [],
			),
		}),
	},
	{ ...ofChat, model: "ollama/llama-x", env: (url) => ({ OLLAMA_HOST: new URL(url).host }) },
];

function replyTo({ round, texts }: ReturnType<Provider["heard"]>): Reply {
	const calls = rounds[round];
	if (!calls) return { text: /it passes/.test(texts.at(-1) ?? "") ? "It passes." : `It fails: ${texts.at(-1)}` };
	// As a model does, it gives the version that it was shown.
	const version = /version ([0-9a-f]+)/.exec(texts.at(-1) ?? "")?.[1] ?? "none";
	return {
		calls: calls.map(({ name, args }, at) => ({
			id: `call_${round}_${at}`,
			name,
			args: JSON.stringify(args).replace("VERSION", version),
		})),
	};
}

interface Place {
	readonly cwd: string;
	readonly state: string;
}

async function newPlace(name: string): Promise<Place> {
	const cwd = join(root, name, "files");
	await mkdir(cwd, { recursive: true });
	for (const [path, text] of Object.entries(broken)) await writeFile(join(cwd, path), text);
	return { cwd, state: join(root, name, "state") };
}

function start({ cwd, state }: Place, { env, model }: Provider, { url }: Wire, ...args: readonly string[]): Killable {
	return startProcess([process.execPath, ...reyn, "--cwd", cwd, "--state", state, ...args, "--mode", "all"], {
		env: { NO_COLOR: "1", REYN_MODEL: model, ...env(url) },
	});
}

/** All files, by their paths. */
async function treeOf({ cwd }: Place): Promise<Readonly<Record<string, string>>> {
	const files = (await readdir(cwd, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
	const texts = files.map(async ({ parentPath, name }) => {
		const path = join(parentPath, name);
		return [path.slice(cwd.length + 1), await readFile(path, "utf8")] as const;
	});
	return Object.fromEntries((await Promise.all(texts)).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** What is said of the files, but for the seqs: killed before its prompt was durable, a session has other records before it. */
async function toldOf({ cwd, state }: Place): Promise<object> {
	const args = ["--cwd", cwd, "--state", state, "files", "--json"];
	const { stdout, code } = await startProcess([process.execPath, ...reyn, ...args]).ended;
	expect(code).toBe(0);
	const { files, uncovered } = JSON.parse(stdout);
	return {
		files: files.map(({ by, ...file }: Said) => ({
			...file,
			by: by.map(({ seq: _, lane, ...one }: Said) => ({ ...one, lane: lane.replace(/\d+/, "SEQ") })),
		})),
		uncovered,
	};
}

/** The answers of the model that are durable, by what was asked. */
async function paidIn({ state }: Place): Promise<number> {
	const text = await readFile(join(state, "state/wal.jsonl"), "utf8").catch(() => "");
	return text.split("\n").filter((line) => line.includes('"kind":"step_completed"') && line.includes('"kind":"model"'))
		.length;
}

/** Kills it until it is done. @returns how often it was killed */
async function mendKilled(place: Place, provider: Provider, wire: Wire, random: Random): Promise<number> {
	let kills = 0;
	for (;;) {
		const log = await readFile(join(place.state, "state/wal.jsonl"), "utf8").catch(() => "");
		// It was killed behind its end.
		if (log.includes('"turn_completed"')) return kills;
		const isBegun = log.includes('"user_prompt"');
		const asked = wire.asked.length;
		const working = start(place, provider, wire, ...(isBegun ? ["resume"] : ["run", "-p", "Mend it."]));
		const paid = await paidIn(place);
		const ended =
			kills < MOST_KILLS
				? await Promise.race([working.ended, pause(random.below(2500)).then(() => undefined)])
				: await working.ended;
		if (ended) {
			expect([ended.code, ended.stderr], `${ended.stderr}\n${log}`).toEqual([0, expect.any(String)]);
			expect(ended.stdout).toContain("It passes.");
			// Of the answers that were durable none is asked for again.
			expect(wire.asked.length - asked).toBe(rounds.length + 1 - paid);
			return kills;
		}
		await working.kill();
		kills++;
		// Beyond what has become durable one request may have been under way.
		expect(wire.asked.length - asked - ((await paidIn(place)) - paid)).toBeLessThanOrEqual(1);
	}
}

const MOST_KILLS = 6;
const SESSIONS = Number(process.env.REYN_RUNS ?? 1);

test.each(some(providers, providers.length))(`over $model, killed in ${SESSIONS} sessions`, async (provider) => {
	const random = seeded(SEED + provider.model.length);
	await using wire = await openWire(provider.speaker, (body) => replyTo(provider.heard(body)));
	const whole = await newPlace(`${provider.model.replace("/", "-")}-whole`);
	expect(await start(whole, provider, wire, "run", "-p", "Mend it.").ended).toMatchObject({
		code: 0,
		stdout: "It passes.\n",
	});
	const tree = await treeOf(whole);
	expect(tree).toMatchObject({ "sum.js": expect.stringContaining("a + b"), ledger: "first\nsecond\nthird\n" });
	expect(Object.keys(tree)).toEqual(["ledger", "lib/label.js", "mean.js", "package.json", "sum.js", "test.js"]);
	const told = await toldOf(whole);
	const [others, by] = [
		{ between: false, since: false },
		[{ scope: { agent: "default", session: "main" }, lane: "turn/SEQ" }],
	];
	expect(told).toMatchObject({
		files: [
			{ path: "lib/label.js", change: "made", others, by },
			{ path: "mean.js", change: "changed", others, by },
			{ path: "old.js", change: "removed", diff: ["@@ -1,1 +1,0 @@", "-// nobody needs this"], others, by },
			{
				path: "sum.js",
				change: "changed",
				diff: [expect.any(String), expect.stringMatching(/^-.*a - b;$/), expect.stringMatching(/^\+.*a \+ b;$/)],
				others,
				by,
			},
			{ path: "test.js", change: "changed", others, by },
		],
		uncovered: [{ name: "shell", calls: 3 }],
	});
	let kills = 0;
	for (let session = 0; session < SESSIONS; session++) {
		const place = await newPlace(`${provider.model.replace("/", "-")}-${session}`);
		kills += await mendKilled(place, provider, wire, random);
		expect(await treeOf(place)).toEqual(tree);
		expect(await toldOf(place)).toEqual(told);
	}
	console.log(`${provider.model}: ${kills} kills in ${SESSIONS} sessions`);
	expect(kills).toBeGreaterThan(0);
});
