/**
 * Three plans at the command line: the process is killed twice, a limit is refused, a step is amended, a plan is rewound away and back.
 * Each has one outcome, which `plan list --all` says, and is paid for as it was foretold.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Reply, type Wire } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { type Ended, type Killable, startProcess } from "../kit/killable.ts";

let root: string;
let wire: Wire;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-plans-end-"));
	await mkdir(join(root, "files"));
	await writeFile(join(root, "files/owls.md"), "# Owls\n\nAn owl hunts at night.\n");
	await writeFile(join(root, "files/reyn.yaml"), "plan: { step_max_iterations: 2 }\n");
	// Somebody can be asked, and does not answer yet.
	await writeFile(join(root, "answers.yaml"), '[{ to: "nothing that is asked", answer: "no" }]\n');
	wire = await openWire(chat, replyTo);
});
afterAll(async () => {
	await wire[Symbol.asyncDispose]();
	await rm(root, { recursive: true, force: true });
});

const read = { name: "read", args: JSON.stringify({ path: "owls.md" }) };

/** The second step of the first plan is asked, and gets no answer. */
let heldUp: (() => void) | undefined;

// biome-ignore lint/suspicious/noExplicitAny: the bodies of requests, and documents of the command line
type Said = any;

const textsOf = ({ messages }: Said): string => JSON.stringify(messages.filter(({ role }: Said) => role === "user"));

/** `A s1`: the step of a plan that a request is for; undefined: it is of a turn. */
function stepOf(body: Said): string | undefined {
	const text = textsOf(body);
	const step = /Step (s\d):/.exec(text)?.[1];
	return step && `${/goal (\w)/.exec(text)?.[1]} ${step}`;
}

function replyTo(body: Said): Reply {
	const step = stepOf(body);
	if (step === undefined) {
		const name = /Plan it: goal (\w)/.exec(body.messages.findLast(({ role }: Said) => role === "user").content)?.[1];
		const steps = ["s1", "s2", "s3"].map((id, at) => ({
			...{ id, description: `Do ${id}`, tools: id === "s1" ? ["read"] : [] },
			depends_on: at === 0 ? [] : [`s${at}`],
		}));
		return { calls: [{ id: `plan_${name}`, name: "plan", args: JSON.stringify({ goal: `goal ${name}`, steps }) }] };
	}
	if (step === "A s2" && heldUp) {
		heldUp();
		return { isSilent: true };
	}
	const rounds = body.messages.filter(({ role }: Said) => role === "assistant").length;
	if (step === "B s1" || (step.endsWith("s1") && rounds === 0)) return { calls: [{ id: `read_${rounds}`, ...read }] };
	return { text: `said of ${step}` };
}

function begin(args: readonly string[]): Killable {
	const where = ["--cwd", join(root, "files"), "--state", join(root, "state")];
	const env = { NO_COLOR: "1", REYN_MODEL: "openai/gpt-x", OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: wire.url };
	return startProcess([process.execPath, ...reyn, ...where, ...args], { env });
}
const run = (...args: readonly string[]): Promise<Ended> => begin(args).ended;
const documentOf = async (...args: readonly string[]): Promise<Said> =>
	JSON.parse((await run(...args, "--json")).stdout);
const ask = (name: string): readonly string[] => [
	"run",
	"-p",
	`Plan it: goal ${name}`,
	"--answers",
	join(root, "answers.yaml"),
];
const goOn = (): readonly string[] => ["resume", "--answers", join(root, "answers.yaml")];
const requests = (step: string): number => wire.asked.filter((body) => stepOf(body) === step).length;
const outcomes = async (): Promise<readonly string[]> => (await run("plan", "list", "--all")).stdout.trim().split("\n");
const planOf = async (name: string): Promise<string> =>
	(await documentOf("plan", "list", "--all")).find(({ goal }: Said) => goal === `goal ${name}`).plan;

test("each has one outcome, at the price that was foretold", async () => {
	// The first is killed while its second step waits for an answer.
	const asked = new Promise<void>((resolve) => {
		heldUp = resolve;
	});
	const first = begin(ask("A"));
	await asked;
	await first.kill();
	heldUp = undefined;
	const a = await planOf("A");
	expect(await run("plan", "amend", a, "--describe", "s3=Say it in one line", "--yes")).toMatchObject({ code: 0 });
	expect(await documentOf("plan", "resume", a, "--dry-run")).toMatchObject({
		...{ runs: [{ id: "s2" }, { id: "s3" }], stays: ["s1"] },
	});
	const resumed = await run(...goOn());
	expect(resumed).toMatchObject({ code: 0 });
	expect(resumed.stdout.match(/said of A s3/g)).toHaveLength(1);
	expect(["A s1", "A s2", "A s3"].map(requests)).toEqual([2, 2, 1]);
	expect(textsOf(wire.asked.findLast((body) => stepOf(body) === "A s3"))).toContain("Say it in one line");

	// The second is killed while it asks what is to become of a step at its limit, and asks the same once more.
	const second = begin([...ask("B"), "--output-format", "stream-json"]);
	await second.line((line) => line.includes('"type":"question"'));
	await second.kill();
	const b = await planOf("B");
	expect(await outcomes()).toContainEqual(expect.stringMatching(new RegExp(`^${b} {2}running {2}0/3`)));
	const [question, ...others] = await documentOf("questions");
	expect([question.choices, others]).toEqual([["extend", "fail", "pause"], []]);
	expect(question.question).toMatch(/^Step s1 of plan p\d+ has no result after 2 rounds/);
	// What waited for it goes on with the answer.
	const failed = await run("answer", `${question.seq}`, "fail");
	expect(failed).toMatchObject({ code: 6 });
	expect(failed.stdout.match(/said of B s3/g)).toHaveLength(1);
	expect(["B s1", "B s2", "B s3"].map(requests)).toEqual([2, 1, 1]);

	// The third is run again from a step, for what was foretold, and is rewound away and back.
	expect(await run("label", "@", "before-c")).toMatchObject({ code: 0 });
	expect(await run(...ask("C"))).toMatchObject({ code: 0 });
	const c = await planOf("C");
	const { tokens: foretold } = await documentOf("plan", "resume", c, "--from", "s2", "--dry-run");
	const spent = async (): Promise<number> => {
		const { steps } = await documentOf("plan", "show", c);
		return steps.slice(1).reduce((sum: number, { tokens }: Said) => sum + tokens, 0);
	};
	expect(await spent()).toBe(foretold);
	expect(await run("plan", "resume", c, "--from", "s2")).toMatchObject({ code: 0 });
	expect(await spent()).toBe(foretold);
	expect(["C s1", "C s2", "C s3"].map(requests)).toEqual([2, 2, 2]);

	const before = await outcomes();
	const paid = wire.asked.length;
	expect(await run("rewind", "before-c", "--yes")).toMatchObject({ code: 0 });
	expect(await outcomes()).toEqual([
		...before.slice(0, 2),
		expect.stringMatching(
			new RegExp(`^${c} {2}rewound \\(#\\d+ went to before it; it was completed, as #\\d+ shows\\) {2}3/3`),
		),
	]);
	expect(await run("undo", "--yes")).toMatchObject({ code: 0 });
	// Nothing is left to be done.
	expect(await run(...goOn())).toMatchObject({ code: 3, stdout: "" });
	expect(wire.asked).toHaveLength(paid);
	expect(await outcomes()).toEqual(before);
	expect(before).toEqual([
		expect.stringMatching(new RegExp(`^${a} {2}completed {2}3/3.* {2}goal A$`)),
		expect.stringMatching(new RegExp(`^${b} {2}completed {2}2/3, 1 failed.* {2}goal B$`)),
		expect.stringMatching(new RegExp(`^${c} {2}completed {2}3/3.* {2}goal C$`)),
	]);
});
