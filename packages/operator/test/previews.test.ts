/** What is shown before a move is the same for whoever looks, and is what then happens: records that leave, that come back, and how many. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Model } from "@reyn/journal";
import { openRuntime, type Runtime, rewindModes } from "@reyn/runtime";
import { isOutside } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import { type Random, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { givenFor, scopeWidths, type WriteVerb } from "../src/index.ts";
import { say, verbOf } from "./house.ts";

let root: string;
beforeAll(async () => {
	root = await mkdtemp(join(tmpdir(), "reyn-previews-"));
});
afterAll(() => rm(root, { recursive: true }));

const model: Model = {
	id: "echo",
	async *generate({ messages }) {
		yield { type: "text", text: `about ${messages.length}` };
		yield { type: "usage", usage: { inputTokens: 3, outputTokens: 1 } };
	},
};

/** Asks twice, so that it is unfinished at most moments of it. */
const source = `export default async (ctx) => { await ctx.agent("a"); await ctx.ask("Well?"); return ctx.agent("b"); };`;

interface Move {
	readonly tip: number;
	readonly preview?: { readonly kind: string; readonly dropped: object; readonly affected: object };
	readonly kind?: string;
	readonly blastRadius: {
		readonly leaves: { readonly records: number };
		readonly returns: { readonly records: number };
	};
}

/** Which records count, of those that a rewind moves. */
async function counting({ wal, timeline }: Runtime): Promise<ReadonlyMap<number, boolean>> {
	const found = new Map<number, boolean>();
	for await (const record of wal.read())
		if (!isMeta(record.kind) && !isOutside(record.kind)) found.set(record.seq, timeline.lineage.isActive(record));
	return found;
}

async function live(runtime: Runtime, random: Random, step: number): Promise<void> {
	const session = random.pick(["main", "main", "side"]);
	const does = random.pick(["ask", "ask", "compact", "script", "answer", "undo"]);
	if (does === "ask") await runtime.prompt(`question ${step}`, { agent: "default", session });
	if (does === "script") await (await runtime.scripts.start({ name: "s.ts", source }, undefined)).end;
	if (does === "compact") await runtime.compact({ agent: "default", session }).catch(() => {});
	if (does === "undo") await runtime.undo("me").catch(() => {});
	if (does === "answer") {
		const [open] = runtime.scripts.list().filter(({ questions }) => questions.length > 0);
		if (open) await (await runtime.scripts.resume(open.run, { answers: ["yes"] })).end;
	}
	await runtime.idle();
}

const HISTORIES = Number(process.env.REYN_RUNS ?? sample(6, 25));

test(`of ${HISTORIES} random histories, in every mode and scope`, async () => {
	const first = Number(process.env.REYN_SEED ?? 1);
	let [made, back] = [0, 0];
	let at = "";
	onTestFailed(() => console.error(`it stood at ${at}`));
	for (let seed = first; seed < first + HISTORIES; seed++) {
		const random = seeded(seed);
		const options = { state: join(root, String(seed)), model, tools: [] };
		at = `seed ${seed}: opened`;
		await using writer = await openRuntime(options);
		await using following = await openRuntime({ ...options, readOnly: true });
		for (let step = 0; step < 9; step++) {
			at = `seed ${seed}, step ${step}: lived`;
			await live(writer, random, step);
			if (step < 3 || random.chance(0.4)) continue;
			const verb = verbOf(random.pick(["rewind", "checkout"])) as WriteVerb;
			const raw = {
				ref: String(random.below(writer.wal.tip + 1)),
				scope: random.pick(scopeWidths),
				...(verb.name === "rewind" && { mode: random.pick(rewindModes) }),
			};
			const where = `seed ${seed}, step ${step}: ${verb.name} ${JSON.stringify(raw)}`;
			at = `${where}: looked at`;
			const given = givenFor(verb, raw) as never;
			await using fresh = await openRuntime({ ...options, readOnly: true });
			await following.refresh();
			const looks = await Promise.all(
				[writer, following, fresh].map((each) =>
					verb.look(each, given, true).catch((error: { code?: string }) => ({ refused: error.code })),
				),
			);
			const [seen] = looks as [Move];
			expect(looks, where).toEqual([seen, seen, seen]);
			if ("refused" in seen || verb.nothing?.(seen, say)) continue;
			at = `${where}: done`;
			const before = await counting(writer);
			const done = await verb.act(writer, seen, "me");
			await writer.idle();
			const after = await counting(writer);
			const moved = (from: boolean) =>
				[...before].filter(([seq, is]) => is === from && after.get(seq) === !from).length;
			const { leaves, returns } = seen.blastRadius;
			expect([moved(true), moved(false)], where).toEqual([leaves.records, returns.records]);
			if (seen.preview) {
				const { dropped, affected } = seen.preview;
				expect(done, where).toMatchObject({ result: { dropped, affected } });
			}
			made++;
			if (returns.records > 0) back++;
		}
	}
	expect([made, back].every((count) => count > 0)).toBe(true);
});
