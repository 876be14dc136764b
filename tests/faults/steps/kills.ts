/** Real processes that are killed inside their steps, over a real directory, and go on until they end. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { InDoubtPolicy } from "@reyn/journal";
import { seeded } from "../../kit/seeded.ts";
import { FaultError, type Figures } from "../fault.ts";
import { sleep, start, withDirectory } from "../lab/start.ts";
import type { ProcessOptions } from "./child.ts";
import { Ledger } from "./ledger.ts";
import { drawProgram, policies } from "./program.ts";
import { linesIn, toldIn } from "./traces.ts";

/** Characters that a program of a common length tells. */
const TALK = 2500;

/** Programs one after the other, each killed and started again, until there were so many kills. */
export async function killInSteps(kills: number, seed: number): Promise<Figures> {
	const random = seeded(seed);
	const failed: string[] = [];
	const total = { kills: 0, programs: 0, effects: 0, started: 0, repeated: 0, named: 0 };
	while (total.kills < kills) {
		const of = seed + total.programs++;
		const policy = policies[of % policies.length] as InDoubtPolicy;
		const ledger = new Ledger(drawProgram(seeded(of)), policy);
		await withDirectory(async (directory) => {
			// Some are killed while they open, the others at a byte of what they tell.
			while (total.kills < kills && (await live(directory, { seed: of, policy }, ledger, random.below(TALK))))
				total.kills++;
			for (let i = 0; i < 2; i++) await live(directory, { seed: of, policy }, ledger);
		});
		const { effects, started, repeated, retry, skip, discard, reconciled } = ledger.counts;
		total.effects += effects;
		total.started += started;
		total.repeated += repeated;
		total.named += retry + skip + discard + reconciled;
		if (ledger.wrong.length > 0) failed.push(`program ${of}, ${policy}: ${ledger.wrong.join("\n  ")}`);
	}
	const figures = {
		"real kills": `${total.kills} in ${total.programs} programs`,
		"their effects": `${total.effects}, ${total.started} after their start; ${total.repeated} made again; ${total.named} times in doubt`,
		"programs that differ": failed.length,
	};
	if (failed.length > 0) throw new FaultError(failed.slice(0, 10).join("\n"), figures);
	if (kills >= 50)
		assert.ok(total.named > 0 && total.repeated > 0, "no step was ever left in doubt: nothing was tried");
	return figures;
}

/** One process, to its end or to the kill, which comes at a byte of what it tells. Was it killed? */
async function live(directory: string, options: ProcessOptions, ledger: Ledger, at?: number): Promise<boolean> {
	const path = join(directory, "ledger");
	const before = existsSync(path) ? readFileSync(path, "utf8") : "";
	const found = linesIn(join(directory, "log"));
	const { child, ended, stderr } = start(join(import.meta.dirname, "child.ts"), directory, options);
	let told = 0;
	child.stdout?.on("data", (chunk: Buffer) => {
		told += chunk.length;
		if (at !== undefined && told > at) child.kill("SIGKILL");
	});
	if (at !== undefined && at % 20 === 0) void sleep(at / 10).then(() => child.kill("SIGKILL"));
	const { code, signal } = await ended;
	ledger.begin(found);
	for (const each of toldIn(existsSync(path) ? readFileSync(path, "utf8").slice(before.length) : "")) ledger.tell(each);
	if (signal === "SIGKILL") return true;
	assert.equal(code, 0, stderr());
	ledger.end();
	return false;
}
