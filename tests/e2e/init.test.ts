/** From `reyn init` in a repository to a change in it: each of three questions is answered once, whatever is killed, and what is told of it agrees. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire } from "../../packages/ai-sdk/test/wire.ts";
import { carryOut } from "../carry-out.ts";
import { type Place, start } from "../cli.ts";
import { pageOf } from "../kit/page.ts";
import { some } from "../sample.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-init-"));
});
afterEach(() => vi.unstubAllEnvs());
afterAll(() => rm(root, { recursive: true, force: true }));

async function newPlace(name: string): Promise<Place> {
	const cwd = join(root, name);
	await mkdir(cwd);
	return { cwd, state: join(cwd, ".reyn"), trace: join(root, `${name}.jsonl`) };
}

test("init writes what may be set, and what git passes over; what is there already stays", async () => {
	const place = await newPlace("there");
	const text = (name: string): Promise<string> => readFile(join(place.cwd, name), "utf8");
	const path = join(place.cwd, "reyn.yaml");
	await writeFile(join(place.cwd, ".gitignore"), "node_modules\nreyn.local.yaml");
	const made = await carryOut(place, ["--json", "init"]);
	expect([made.code, JSON.parse(made.stdout)]).toEqual([0, { path, ignored: [".reyn/"] }]);
	const ignored = "node_modules\nreyn.local.yaml\n.reyn/\n";
	expect(await text(".gitignore")).toBe(ignored);

	await writeFile(path, "plan: { concurrency: 2 }\n");
	const again = await carryOut(place, ["--json", "init"]);
	expect([again.code, JSON.parse(again.stdout).error]).toEqual([
		4,
		{ code: "CLI_REFUSED", message: `${path} is there already; it is read as it is`, details: {} },
	]);
	expect([await text("reyn.yaml"), await text(".gitignore")]).toEqual(["plan: { concurrency: 2 }\n", ignored]);
});

const broken = {
	"sum.js": "export const sum = (a, b) => a - b;\n",
	"mean.mjs": 'import { sum } from "./sum.js";\nexport const mean = (all) => all.reduce(sum, 0) / all.length;\n',
	"package.json": '{ "type": "module" }\n',
};
const calls: readonly (readonly [name: string, args: object])[] = [
	["read", { path: "sum.js" }],
	["edit", { path: "sum.js", old: "a - b", new: "a + b" }],
	["write", { path: "try.js", text: 'import { mean } from "./mean.mjs";\nconsole.log("mean:", mean([1, 2, 3]));\n' }],
	["shell", { command: "echo begun >> ../ledger; node try.js" }],
];

const providers = [
	{
		model: "openai/gpt-x",
		env: (url: string): Record<string, string> => ({ OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: url }),
	},
	{ model: "ollama/llama-x", env: (url: string): Record<string, string> => ({ OLLAMA_HOST: new URL(url).host }) },
];

test.each(some(providers, 2))("a change is made over $model", async ({ model, env }) => {
	await using wire = await openWire(chat);
	const place = await newPlace(model.replace("/", "-"));
	const home = join(root, `${model.replace("/", "-")}-home`);
	await mkdir(join(home, "reyn"), { recursive: true });
	await writeFile(join(home, "reyn/config.yaml"), `prices: { ${model}: { input: 1.25, output: 10 } }\n`);
	for (const [name, value] of Object.entries({ XDG_CONFIG_HOME: home, REYN_MODEL: model, ...env(wire.url) }))
		vi.stubEnv(name, value);
	const run = (...args: readonly string[]) => carryOut(place, args);
	const json = async (...args: readonly string[]) => JSON.parse((await run("--json", ...args)).stdout);
	const git = (...args: readonly string[]): string =>
		execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@b.c", ...args], {
			...{ cwd: place.cwd, encoding: "utf8" },
			env: { ...process.env, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: join(home, "git") },
		});
	for (const [name, text] of Object.entries(broken)) await writeFile(join(place.cwd, name), text);
	git("init", "-q");
	expect(await run("init")).toMatchObject({ code: 0, stdout: expect.stringContaining("git passes over .reyn/\n") });
	git("add", ".");
	git("commit", "-q", "-m", "first");

	wire.replies.push(
		{ text: "It has a mean." },
		...calls.map(([name, args]) => ({ calls: [{ id: `call_${name}`, name, args: JSON.stringify(args) }] })),
		{ text: "It is mended." },
	);
	expect(await run("run", "-p", "What is here?")).toMatchObject({ code: 0, stdout: "It has a mean.\n" });
	// One is answered on the page; the next one is open when that is killed.
	const page = await pageOf(start(place, ["ui"]));
	const begin = async (verb: string, given: object) =>
		expect(await page.ask("/api/begin", { verb, given })).toMatchObject({ status: 200 });
	const asked: { readonly seq: number; readonly question: string }[] = [];
	const onPage = async () => (await page.ask("/api/read", { verb: "questions", given: {} })).body.document;
	const isNew = async () => (await onPage()).some(({ seq }: { seq: number }) => seq !== asked.at(-1)?.seq);
	await begin("ask", { text: "Mend the mean." });
	await expect.poll(isNew).toBe(true);
	asked.push(...(await onPage()));
	await begin("answer", { question: asked[0]?.seq, answer: "once" });
	await expect.poll(isNew).toBe(true);
	await page.process.kill();
	asked.push(...(await json("questions")));
	// Who only goes on is told what is asked, and no model is.
	const resumed = await run("resume");
	expect([resumed.code, resumed.stderr]).toEqual([4, expect.stringContaining(`answer ${asked[1]?.seq} once|session|`)]);
	expect(wire.asked).toHaveLength(4);
	expect(await run("answer", `${asked[1]?.seq}`, "once")).toMatchObject({ code: 4 });
	asked.push(...(await json("questions")));
	expect(asked.map(({ question }) => question)).toEqual([
		"write sum.js?",
		"write try.js?",
		"run echo begun >> ../ledger; node try.js?",
	]);
	expect(await run("answer", `${asked[2]?.seq}`, "once")).toMatchObject({ code: 0, stdout: "It is mended.\n" });
	expect(JSON.stringify(wire.asked.at(-1))).toContain("mean: 2");
	expect(await readFile(join(root, "ledger"), "utf8")).toBe("begun\n");
	await rm(join(root, "ledger"));

	// Of what was done, and of what it cost, all say the same.
	expect(git("status", "--porcelain")).toBe(" M sum.js\n?? try.js\n");
	const { lines } = await json("events");
	const told = (kind: string, ...what: readonly string[]): readonly (Told & Readonly<Record<string, unknown>>)[] =>
		lines.filter((line: Told) => line.kind === kind && what.includes(line.what));
	const { files, uncovered } = await json("files");
	const { paid, left, failed, by } = await json("spend");

	expect(told("question", "asked").map(({ seq, subject }) => [seq, subject])).toEqual(
		asked.map(({ seq, question }) => [seq, question]),
	);
	expect(told("question", "answered").map(({ question, answer }) => [question, answer])).toEqual(
		asked.map(({ seq }) => [seq, "once"]),
	);
	const [edit, write, shell] = told("tool", "started");
	expect(told("tool", "ended").map(({ name, started }) => [name, started])).toEqual([
		["read", undefined],
		...[edit, write, shell].map((each) => [each?.name, each?.seq]),
	]);
	const alone = { between: false, since: false };
	const tried = [expect.stringContaining("+import"), expect.stringContaining("+console")];
	expect(files).toMatchObject([
		{
			...{ path: "sum.js", change: "changed", by: [{ seq: edit?.seq }], others: alone },
			diff: [expect.any(String), expect.stringMatching(/^-.*a - b;$/), expect.stringMatching(/^\+.*a \+ b;$/)],
		},
		{ path: "try.js", change: "made", by: [{ seq: write?.seq }], others: alone, diff: [expect.any(String), ...tried] },
	]);
	expect([shell?.name, uncovered]).toEqual(["shell", [{ name: "shell", calls: 1 }]]);

	// 48 tokens in and 7 out, each time that the server was asked.
	const times = wire.asked.length;
	expect(times).toBe(calls.length + 2);
	expect(told("model", "ended").map(({ name, inputTokens, paid }) => [name, inputTokens, paid])).toEqual(
		Array(times).fill([model, 48, true]),
	);
	const sum = { calls: times, inputTokens: 48 * times, outputTokens: 7 * times, cost: { usd: "0.00078", unknown: 0 } };
	expect([paid, left.calls, failed, by]).toMatchObject([sum, 0, 0, [{ kind: "model", name: model, paid: sum }]]);
});

interface Told {
	readonly seq: number;
	readonly kind: string;
	readonly what: string;
}
