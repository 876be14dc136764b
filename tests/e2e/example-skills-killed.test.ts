/**
 * The skills of `examples/skills`, over a provider's wire, the command line killed at any record and any request of them, while it resumes
 * too, and while it resumes that: the outcome is that of a run that nobody kills, each page is written once, each command is run once, the
 * person is asked once, a run has one child, and no finished phase runs again.
 */
import { cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../../packages/ai-sdk/test/chat-wire.ts";
import { openWire, type Reply, type Wire } from "../../packages/ai-sdk/test/wire.ts";
import { reyn } from "../cli.ts";
import { type Ended, startProcess } from "../kit/killable.ts";
import { type Random, SEED, seeded } from "../kit/seeded.ts";
import { sample } from "../sample.ts";

const examples = join(import.meta.dirname, "../../examples/skills");

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-example-skills-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

// biome-ignore lint/suspicious/noExplicitAny: the body of a request, and the data of records
type Said = any;

/** Which skills are run, and what each is given. */
const stories = {
	report: { about: "ferry", to: "out" },
	review: { about: "ferry", to: "out/page.md" },
	release: {
		version: "1.2.0",
		check: "echo check >> ledger; grep -q 1.2.0 changes.md",
		release: "echo release >> ledger; sleep 0.05; echo released",
	},
} as const;
type Story = keyof typeof stories;

/** The pages that each makes. */
const pages: Readonly<Record<Story, readonly string[]>> = {
	report: ["out/sources.md", "out/report.md"],
	review: ["out/page.md"],
	release: ["notes-1.2.0/sources.md", "notes-1.2.0/report.md"],
};

const QUESTION = "Release 1.2.0 with notes-1.2.0/report.md?";
/** The third draft is good. */
const GOOD = 3;

/** The phase, and its visit, that a request is of. */
function phaseOf({ messages: [system, user] }: Said): string {
	if (system.content.startsWith("Sum up")) return "sum/1";
	const [, visit = "0"] = /Draft (\d)/.exec(JSON.stringify(user.content)) ?? [];
	return `${system.content.startsWith("Judge") ? "judge" : "draft"}/${visit}`;
}

function answerTo(body: Said): Reply {
	const [phase, visit] = phaseOf(body).split("/");
	if (phase === "sum") return { text: "A ferry crosses the river (river.md:1)." };
	const page = `Draft ${visit}: a ferry crosses the river.`;
	if (phase === "draft") return { text: page };
	const next = Number(visit) < GOOD ? "draft" : "keep";
	return { text: JSON.stringify({ next, output: { page, why: `draft ${visit} is not good` } }) };
}

interface Place {
	readonly story: Story;
	readonly cwd: string;
	readonly wire: Wire;
	readonly answers: string;
}

async function newPlace(name: string, story: Story, wire: Wire): Promise<Place> {
	const cwd = join(root, name);
	await cp(examples, join(cwd, ".reyn/skills"), {
		recursive: true,
		filter: (path) => !/node_modules|json$/.test(path),
	});
	await writeFile(join(cwd, "river.md"), "A ferry crosses the river.\n");
	await writeFile(join(cwd, "changes.md"), "1.2.0 has a ferry.\n");
	await mkdir(join(cwd, ".reyn"), { recursive: true });
	const answers = join(cwd, ".reyn/answers.yaml");
	await writeFile(answers, '- { to: "Release *", answer: "yes" }\n');
	return { story, cwd, wire, answers };
}

/** What the log says. */
interface Known {
	readonly records: readonly Said[];
	of(kind: string): readonly Said[];
	/** The phases that are over, as {@link phaseOf} calls them. */
	readonly over: ReadonlySet<string>;
	/** What it said once it was over. */
	readonly said: string | undefined;
	/** The question that nobody has answered. */
	readonly open: number | undefined;
	/** The run that is paused, since its process died at three starts before anything new was recorded. */
	readonly paused: string | undefined;
}

async function knownOf({ cwd }: Place): Promise<Known> {
	const text = await readFile(join(cwd, ".reyn/state/wal.jsonl"), "utf8").catch(() => "");
	const records = text.split("\n").flatMap((line) => {
		try {
			return line.includes('"kind"') ? [JSON.parse(line)] : [];
		} catch {
			// It is being written, or a kill has torn it.
			return [];
		}
	});
	const of = (kind: string): readonly Said[] => records.filter((record) => record.kind === kind);
	const answered = new Set(of("question_answered").map(({ data }) => data.question));
	return {
		...{ records, of },
		over: new Set(of("skill_phase_completed").map(({ data }) => `${data.phase}/${data.visit}`)),
		said: of("message_delivered").length > 0 ? of("assistant_message").at(-1)?.data.text : undefined,
		paused: of("skill_run_paused").find(({ seq }) => seq > (of("skill_run_resumed").at(-1)?.seq ?? 0))?.data.run,
		open: of("question_asked").find(({ seq }) => !answered.has(seq))?.seq,
	};
}

const toldOf = ({ records }: Known): string =>
	records
		.map(({ seq, kind, data }) => `${seq} ${kind} ${data.phase ?? data.lane ?? data.run ?? ""} ${data.name ?? ""}`)
		.join("\n");

/** The command that goes on with it. @param byHand a question is answered by the command that is for it */
function goOn({ story, answers }: Place, { of, open, paused }: Known, byHand: boolean): readonly string[] {
	const given = byHand ? [] : ["--answers", answers];
	if (of("skill_run_started").length === 0)
		return ["skill", "run", story, "--input", JSON.stringify(stories[story]), ...given];
	if (paused !== undefined) return ["skill", "resume", paused, ...given];
	return byHand && open !== undefined ? ["answer", `${open}`, "yes"] : ["resume", ...given];
}

type Moment = { readonly since: "record" | "request"; readonly n: number };

/**
 * A process to its end, or to its kill at the n-th record or the n-th request of it. No phase that is over before asks a model.
 *
 * @returns how it ended; undefined: it was killed
 */
async function live(place: Place, args: readonly string[], moment?: Moment): Promise<Ended | undefined> {
	const { wire, cwd } = place;
	const before = await knownOf(place);
	const asked = wire.asked.length;
	const env = {
		...{ NO_COLOR: "1", XDG_CONFIG_HOME: join(root, "config"), XDG_STATE_HOME: join(root, "known") },
		...{ REYN_MODEL: "openai/gpt-x", OPENAI_API_KEY: "sk-none", OPENAI_BASE_URL: wire.url },
	};
	const all = [process.execPath, ...reyn, "--cwd", cwd, "--mode", "all", "--trust", ...args];
	const working = startProcess(all, { env });
	let isOver = false;
	const over = working.ended.then(() => {
		isOver = true;
	});
	const count = { record: async () => (await knownOf(place)).records.length, request: async () => wire.asked.length };
	const from = { record: before.records.length, request: asked };
	while (moment && !isOver && (await count[moment.since]()) - from[moment.since] < moment.n) await pause(1);
	if (!moment) await over;
	const isKilled = !isOver;
	const ended = isKilled ? await working.kill() : await working.ended;
	await over;
	const told = `${args.join(" ")}\n${ended.stderr}\n${toldOf(await knownOf(place))}`;
	const again = wire.asked
		.slice(asked)
		.map(phaseOf)
		.filter((phase) => before.over.has(phase));
	expect(again, told).toEqual([]);
	if (!isKilled) expect([ended.signal, [0, 4].includes(ended.code ?? -1)], told).toEqual([null, true]);
	return isKilled ? undefined : ended;
}

/** The pages that are there, each with the file that it is: one that is written again is another. */
async function filesOf({ story, cwd }: Place): Promise<ReadonlyMap<string, number>> {
	const found = await Promise.all(
		pages[story].map(async (path) => [path, (await stat(join(cwd, path)).catch(() => undefined))?.ino] as const),
	);
	return new Map(found.filter((each): each is [string, number] => each[1] !== undefined));
}

const textsOf = ({ story, cwd }: Place): Promise<readonly string[]> =>
	Promise.all(pages[story].map((path) => readFile(join(cwd, path), "utf8")));

/** What a run that nobody kills comes to. */
interface Outcome {
	readonly said: string | undefined;
	readonly texts: readonly string[];
	readonly records: number;
	readonly requests: number;
}

async function uninterrupted(story: Story, wire: Wire): Promise<Outcome> {
	const place = await newPlace(`${story}-whole`, story, wire);
	const asked = wire.asked.length;
	await live(place, goOn(place, await knownOf(place), false));
	const known = await knownOf(place);
	expect(known.said, toldOf(known)).toBeDefined();
	const requests = wire.asked.length - asked;
	return { said: known.said, texts: await textsOf(place), records: known.records.length, requests };
}

/** One run, killed up to so many times. @returns how often it was */
async function told(place: Place, whole: Outcome, most: number, random: Random): Promise<number> {
	const { story, wire, cwd } = place;
	const asked = wire.asked.length;
	const byHand = random.chance(0.5);
	const seen = new Map<string, number>();
	let kills = 0;
	for (let lives = 0; ; lives++) {
		const known = await knownOf(place);
		if (known.said !== undefined) break;
		expect(lives, toldOf(known)).toBeLessThan(most + 6);
		const left = whole.requests - (wire.asked.length - asked);
		const moment: Moment =
			left > 0 && random.chance(0.3)
				? { since: "request", n: 1 + random.below(left) }
				: { since: "record", n: 1 + random.below(Math.max(1, whole.records - known.records.length)) };
		if (!(await live(place, goOn(place, known, byHand), kills < most ? moment : undefined))) kills++;
		for (const [path, file] of await filesOf(place)) {
			expect(seen.get(path) ?? file, `${path} was written again`).toBe(file);
			seen.set(path, file);
		}
	}
	const known = await knownOf(place);
	const why = toldOf(known);
	const { of } = known;
	expect([known.said, await textsOf(place)], why).toEqual([whole.said, whole.texts]);
	// A kill takes the answer that is open, and no other.
	expect(wire.asked.length - asked, why).toBeLessThanOrEqual(whole.requests + kills);
	const children = of("skill_run_started").filter(({ data }) => data.parent !== undefined);
	const runs = story === "release" ? 2 : 1;
	expect([of("skill_run_started").length, of("skill_run_completed").length, children.length], why).toEqual([
		runs,
		runs,
		runs - 1,
	]);
	const finished = of("skill_phase_completed").map(({ data }) => `${data.run} ${data.phase}/${data.visit}`);
	expect(finished, why).toEqual([...new Set(finished)]);
	const done = of("step_completed").filter(({ data }) => data.kind === "tool" || data.kind === "model");
	expect(done.length, why).toBe(new Set(done.map(({ data }) => `${data.lane} ${data.fp} ${data.occ}`)).size);
	expect(of("assistant_message").length, why).toBe(1);
	if (story === "release") {
		expect([of("question_asked").map(({ data }) => data.question), of("question_answered").length], why).toEqual([
			[QUESTION],
			1,
		]);
		expect(await readFile(join(cwd, "ledger"), "utf8"), why).toBe("check\nrelease\n");
	}
	return kills;
}

const KILLS = Number(process.env.REYN_RUNS ?? sample(2, 4));

test(`killed ${KILLS} times, the example skills come to what they come to when nobody kills them`, async () => {
	const random = seeded(SEED);
	await using wire = await openWire(chat, async (body) => {
		await pause(5);
		return answerTo(body);
	});
	const kills: Record<Story, number> = { report: 0, review: 0, release: 0 };
	const names = Object.keys(stories) as Story[];
	const wholes: Partial<Record<Story, Outcome>> = {};
	const sum = (): number => Object.values(kills).reduce((all, each) => all + each, 0);
	let runs = 0;
	while (sum() < KILLS) {
		// The last one first: it has the most to lose.
		const story = names.toReversed()[runs % names.length] as Story;
		wholes[story] ??= await uninterrupted(story, wire);
		const place = await newPlace(`${story}-${runs++}`, story, wire);
		kills[story] += await told(place, wholes[story], Math.min(3, KILLS - sum()), random);
	}
	console.log(`${sum()} kills in ${runs} runs: ${names.map((story) => `${story} ${kills[story]}`).join(", ")}`);
});
