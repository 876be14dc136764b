/** The judge is judged: each defect is planted in a history that was told, and has to be seen. */
import { describe, expect, test } from "vitest";
import type { Made } from "./far-side.ts";
import { judge } from "./judge.ts";
import type { Life } from "./life.ts";
import { type Kind, type Program, plainCall } from "./program.ts";

const program: Program = [
	plainCall("llm", "nothing", "c0"),
	plainCall("llm", "nothing", "c1"),
	plainCall("mail", "shared", "c2"),
];

/** A life that asks and is told in this order: each call has its answer, and whether it was made for it. */
function life(
	number: number,
	told: readonly string[],
	made: readonly string[],
	kept: readonly string[],
	more = {},
): Life {
	const kindOf = (token: string): Kind => (token.startsWith("c2") ? "mail" : "llm");
	const keyOf = (token: string): string => `${token.split(".")[0]}()`;
	const asked = told.map((token) => `asked p ${kindOf(token)} ${keyOf(token)}`);
	const heard = told.map((token) => `told p ${kindOf(token)} ${keyOf(token)} ${token}`);
	const all = made.map((token): Made => {
		const [id = ""] = token.split(".");
		return { life: number, id, kind: kindOf(token), key: keyOf(token), token, tip: 1, failed: false, followed: false };
	});
	return {
		number,
		status: "completed",
		why: "",
		result: "",
		notes: [...asked, ...heard].map((line) => ({ line, tip: 1 })),
		made: all,
		from: 0,
		tip: 2,
		now: 0,
		tokens: async () => new Set(kept),
		...more,
	};
}

const rules = { policy: "retry", forgets: "after a failure" } as const;
const whole = life(1, ["c0.0", "c1.0", "c2.0"], ["c0.0", "c1.0", "c2.0"], ["c0.0", "c1.0", "c2.0"]);
const kinds = async (second: Life, first = whole): Promise<string[]> =>
	(
		await judge(
			program,
			[
				{ life: first, at: 2 },
				{ life: second, at: 2 },
			],
			rules,
		)
	).map(({ kind }) => kind);

describe("the judge", () => {
	test("has nothing to say of a life that recalls all, in its order", async () => {
		expect(await kinds(life(2, ["c0.0", "c1.0", "c2.0"], [], []))).toEqual([]);
	});

	test("sees a model that is paid again, and an effect that is made again", async () => {
		expect(await kinds(life(2, ["c0.1", "c1.0", "c2.0"], ["c0.1"], []))).toEqual(["paid"]);
		expect(await kinds(life(2, ["c0.0", "c1.0", "c2.1"], ["c2.1"], []))).toEqual(["effect"]);
	});

	test("lets a call be made again that was open at the cut, an effect only under its policy", async () => {
		const open = life(1, ["c0.0"], ["c0.0", "c1.0", "c2.0"], ["c0.0"]);
		const second = life(2, ["c0.0", "c1.1", "c2.1"], ["c1.1", "c2.1"], []);
		expect(await kinds(second, open)).toEqual([]);
		const cuts = [open, second].map((each) => ({ life: each, at: 2 }));
		expect(await judge(program, cuts, { ...rules, policy: "skip" })).toMatchObject([{ kind: "effect" }]);
	});

	test("takes no call for open whose end the program was told without a record", async () => {
		const untold = life(1, ["c0.0"], ["c0.0"], []);
		expect(await kinds(life(2, ["c0.1", "c1.0", "c2.0"], ["c0.1", "c1.0", "c2.0"], []), untold)).toEqual(["paid"]);
	});

	test("sees answers in another order, and an effect that is not asked for any more", async () => {
		expect(await kinds(life(2, ["c1.0", "c0.0", "c2.0"], [], []))).toEqual(["order"]);
		const started = life(1, ["c0.0", "c1.0"], ["c0.0", "c1.0", "c2.0"], ["c0.0", "c1.0"]);
		expect(await kinds(life(2, ["c0.0", "c1.0"], [], []), started)).toEqual(["orphan"]);
	});

	test("sees a program that is refused, and one that is stuck", async () => {
		expect(await kinds(life(2, [], [], [], { status: "refused" }))).toEqual(["refused"]);
		expect(await kinds(life(2, [], [], [], { status: "stuck" }))).toEqual(["stuck"]);
	});

	test("lets a run that has failed try the last failure again, and no other", async () => {
		const failed = (notes: readonly string[]): Life =>
			life(1, [], ["c0.0"], ["c0.0"], { status: "failed", failed: 2, notes: notes.map((line) => ({ line, tip: 1 })) });
		const told = ["asked p llm c0()", "failed p llm c0() c0.0:no"];
		const again = life(2, ["c0.1", "c1.0", "c2.0"], ["c0.1", "c1.0", "c2.0"], []);
		expect(await kinds(again, failed(told))).toEqual([]);
		const later = ["asked p mail c2()", "told p mail c2() c2.9"];
		const rests = { ...failed([...told, ...later]), tokens: async () => new Set(["c0.0", "c2.9"]) };
		expect(await kinds(again, rests)).toContain("paid");
		const pure = ["asked p count c3()", "told p count c3() c3.p"];
		const restsOnNothing = { ...failed([...told, ...pure]), tokens: async () => new Set(["c0.0", "c3.p"]) };
		expect(await kinds(again, restsOnNothing), "a pure call leaves no record").not.toContain("paid");
	});
});
