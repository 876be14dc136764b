/**
 * Random histories of scripts, plans, rewinds, labels and collections, against a model that knows no areas: what is beside the log
 * stays if its hash stands anywhere in a record that the log has or in a state that can be gone back to, or if it was put since the
 * state was opened, and only then. Over files and over a database.
 * `REYN_RUNS` sets how many there are (default 5), `REYN_SEED` the first one's seed.
 */
import type { Tool } from "@reyn/journal";
import { PLAN_TOOL } from "@reyn/plan";
import type { BlobStore } from "@reyn/wal";
import { afterAll, expect, test } from "vitest";
import { type Random, SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { mainSession, type Runtime, type ScriptRunEntry, type SessionScope, type Store } from "../src/index.ts";
import { blobsOf, hashesIn, reachable, seal, sealing } from "./kept-files.ts";
import { lastOf, makeProject, type Opened, open, type Project, scripted, storeAt, until } from "./project.ts";
import { script } from "./script-runs.ts";

const RUNS = Number(process.env.REYN_RUNS ?? sample(1, 3));
const STEPS = sample(12, 24);

const sessions: readonly SessionScope[] = [
	mainSession,
	{ agent: "default", session: "side" },
	{ agent: "bob", session: "main" },
	sealing,
];

/** What the histories have come to, together: a model that meets nothing proves nothing. */
const met = { cut: 0, gone: 0, stayed: 0, "results gone": 0, "scripts gone": 0, "plans gone": 0, resumed: 0 };

test.each(Array.from({ length: RUNS }, (_, i) => SEED + i))("history %i", async (seed) => {
	await using project = await makeProject();
	const history = new History(seed, project);
	await history.start();
	for (let i = 0; i < STEPS; i++) await history.step();
	await history.collect();
	await history.goOn();
	await history.end();
});

afterAll(() => {
	if (RUNS >= 5) for (const [what, times] of Object.entries(met)) expect(times, what).toBeGreaterThan(0);
});

/** Has it ended, and are its calls collected? Then it is not made again. */
const isGone = ({ status, started }: ScriptRunEntry, { wal }: Runtime): boolean =>
	status === "completed" && started < wal.first;

class History {
	readonly #project: Project;
	readonly #random: Random;
	#opened!: Opened;
	/** What was put since it was opened. */
	#young = new Set<string>();
	/** A number for each thing, so that no two files are alike. */
	#made = 0;
	#receipts = 0;
	/** Is the next step of a plan that has paid never answered? */
	#isHeld = false;

	constructor(seed: number, project: Project) {
		this.#random = seeded(seed);
		this.#project = project;
	}

	async start(): Promise<void> {
		const model = scripted(async (request) => {
			const last = lastOf(request);
			if (/^plan \d+$/.test(last)) return [{ name: PLAN_TOOL, args: plan(last) }];
			if (last.includes("Step a")) return [{ name: "pay", args: { for: last } }];
			if (last.startsWith("receipt") && this.#isHeld) await new Promise(() => {});
			return last.includes("small") || !/large|Step /.test(last) ? `echo: ${last.slice(0, 40)}` : this.#large(last);
		});
		const pay: Tool = {
			name: "pay",
			description: "pays",
			parameters: { type: "object" },
			purity: "side_effect",
			call: async () => this.#large(`receipt ${++this.#receipts}`),
		};
		this.#young = new Set();
		this.#opened = await open(this.#project, { model, tools: [pay] }, this.#heard(storeAt(this.#project.state)));
	}

	#heard(store: Store): Store {
		const blobs = (area: string): BlobStore => {
			const { put, ...others } = store.blobs(area);
			return {
				...others,
				put: (name, bytes) => {
					this.#young.add(`${area}/${name}`);
					return put(name, bytes);
				},
			};
		};
		return { ...store, blobs };
	}

	async step(): Promise<void> {
		const steps = [
			() => this.#talk(),
			() => this.#talk(),
			() => this.#run(),
			() => this.#run(),
			() => this.#resume(),
			() => this.#plan(),
			() => this.#checkout(),
			() => this.#checkout(),
			() => this.#checkout(),
			() => (this.#random.chance(0.4) ? this.#label() : this.#restart()),
			() => this.collect(),
			() => this.collect(),
		];
		await (this.#one(steps) as () => Promise<void>)();
	}

	async collect(): Promise<void> {
		// So that a segment ends, and a cut reaches as far as that.
		if (this.#random.chance(0.7)) {
			await this.#restart();
			await this.#talk();
			await this.#talk();
		}
		const { runtime } = this.#opened;
		const { state } = this.#project;
		const before = await blobsOf(state);
		const policy = { keepDays: 0, keepCheckpoints: 1 + this.#random.below(2) };
		const planned = await runtime.gc({ ...policy, dryRun: true });
		expect(await blobsOf(state)).toEqual(before);
		const done = await runtime.gc(policy);
		const after = await blobsOf(state);

		const needed = await hashesIn(runtime, sessions);
		const stays = [...before].filter(([path, { sha256 }]) => needed.has(sha256) || this.#young.has(path));
		expect([...after.keys()]).toEqual(stays.map(([path]) => path));
		const gone = [...before].filter(([path]) => !after.has(path));
		expect(done.artifacts).toEqual({ files: gone.length, bytes: gone.reduce((sum, [, { bytes }]) => sum + bytes, 0) });
		expect(planned.artifacts.files).toBeGreaterThanOrEqual(gone.length);
		expect((await runtime.gc({ ...policy, dryRun: true })).artifacts.files).toBe(0);
		if (done.retainedFrom > done.was) met.cut++;
		met.gone += gone.length;
		met.stayed += after.size;
		for (const [path] of gone) met[`${path.split("/")[0] as "results" | "scripts" | "plans"} gone`]++;
	}

	/** Whatever is gone back to goes on: scripts have their text and their arguments, plans their steps. */
	async goOn(): Promise<void> {
		this.#isHeld = false;
		for (let i = 0; i < 3; i++) {
			const { runtime, events } = this.#opened;
			await runtime.checkout(this.#one(reachable(runtime)) as number, "test");
			for (const found of runtime.scripts.list()) {
				const { run, status } = found;
				if (status === "completed") expect(await runtime.scripts.result(run)).toHaveProperty("said");
				expect(await runtime.scripts.text(run)).toHaveProperty("source");
				if (isGone(found, runtime)) continue;
				const { end } = await runtime.scripts.resume(run);
				expect((await end).status).toBe("completed");
				met.resumed++;
			}
			for (const { plan } of runtime.restored().plans) await runtime.resumePlan(plan);
			await runtime.idle();
			for (const event of events)
				if (event.type === "plan_end") expect([event.outcome, event.reason]).not.toContain("discarded");
		}
	}

	end(): Promise<void> {
		return this.#opened.runtime.close();
	}

	async #talk(): Promise<void> {
		const { runtime } = this.#opened;
		await runtime.prompt(`hello ${++this.#made}`, this.#session());
		await runtime.idle();
	}

	async #run(): Promise<void> {
		const { runtime } = this.#opened;
		const { end } = await runtime.scripts.start(this.#script(), { n: ++this.#made }, this.#known(runtime));
		await end;
	}

	/** An edited text, or other arguments, or all as it was. */
	async #resume(): Promise<void> {
		const { runtime } = this.#opened;
		const found = this.#one(runtime.scripts.list());
		if (!found || isGone(found, runtime)) return;
		const how = [{}, { script: this.#script() }, { args: { n: ++this.#made } }];
		const { end } = await runtime.scripts.resume(found.run, this.#one(how));
		await end;
	}

	/** Some stay in flight. */
	async #plan(): Promise<void> {
		const { runtime, events } = this.#opened;
		this.#isHeld = this.#random.chance(0.15);
		const [heard, receipts] = [events.length, this.#receipts];
		await runtime.prompt(`plan ${++this.#made}`, this.#session());
		if (this.#isHeld) {
			await until(() => events.slice(heard).some((event) => event.type === "plan_step"));
			await until(() => this.#receipts > receipts);
			if (this.#random.chance(0.5)) await runtime.timeline.label(runtime.wal.tip, `l${++this.#made}x`);
			await this.#restart();
		} else await runtime.idle();
		this.#isHeld = false;
	}

	async #checkout(): Promise<void> {
		const { runtime } = this.#opened;
		const target = this.#one(
			this.#random.chance(0.5) ? runtime.timeline.checkpoints().map(({ seq }) => seq) : reachable(runtime),
		);
		const scope = this.#random.chance(0.3) ? this.#session() : {};
		// A part may not go back to before a cut, and may have nothing that could.
		await runtime.checkout(target ?? 0, "test", scope).catch(unlessRefused);
		await runtime.idle();
	}

	async #label(): Promise<void> {
		const { runtime } = this.#opened;
		await runtime.timeline.label(this.#one(reachable(runtime)) ?? 0, `l${++this.#made}x`);
	}

	async #restart(): Promise<void> {
		await this.#opened.runtime.close();
		await seal(this.#project.state);
		await this.start();
	}

	#script() {
		const n = ++this.#made;
		return script(
			`const said = [await ctx.agent("large ${n % 7}"), await ctx.agent("small"), await ctx.tool("pay", { n: ${n} })]; return { said, n: args.n };`,
		);
	}

	#large(what: string): string {
		return `${what} ${++this.#made} `.repeat(40_000 / what.length);
	}

	#session(): SessionScope {
		return this.#one(sessions) as SessionScope;
	}

	/** A session that is there: only a prompt makes one. */
	#known(runtime: Runtime): SessionScope {
		return this.#one(runtime.sessions()) as SessionScope;
	}

	#one<T>(all: readonly T[]): T | undefined {
		return all.length === 0 ? undefined : this.#random.pick(all);
	}
}

const plan = (goal: string) => ({
	goal,
	steps: [
		{ id: "a", description: `look at ${goal}`, tools: ["pay"], depends_on: [] },
		{ id: "b", description: "say so", tools: [], depends_on: ["a"] },
	],
});

function unlessRefused({ code }: Error & { readonly code?: string }): void {
	expect(["TIMETRAVEL_PRUNED", "TIMETRAVEL_COVERAGE"]).toContain(code);
}
