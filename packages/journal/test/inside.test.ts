/** Steps inside a call: they have their order, whatever the call is, and a script that was cut inside one goes on to its end. */
import { expect, test } from "vitest";
import { type Journal, openJournal, type Purity } from "../src/index.ts";
import { loadScript, runScript } from "../src/script/index.ts";
import { quiet } from "./dying-log.ts";
import { cutEngine } from "./order/cut-engine.ts";
import { echo, Process, run, scope, script } from "./script/script-process.ts";

test.each<Purity>(["pure", "world", "llm", "side_effect"])(
	"overlapping steps inside a %s step keep their order",
	async (purity) => {
		const made: string[] = [];
		const program = (journal: Journal, turns: Readonly<Record<string, number>>): Promise<string[]> =>
			journal.step(
				"job",
				async ({ lane }) => {
					const got: string[] = [];
					const ask = async (name: string): Promise<void> => {
						const call = async (): Promise<string> => {
							for (let i = 0; i < (turns[name] ?? 0); i++) await quiet();
							made.push(name);
							return name;
						};
						got.push(await lane.perform({ kind: "step", name, args: {}, purity: "llm", call }));
					};
					await Promise.all(["slow", "fast"].map(ask));
					const charge = async (): Promise<void> => void made.push(`charge ${got}`);
					await lane.perform({ kind: "step", name: "charge", args: { got }, purity: "side_effect", call: charge });
					return got;
				},
				{ purity },
			);
		const engine = cutEngine();
		const first = await openJournal(engine);
		await program(first, { slow: 9, fast: 1 });
		await first.close();
		expect(made).toEqual(["fast", "slow", "charge fast,slow"]);
		for (let after = 1; after <= engine.tip; after++) {
			made.length = 0;
			const again = await openJournal(await engine.cut(after), { whenInDoubt: () => "skip" });
			const kept = engine.lines.slice(0, after).join("\n");
			await program(again, { slow: 1, fast: 9 });
			await again.close();
			if (/"step_completed".*"fast"/.test(kept)) expect(made, `cut behind line ${after}`).not.toContain("fast");
			if (/"step_started".*"charge"/.test(kept)) expect(made, `cut behind line ${after}`).toEqual([]);
		}
	},
);

test("a script that was cut inside a call ends, though its journal knows the steps in there", async () => {
	const source = script('return [await ctx.agent("a"), await ctx.agent("b")];');
	const process = new Process({ model: echo(), appends: 1 });
	expect(await process.work(source)).toMatchObject({ status: "killed" });
	const next = process.next();
	const module = loadScript(source, "s.ts");
	next.begin(module.version);
	const ended = await runScript(module, run, {}, scope, { ...next.ports, firstBelow: () => 2 });
	expect([ended, next.made]).toEqual([["a!", "b!"], ["b"]]);
});

test("a message that no record holds is kept as far as it goes, now and in every replay", async () => {
	const engine = cutEngine();
	const said: string[] = [];
	for (let life = 0; life < 2; life++) {
		const journal = await openJournal(engine);
		const refuse = () => Promise.reject(new Error("x".repeat(9_000_000)));
		await journal.step("pay", refuse).catch(({ message }: Error) => said.push(message));
		await journal.close();
	}
	expect(said.map((text) => [text.length < 40_000, text.slice(-24)])).toEqual([
		[true, "xx… (9000000 characters)"],
		[true, "xx… (9000000 characters)"],
	]);
});
