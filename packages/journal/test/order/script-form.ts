/** Random programs as scripts. */
import { type BlobStore, memoryEngine } from "@reyn/wal";
import type { Model, Tool } from "../../src/index.ts";
import {
	type Explanation,
	explain,
	loadScript,
	type Reuse,
	runScript,
	type ScriptContext,
	ScriptMemo,
	type ScriptPorts,
} from "../../src/script/index.ts";
import { Log, Process, type ProcessOptions, run, scope } from "../script/script-process.ts";
import { FarSide, failedIn, Stuck, tokenStore, tokensIn } from "./far-side.ts";
import type { Form, Note } from "./life.ts";
import { type Calls, follow, type Kind, type Program } from "./program.ts";

export interface Scripts {
	log: Log;
	readonly store: BlobStore & { readonly begins: ReadonlyMap<string, string> };
}

export const scripts: Form<Scripts> = {
	name: "scripts",
	forgets: "after a failure",
	fresh: () => ({ log: new Log(), store: tokenStore(memoryEngine().blobs("main")) }),
	async cut({ log, store }, after) {
		const copy = new Log();
		for (const { kind, data, ts } of log.records.slice(0, after)) copy.append({ kind, data } as never, scope, ts);
		return { log: copy, store };
	},
	async live(state, program, { delays, policy, absent = false, reuse, addition = "", number: life }, made, now) {
		const { log, store } = state;
		const tip = (): number => log.records.length;
		const far = new FarSide(program, { life, delays, tip, made, now });
		const notes: Note[] = [];
		const process = new Noting(
			{
				log,
				time: far.time,
				policy,
				model: modelOf(far),
				tools: toolsOf(far),
				ask: async ({ question }) => (absent ? undefined : far.answer("ask", question)),
			},
			store,
			(line) => notes.push({ line, tip: tip() }),
		);
		const from = tip();
		const left = { number: life, notes, from, made: far.made };
		const tokens = async (through: number, inside?: boolean): Promise<ReadonlySet<string>> =>
			tokensIn(log.records.slice(0, through), store.begins, inside);
		const verify = async (again: Program): Promise<readonly unknown[]> => {
			const memo = new ScriptMemo(log.records);
			const { divergences } = await far.time.until(
				explain(module, run, again, scope, { ...process.ports, memo, isOver: true }),
				1,
			);
			return divergences;
		};
		try {
			// A comment is no edit.
			const { script, program: parsed } = module.version;
			const text = addition.startsWith("//") ? "" : addition;
			const version = { script: `${script}${addition}`, program: `${parsed}${text}` };
			process.begin(version, { args: program, ...(reuse ? { reuse } : {}) });
			const working = process.end(() => runScript(module, run, program, scope, process.ports));
			const ended = await far.time.until(working, 1);
			const error = "error" in ended ? ended.error : undefined;
			const refused = notes.find(({ line }) => /^refused (?!SCRIPT_WAITING)/.test(line))?.line;
			const isRefused = refused !== undefined || REFUSALS.includes(String(error?.code));
			const why = refused ?? [error?.code, error?.message, JSON.stringify(error?.detail)].join(" ").trim();
			const status = isRefused
				? "refused"
				: ended.status === "stopped" || ended.status === "killed"
					? "stuck"
					: ended.status;
			const result = "result" in ended ? String(ended.result) : undefined;
			const failed = failedIn(log.records, from);
			return { ...left, status, why, result, failed, tip: tip(), now: far.time.now(), tokens, verify };
		} catch (error) {
			if (!(error instanceof Stuck)) throw error;
			return { ...left, status: "stuck", why: "", result: undefined, tip: tip(), now: far.time.now(), tokens, verify };
		}
	},
};

/** What a resume would do, with runs that were before. */
export function preview(
	{ log, store }: Scripts,
	program: Program,
	reuse: Reuse,
	earlier: readonly Scripts[],
): Promise<Explanation> {
	const far = new FarSide(program, { life: 0, delays: [0], tip: () => 0, made: [], now: 0 });
	const { ports } = new Noting({ log, model: modelOf(far), tools: toolsOf(far) }, store, () => {});
	const memo = new ScriptMemo(log.records);
	memo.begin({ run, ...module.version, args: JSON.stringify(program), reuse });
	const before = earlier.map((each) => new ScriptMemo(each.log.records));
	return far.time.until(explain(module, run, program, scope, { ...ports, memo, isOver: false, earlier: before }), 1);
}

export const REFUSALS: readonly string[] = [
	"REPLAY_DIVERGENCE",
	"CONCURRENT_LANE",
	"DETERMINISM",
	"SCRIPT_STUCK",
	"SCRIPT_INVALID",
];

/** Its results lie beside the log, and what it prints is noted with the time. */
class Noting extends Process {
	readonly #results: BlobStore;
	readonly #note: (line: string) => void;

	constructor(options: ProcessOptions, results: BlobStore, note: (line: string) => void) {
		super(options);
		this.#results = results;
		this.#note = note;
	}

	override get ports(): ScriptPorts {
		return { ...super.ports, results: this.#results, print: this.#note };
	}
}

/** Runs in the script, so it may use nothing from outside itself. */
function scriptCalls(ctx: ScriptContext): Calls {
	return {
		root: "p",
		call: (_, { kind, estimate }, text) =>
			kind === "llm"
				? ctx.agent(text, estimate === undefined ? {} : { estimate })
				: kind === "ask"
					? ctx.ask(text)
					: ctx.tool(kind, { text }),
		nested: async (at, { body, estimate }, text) => {
			// What it is made of.
			for (const turn of [0, 1]) console.log(`asked* ${at.path} llm ${text}#${turn}`);
			for (const part of body) console.log(`asked* ${at.path} ${part.kind} ${part.id}(${text})`);
			const tools = [...new Set(body.map((part) => part.kind))].filter((tool) => tool !== "llm");
			return ctx.agent(text, { tools, ...(estimate === undefined ? {} : { estimate }) });
		},
		lanes: (at, bodies) => {
			const fork = at.forks++;
			return ctx.parallel(bodies.map((body, i) => () => body({ path: `${at.path}/f${fork}/${i}`, forks: 0 })));
		},
		pipeline: (at, items, stages) => {
			const fork = at.forks++;
			const ats = items.map((_, i) => ({ path: `${at.path}/f${fork}/${i}`, forks: 0 }));
			const [a, ...rest] = stages.map(
				(stage) => (before: string, _: string, i: number) => stage(before, ats[i] as (typeof ats)[number]),
			);
			return ctx.pipeline(items, a as NonNullable<typeof a>, ...(rest as [])) as Promise<string[]>;
		},
		phase: (at, name, body) => ctx.phase(name, () => body({ path: `${at.path}/p${at.forks++}`, forks: 0 })),
		sleep: (_, ms) => ctx.sleep(ms),
		now: async () => `now${await ctx.now()}`,
		random: () => `r${ctx.random()}`,
		isFatal: (error) =>
			["REPLAY_DIVERGENCE", "CONCURRENT_LANE", "DETERMINISM", "SCRIPT_STUCK", "SCRIPT_WAITING"].includes(
				String((error as { code?: string }).code),
			),
		says: (error) => {
			const { message, detail } = error as { message: string; detail?: { left?: number } };
			const left = detail?.left === undefined ? "" : `left${detail.left}`;
			return `${message.split(" ").at(-1)}${left}`;
		},
		note: (line) => console.log(line),
	};
}

function modelOf(far: FarSide): Model {
	return {
		id: "far",
		async *generate({ messages }) {
			const [first] = messages;
			const text = first?.role === "user" ? first.text : "";
			const spec = far.spec(text);
			const turn = messages.filter(({ role }) => role === "assistant").length;
			yield {
				type: "text",
				text: await far.answer("llm", text, {
					isModel: true,
					...(spec.type === "nested" ? { key: `${text}#${turn}` } : {}),
				}),
			};
			if (spec.type === "nested" && turn === 0)
				for (const [i, part] of spec.body.entries())
					yield {
						type: "toolCall",
						call: { id: `${i}`, name: part.kind, args: { text: `${part.id}(${text})` } },
					};
			yield { type: "usage", usage: { inputTokens: (spec.tokens ?? 2) - 1, outputTokens: 1 } };
		},
	};
}

const purities = { mail: "side_effect", post: "external", look: "world", count: "pure" } as const;

const toolsOf = (far: FarSide): readonly Tool[] =>
	Object.entries(purities).map(([name, purity]) => ({
		name,
		// The request of an agent's round is another one in each life.
		description: `in life ${far.life}`,
		parameters: { type: "object" },
		purity,
		call: (args) => far.answer(name as Kind, (args as { text: string }).text),
	}));

/** Follows the program that is its argument. */
const module = loadScript(
	`const follow = ${follow};
const callsOf = ${scriptCalls};
export default (ctx, program) => follow(program, callsOf(ctx));
`,
	"s.ts",
);
