/** Permissions: what is done without a question and what is not; and that a call is asked about once, whatever dies meanwhile. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Tool, Want } from "@reyn/journal";
import { createFileTools } from "@reyn/tools";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SEED, seeded } from "../../../tests/kit/seeded.ts";
import { sample } from "../../../tests/sample.ts";
import { decide, isUnreadable, type PermissionRule } from "../src/features/permission/decide.ts";
import { matches } from "../src/features/permission/pattern.ts";
import { mainSession, type OpenQuestion, type Runtime, type RuntimeOptions } from "../src/index.ts";
import { copyState, cutAfter, everyCut, kindsIn } from "./cut.ts";
import { lastOf, makeProject, open, type Project, scripted, until } from "./project.ts";

let project: Project;
beforeEach(async () => {
	project = await makeProject();
});
afterEach(() => project[Symbol.asyncDispose]());

const read = (path: string): Promise<string> => readFile(join(project.cwd, path), "utf8");

/** Edits a file once it is told to, and says what came of it. */
const editing = (path = "src/parser.ts") =>
	scripted((request) => {
		const last = request.messages.at(-1);
		if (last?.role === "tool") return `told: ${last.text}`;
		return [{ name: "edit", args: { path, old: "Reads", new: "Parses" } }];
	});

const opened = (options: Partial<RuntimeOptions> = {}, at: Project = project) =>
	open(at, {
		model: editing(),
		tools: createFileTools(at.cwd, { writes: true }),
		permissions: {},
		...options,
	});

const replies = (runtime: Runtime): readonly string[] =>
	runtime
		.conversation()
		.items.toArray()
		.flatMap((item) => (item.type === "reply" ? [item.text] : []));

async function asked(runtime: Runtime): Promise<OpenQuestion> {
	await until(() => runtime.questions().length > 0);
	return runtime.questions()[0] as OpenQuestion;
}

describe("a rule", () => {
	/** As it is said in words, tried out in every way. */
	function naive(parts: readonly string[], names: readonly string[], inside: boolean): boolean {
		const [part, ...rest] = parts;
		if (part === undefined) return inside || names.length === 0;
		if (part === "**")
			return Array.from({ length: names.length + 1 }, (_, at) => naive(rest, names.slice(at), inside)).some(Boolean);
		const pattern = part
			.replace(/[.+^${}()|[\]\\]/g, "\\$&")
			.replaceAll("*", ".*")
			.replaceAll("?", ".");
		return (
			names.length > 0 &&
			new RegExp(`^${pattern}$`, "s").test(names[0] as string) &&
			naive(rest, names.slice(1), inside)
		);
	}

	test("matches as a pattern that is tried out in every way", () => {
		const random = seeded(SEED);
		const name = (of: string): string =>
			Array.from({ length: random.below(4) + 1 }, () => random.pick([...of])).join("");
		const path = (of: string): string[] =>
			Array.from({ length: random.below(4) + 1 }, () => (of.includes("*") && random.chance(0.25) ? "**" : name(of)));
		let hits = 0;
		for (let run = 0; run < sample(20_000, 150_000); run++) {
			const [pattern, subject, inside] = [path("ab.*?"), path("ab."), random.chance(0.5)];
			const plain = (names: readonly string[]): readonly string[] => names.filter((each) => each !== ".");
			const expected = naive(plain(pattern), plain(subject), inside);
			if (expected) hits++;
			expect([pattern, subject, inside, matches(pattern.join("/"), subject.join("/"), inside)]).toEqual([
				pattern,
				subject,
				inside,
				expected,
			]);
		}
		expect(hits).toBeGreaterThan(1000);
	});

	test("is fast however it is written", () => {
		expect(matches(`${"**/".repeat(150)}x`, `${"a/".repeat(1000)}y`, false)).toBe(false);
		expect(matches(`${"*a".repeat(200)}b`, "a".repeat(4000), false)).toBe(false);
	});

	test.each<[PermissionRule, string, boolean]>([
		[{ effect: "deny", action: "read", on: "secrets" }, "secrets/a/b.txt", true],
		[{ effect: "deny", action: "read", on: ".env" }, ".ENV", true],
		[{ effect: "deny", action: "read", on: "caf\u00e9" }, "cafe\u0301", true],
		[{ effect: "deny", action: "*", on: "**/*.pem" }, "a/b.pem", true],
		...["secrets/", "./secrets", "./secrets/**", "secrets/**/", "secrets//**", "secrets/.", "**/secrets/"].map(
			(on): [PermissionRule, string, boolean] => [{ effect: "deny", action: "read", on }, "secrets/a.txt", true],
		),
		// Characters that are made of others, of which one is a slash.
		[{ effect: "deny", action: "read", on: "*.pem" }, "\u2100.pem", true],
		[{ effect: "deny", action: "read", on: "x/*.sh" }, "x/a\uff0fb.sh", true],
		[{ effect: "deny", action: "write", on: "secrets" }, "secrets/a", false],
		[{ effect: "allow", action: "read", on: "secrets" }, "secrets/a", false],
	])("that says %o closes %s: %s", (rule, path, isClosed) => {
		expect(isUnreadable([rule], path)).toBe(isClosed);
	});

	const call = (action: string, subject: string, more: object = {}) => ({
		...({ tool: "edit", purity: "side_effect", agent: "default", session: "main" } as const),
		wants: [{ action, subject }] as readonly Want[] | undefined,
		...more,
	});
	const policy = { mode: "ask", rules: [], granted: [] } as const;
	const granted = [{ action: "write", on: "src/**", agent: "default" }];

	test.each([
		["what looks", call("read", "a"), {}, "allow"],
		["what writes", call("write", "a"), {}, "ask"],
		["what writes, with edits", call("write", "a"), { mode: "edits" }, "allow"],
		["what runs, with edits", call("run", "a"), { mode: "edits" }, "ask"],
		["anything, with all", call("run", "a"), { mode: "all" }, "allow"],
		["what writes, where one only reads", call("write", "a"), { mode: "read-only" }, "deny"],
		["what looks, where one only reads", call("read", "a"), { mode: "read-only" }, "allow"],
		["what is granted", call("write", "src/a"), { granted }, "allow"],
		["what is granted elsewhere", call("write", "lib/a"), { granted }, "ask"],
		["what is granted to another", call("write", "src/a", { agent: "other" }), { granted }, "ask"],
		["what another session has", call("write", "src/a"), { granted: [{ ...granted[0], session: "side" }] }, "ask"],
		["what is granted, where one only reads", call("write", "src/a"), { granted, mode: "read-only" }, "deny"],
		[
			"what is granted and denied",
			call("write", "src/a"),
			{ granted, rules: [{ effect: "deny", action: "write" }] },
			"deny",
		],
		[
			"what is allowed and asked about",
			call("write", "a"),
			{
				rules: [
					{ effect: "allow", action: "write" },
					{ effect: "ask", action: "edit" },
				],
			},
			"ask",
		],
		[
			"what is asked about, with all",
			call("read", "a"),
			{ mode: "all", rules: [{ effect: "ask", action: "*" }] },
			"ask",
		],
		[
			"what is allowed in a directory",
			call("write", "docs/a"),
			{ rules: [{ effect: "allow", action: "write", on: "docs/**" }] },
			"allow",
		],
		[
			"what only looks like it",
			call("write", "docsy/a"),
			{ rules: [{ effect: "allow", action: "write", on: "docs/**" }] },
			"ask",
		],
		[
			"a rule of another agent",
			call("write", "a"),
			{ rules: [{ effect: "deny", action: "write", agent: "other" }] },
			"ask",
		],
		["a tool that touches nothing", call("", "", { wants: [] }), { mode: "read-only" }, "allow"],
		[
			"such a one, denied by its name",
			call("", "", { wants: [] }),
			{ rules: [{ effect: "deny", action: "edit" }] },
			"deny",
		],
		["such a one, denied with all", call("", "", { wants: [] }), { rules: [{ effect: "deny", action: "*" }] }, "deny"],
		[
			"such a one, asked about by its name",
			call("", "", { wants: [] }),
			{ rules: [{ effect: "ask", action: "edit" }] },
			"ask",
		],
		[
			"such a one, where all is asked about",
			call("", "", { wants: [] }),
			{ rules: [{ effect: "ask", action: "*" }] },
			"allow",
		],
		[
			"a subject that looks like a pattern, granted",
			call("write", "src/a"),
			{ granted: [{ action: "write", on: "**", exact: true, agent: "default" }] },
			"ask",
		],
		[
			"the very subject",
			call("write", "**"),
			{ granted: [{ action: "write", on: "**", exact: true, agent: "default" }] },
			"allow",
		],
		["an effect that says nothing", call("", "", { wants: undefined }), { mode: "edits" }, "ask"],
		["a look that says nothing", call("", "", { wants: undefined, purity: "world" }), {}, "allow"],
		["a look elsewhere", call("fetch", "host", { purity: "world" }), {}, "ask"],
		[
			"two things, one of them denied",
			call("", "", {
				wants: [
					{ action: "read", subject: "a" },
					{ action: "write", subject: "b" },
				],
			}),
			{ rules: [{ effect: "deny", action: "write", on: "b" }] },
			"deny",
		],
	])("%s", (_, wanted, more, kind) => {
		expect(decide(wanted as never, { ...policy, ...(more as object) } as never).kind).toBe(kind);
	});
});

describe("a command", () => {
	const run = (command: string) => ({
		...({ tool: "shell", purity: "external", agent: "default", session: "main" } as const),
		wants: [{ action: "run", subject: command }],
	});
	const kindOf = (command: string, rules: readonly PermissionRule[], mode: "ask" | "all" = "ask"): string =>
		decide(run(command), { mode, rules, granted: [] }).kind;

	test.each(["npm test", "npm test --silent", "npm test src/a.test.ts", "npm test -- -t=x"])(
		"%j is what was allowed",
		(command) => {
			expect(kindOf(command, [{ effect: "allow", action: "run", on: "npm test" }])).toBe("allow");
			expect(
				decide(run(command), { mode: "ask", rules: [], granted: [{ action: "run", on: "npm test", agent: "default" }] })
					.kind,
			).toBe("allow");
		},
	);

	const others = [
		...[
			"npm testx",
			"npm",
			"npm  test",
			" npm test",
			"npm test ",
			"npm\ttest",
			"NPM test",
			"./npm test",
			"/usr/bin/npm test",
			"npm --prefix=x test",
			"npm run test",
			"xnpm test",
		],
		...[
			"npm test; rm -rf x",
			"npm test;rm x",
			"npm test && rm x",
			"npm test||rm x",
			"npm test | sh",
			"npm test|sh",
			"npm test & rm x",
			"npm test\nrm x",
			"npm test\r\nrm x",
			"rm x; npm test",
			"true && npm test",
		],
		...[
			"npm test > /etc/passwd",
			"npm test >x",
			"npm test >> ~/.bashrc",
			"npm test < /etc/shadow",
			"npm test 2>x",
			"npm test <<< x",
			"npm test &> x",
			"npm test <(rm x)",
		],
		...[
			"npm test $(rm x)",
			"npm test `rm x`",
			// biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
			"npm test ${x:-y}",
			"npm test $HOME",
			"npm test $((1))",
			'npm test "$(rm x)"',
			"npm test '; rm x'",
			"npm test \\; rm",
			'npm test "a"',
			"npm test 'a'",
			"npm te''st",
			"np\\m test",
		],
		...[
			"A=b npm test",
			"LD_PRELOAD=x npm test",
			"PATH=. npm test",
			"env npm test",
			"env A=b npm test",
			"export PATH=.; npm test",
			"sudo npm test",
			"exec npm test",
			"eval npm test",
			"command npm test",
			"sh -c 'npm test'",
			'bash -c "npm test"',
			"xargs npm test",
			"time npm test",
			"! npm test",
			"{ npm test; }",
			"(npm test)",
			"if true; then npm test; fi",
		],
		...[
			"npm test *",
			"npm test ~",
			"npm test a?b",
			"npm test [a]",
			"npm test {a,b}",
			"npm test #x",
			"npm test !x",
			"npm\u00a0test",
			"npm test\u2028rm x",
			"npm t\u0435st",
			"npm test\u0000x",
			"npm test \u202ex",
		],
	];

	test(`of ${others.length} that only look like what was allowed, none is`, () => {
		expect(others.length).toBeGreaterThan(60);
		const passed = others.filter(
			(command) => kindOf(command, [{ effect: "allow", action: "run", on: "npm test" }]) !== "ask",
		);
		expect(passed).toEqual([]);
	});

	test.each([
		["rm -rf x", "deny"],
		["/bin/rm x", "deny"],
		["true; rm x", "deny"],
		["true && /usr/bin/rm x", "deny"],
		["echo $(rm x)", "deny"],
		["sh -c 'rm x'", "deny"],
		["A=b rm x", "deny"],
		["find . -exec rm {} +", "deny"],
		["r''m x", "ask"],
		["$(echo r)m x", "ask"],
		['eval "$x"', "ask"],
		["cat a | sh", "ask"],
		["ls -la", "allow"],
		["rmdir x", "allow"],
	])("where everything but rm is allowed, %j is: %s", (command, kind) => {
		expect(kindOf(command, [{ effect: "deny", action: "run", on: "rm" }], "all")).toBe(kind);
	});

	test("that is no plain one is allowed to the letter alone", () => {
		const rules = (on: string): readonly PermissionRule[] => [{ effect: "allow", action: "run", on }];
		expect(kindOf("make && make install", rules("make && make install"))).toBe("allow");
		expect(kindOf("make && make install x", rules("make && make install"))).toBe("ask");
		expect(kindOf("make && rm x", rules("make"))).toBe("ask");
		expect(kindOf("anything; at all", rules("*"))).toBe("allow");
	});
});

test("a person is asked before a file is changed, sees what would change, and it is changed when they say so", async () => {
	const { runtime, events } = await opened();
	await runtime.prompt("change it");
	const question = await asked(runtime);
	expect(question).toMatchObject({
		from: { kind: "turn" },
		question: "write src/parser.ts?",
		lines: [
			expect.stringMatching(/^at line 1 of version [0-9a-f]{16}:$/),
			"- Reads",
			"+ Parses",
			"session, always: write src/**",
		],
		choices: ["once", "session", "always", "no"],
	});
	expect(await read("src/parser.ts")).toContain("Reads");
	expect(await runtime.answer(question.seq, "once", "ada")).toEqual({ question: question.seq, from: question.from });
	await runtime.idle();
	expect(await read("src/parser.ts")).toContain("Parses an expression");
	expect(replies(runtime).at(-1)).toMatch(/^told: src\/parser.ts is changed/);
	expect(events.filter(({ type }) => type === "question" || type === "answered")).toMatchObject([
		{ type: "question", seq: question.seq, question: "write src/parser.ts?" },
		{ type: "answered", question: question.seq, text: "once", by: "ada" },
	]);
	expect(runtime.questions()).toEqual([]);
	await expect(runtime.answer(question.seq, "no", "ada")).rejects.toMatchObject({ code: "RUNTIME_UNKNOWN_QUESTION" });
	await runtime.close();
});

test("a file that was rewritten while somebody decided is asked about anew: what they said was of another", async () => {
	const { runtime } = await opened();
	await runtime.prompt("change it");
	const first = await asked(runtime);
	const rewritten = `// Another text.\n${await read("src/parser.ts")}`;
	await writeFile(join(project.cwd, "src/parser.ts"), rewritten);
	await runtime.answer(first.seq, "once", "ada");
	await until(() => runtime.questions().some(({ seq }) => seq > first.seq));
	const [second] = runtime.questions();
	expect(second?.lines?.[0]).toMatch(/^at line 2 of version /);
	expect(await read("src/parser.ts")).toBe(rewritten);
	await runtime.answer(second?.seq ?? 0, "once", "ada");
	await runtime.idle();
	expect(await read("src/parser.ts")).toBe(rewritten.replace("Reads", "Parses"));
	await runtime.close();
});

test("where it cannot be done any more once it may be, it is not, and the model is told", async () => {
	const { runtime } = await opened();
	await runtime.prompt("change it");
	const { seq } = await asked(runtime);
	await writeFile(join(project.cwd, "src/parser.ts"), "nothing\n");
	await runtime.answer(seq, "once", "ada");
	await runtime.idle();
	expect(await read("src/parser.ts")).toBe("nothing\n");
	expect(replies(runtime).at(-1)).toMatch(/^told: ERROR: "old" is not in src.parser.ts as it is now/);
	expect(await kindsIn(project)).not.toContain("step_started");
	await runtime.close();
});

test("what was refused is not done, the model is told why, and nobody is asked again", async () => {
	const { runtime } = await opened();
	await runtime.prompt("change it");
	const { seq } = await asked(runtime);
	await expect(runtime.answer(seq, "perhaps", "ada")).rejects.toMatchObject({ code: "RUNTIME_ANSWER" });
	await runtime.answer(seq, "no: the tests first", "ada");
	await runtime.idle();
	expect(await read("src/parser.ts")).toContain("Reads");
	expect(replies(runtime).at(-1)).toBe("told: ERROR: denied: write src/parser.ts: ada says no: the tests first");
	expect((await kindsIn(project)).filter((kind) => kind === "question_asked")).toHaveLength(1);
	await runtime.close();
});

test("a mode that is changed holds from the next call on; what was asked before is denied where the mode denies it", async () => {
	const { runtime } = await opened();
	expect(runtime.permissionMode).toBe("ask");
	expect(() => runtime.changePermissionMode("some" as never)).toThrow(
		expect.objectContaining({ code: "RUNTIME_PERMISSIONS" }),
	);
	await runtime.prompt("change it");
	const { seq } = await asked(runtime);
	runtime.changePermissionMode("read-only");
	await runtime.answer(seq, "always", "ada");
	await runtime.idle();
	expect(replies(runtime).at(-1)).toMatch(/^told: ERROR: denied: write src.parser.ts: what is here is only looked at/);
	expect([await read("src/parser.ts"), await runtime.permissions()]).toMatchObject([
		expect.stringContaining("Reads"),
		{ mode: "read-only", grants: [] },
	]);
	runtime.changePermissionMode("edits");
	await runtime.prompt("change it now");
	await runtime.idle();
	expect(await read("src/parser.ts")).toContain("Parses");
	expect(runtime.questions()).toEqual([]);
	await runtime.close();
});

test("nobody is asked about a call that cannot be made", async () => {
	const { runtime } = await opened({ model: editing("gone.ts") });
	await runtime.prompt("change it");
	await runtime.idle();
	expect(replies(runtime).at(-1)).toMatch(/no such file: gone.ts/);
	expect(await kindsIn(project)).not.toContain("question_asked");
	await runtime.close();
});

test("killed at any record, it asks once, and the file is changed once and only when somebody said so", async () => {
	const { runtime } = await opened();
	await runtime.prompt("change it");
	await runtime.answer((await asked(runtime)).seq, "once", "ada");
	await runtime.idle();
	await runtime.close();
	const before = (await read("src/parser.ts")).replace("Parses", "Reads");
	const after = before.replace("Reads", "Parses");
	let cuts = 0;
	await everyCut(project, async (state, kinds) => {
		const start = kinds.indexOf("step_started");
		const isOver = kinds.lastIndexOf("step_completed") > start;
		// Of what was started and is not over, nobody knows whether it had happened.
		for (const happened of start < 0 ? [false] : isOver ? [true] : [true, false]) {
			await writeFile(join(project.cwd, "src/parser.ts"), happened ? after : before);
			const own = happened ? `${state}-done` : state;
			if (happened) await copyState(state, own);
			const { runtime } = await opened({}, { ...project, state: own });
			runtime.resume();
			const isAsked = (): boolean => runtime.questions().length > 0;
			await until(() => isAsked() || runtime.restored().turns.length === 0);
			expect(isAsked()).toBe(kinds.includes("user_prompt") && !kinds.includes("question_answered"));
			for (const { seq } of runtime.questions()) {
				expect(await read("src/parser.ts")).toBe(before);
				await runtime.answer(seq, "once", "ada");
			}
			await runtime.idle();
			if (kinds.includes("user_prompt")) {
				expect([kinds.at(-1), happened, replies(runtime).at(-1), await read("src/parser.ts")]).toEqual([
					kinds.at(-1),
					happened,
					expect.stringMatching(/^told: src.parser.ts is changed in 1 place/),
					after,
				]);
			}
			await runtime.close();
			expect(
				(await kindsIn({ ...project, state })).filter((kind) => kind === "question_asked").length,
			).toBeLessThanOrEqual(1);
			cuts++;
		}
	});
	expect(cuts).toBeGreaterThan(8);
});

test("what is granted for a session or for good holds there, over a rewind and a gc, until it is revoked", async () => {
	const { runtime } = await opened();
	await runtime.prompt("change it");
	const start = runtime.wal.tip;
	await runtime.answer((await asked(runtime)).seq, "always", "ada");
	await runtime.idle();
	const { grants } = await runtime.permissions();
	expect(grants).toMatchObject([{ action: "write", on: "src/**", agent: "default", by: "ada" }]);
	await runtime.checkout(start - 1, "ada");
	await writeFile(join(project.cwd, "src/parser.ts"), "Reads\n");
	await runtime.prompt("change it again");
	await runtime.idle();
	expect(await read("src/parser.ts")).toBe("Parses\n");
	await runtime.gc({ keepDays: 0, keepCheckpoints: 1 });
	await runtime.close();

	const next = await opened();
	expect((await next.runtime.permissions()).grants).toEqual(grants);
	await next.runtime.revokePermission(grants[0]?.seq as number, "bo");
	await expect(next.runtime.revokePermission(grants[0]?.seq as number, "bo")).rejects.toMatchObject({
		code: "RUNTIME_UNKNOWN_GRANT",
	});
	await writeFile(join(project.cwd, "src/parser.ts"), "Reads\n");
	await next.runtime.prompt("and again");
	const { seq } = await asked(next.runtime);
	await next.runtime.answer(seq, "session", "ada");
	await next.runtime.idle();
	expect((await next.runtime.permissions()).grants).toMatchObject([{ session: "main" }]);
	await next.runtime.prompt("elsewhere", { agent: "default", session: "side" });
	await writeFile(join(project.cwd, "src/parser.ts"), "Reads\n");
	expect(await asked(next.runtime)).toMatchObject({ scope: { session: "side" } });
	await next.runtime.close();
});

test("killed between a lasting answer and its grant, or behind it, it is granted once", async () => {
	const { runtime } = await opened();
	await runtime.prompt("change it");
	await runtime.answer((await asked(runtime)).seq, "always", "ada");
	await runtime.idle();
	await runtime.close();
	const text = (await read("src/parser.ts")).replace("Parses", "Reads");
	const at = (await kindsIn(project)).indexOf("question_answered") + 1;
	for (const seq of [at, at + 1]) {
		await writeFile(join(project.cwd, "src/parser.ts"), text);
		const again = await opened({}, { ...project, state: await cutAfter(project, seq) });
		again.runtime.resume();
		await again.runtime.idle();
		expect((await again.runtime.permissions()).grants).toHaveLength(1);
		await again.runtime.close();
	}
});

test.each([
	[{ effect: "DENY", action: "write" }, /^permissions.rules.0.effect: /],
	[{ action: "write" }, /^permissions.rules.0.effect: /],
	[{ effect: "deny", action: "write", on: null }, /^permissions.rules.0.on: /],
	[{ effect: "deny", action: "write", on: "" }, /^permissions.rules.0.on: /],
	[{ effect: "deny", action: "write", on: "../x" }, /^permissions.rules.0.on: /],
	[{ effect: "deny", action: "write", where: "x" }, /^permissions.rules.0: /],
	[null, /^permissions.rules.0: /],
])("a rule that nobody understands opens nothing: %j", async (rule, said) => {
	const permissions = { rules: [rule] } as never;
	await expect(opened({ permissions })).rejects.toMatchObject({
		code: "RUNTIME_PERMISSIONS",
		message: expect.stringMatching(said),
	});
	await expect(opened({ permissions: { mode: "ALL" } as never })).rejects.toMatchObject({
		code: "RUNTIME_PERMISSIONS",
	});
});

describe("an answer", () => {
	/** A tool whose calls are counted, and that wants what it is told to. */
	function posting(wants: () => readonly Want[]) {
		let made = 0;
		const post: Tool = {
			...{ name: "post", description: "Posts", parameters: {}, purity: "side_effect" },
			wants: async () => wants(),
			call: async () => {
				made++;
				return "posted";
			},
		};
		const model = scripted(({ messages }) =>
			messages.at(-1)?.role === "tool" ? "done" : [{ name: "post", args: {} }],
		);
		return { options: { model, tools: [post] }, made: () => made };
	}

	test("that comes before anybody is known to wait for it is heard, in whichever policy", async () => {
		for (const unanswered of ["wait", "stop"] as const) {
			const { options, made } = posting(() => [{ action: "post", subject: "news" }]);
			const { runtime } = await opened(
				{ ...options, unanswered },
				{ ...project, state: join(project.root, unanswered) },
			);
			const sessions = Array.from({ length: 8 }, (_, i) => ({ agent: "default", session: `s${i}` }));
			let answered = 0;
			const answering = (async () => {
				while (answered < sessions.length) {
					const open = runtime.questions();
					await Promise.all(open.map(({ seq }) => runtime.answer(seq, "once", "ada").then(() => answered++)));
					await new Promise((resolve) => setImmediate(resolve));
				}
			})();
			await Promise.all(sessions.map((scope) => runtime.prompt("tell them", scope)));
			await answering;
			await until(() => runtime.restored().turns.length === 0);
			await runtime.idle();
			expect([unanswered, made()]).toEqual([unanswered, 8]);
			await runtime.close();
		}
	});

	test("that comes while the work is about to stop for it is heard", async () => {
		const { options, made } = posting(() => [{ action: "post", subject: "news" }]);
		for (let turns = 0; turns < 60; turns++) {
			const answered = Promise.withResolvers<unknown>();
			const { runtime } = await opened(
				{
					...options,
					unanswered: "stop",
					async ask({ seq }) {
						const answer = async (): Promise<unknown> => {
							for (let left = turns; left > 0; left--) await undefined;
							return runtime.answer(seq, "once", "ada");
						};
						answered.resolve(answer());
						return undefined;
					},
				},
				{ ...project, state: join(project.root, `turns-${turns}`) },
			);
			await runtime.prompt("tell them");
			await answered.promise;
			await until(() => runtime.restored().turns.length === 0);
			await runtime.close();
		}
		expect(made()).toBe(60);
	});

	test("holds for what was shown: for anything else it is asked anew, and nothing more is granted", async () => {
		const shown: Want = { action: "post", subject: "safe" };
		let wanted: readonly Want[] = [shown];
		const { options, made } = posting(() => wanted);
		for (const other of [
			[{ ...shown, covers: "**" }],
			[shown, { action: "write", subject: "x", covers: "**" }],
			[{ ...shown, shows: ["something else"] }],
		]) {
			wanted = [shown];
			const first = await opened({ ...options, unanswered: "stop" });
			await first.runtime.prompt(`tell them ${JSON.stringify(other)}`);
			await first.runtime.idle();
			const { seq } = await asked(first.runtime);
			await first.runtime.close();
			wanted = other;
			const before = made();
			const second = await opened({ ...options, unanswered: "stop" });
			await second.runtime.answer(seq, "always", "ada");
			await second.runtime.idle();
			expect([made(), (await second.runtime.permissions()).grants]).toEqual([before, []]);
			const again = await asked(second.runtime);
			expect(again.seq).toBeGreaterThan(seq);
			await second.runtime.answer(again.seq, "once", "ada");
			await second.runtime.idle();
			expect(made()).toBe(before + 1);
			await second.runtime.close();
		}
	});

	test("about a call in doubt is for one more try: after the next crash it is asked again", async () => {
		const { options } = posting(() => [{ action: "post", subject: "news" }]);
		const tools = [{ ...options.tools[0], inDoubt: "ask" } as Tool];
		const { runtime } = await opened({ ...options, tools });
		await runtime.prompt("tell them");
		await runtime.answer((await asked(runtime)).seq, "once", "ada");
		await runtime.idle();
		await runtime.close();
		const started = (await kindsIn(project)).indexOf("step_started") + 1;
		let state = await cutAfter(project, started);
		for (const life of [1, 2]) {
			const at = { ...project, root: join(project.root, `life-${life}`), state };
			const again = await opened({ ...options, tools }, at);
			again.runtime.resume();
			const question = await asked(again.runtime);
			expect(question.question).toContain("nobody knows whether it happened");
			await again.runtime.answer(question.seq, "once", "ada");
			await again.runtime.idle();
			await again.runtime.close();
			const kinds = await kindsIn(at);
			state = await cutAfter(at, kinds.lastIndexOf("step_started") + 1);
		}
	});

	test("that is no text, and an answer during a rewind, are refused or wait, and break nothing", async () => {
		const { options, made } = posting(() => [{ action: "post", subject: "news" }]);
		const { runtime } = await opened(options);
		await runtime.prompt("tell them");
		const { seq } = await asked(runtime);
		for (const odd of [5, null, undefined, {}, []])
			await expect(runtime.answer(seq, odd as never, "ada")).rejects.toMatchObject({ code: "RUNTIME_ANSWER" });
		const moved = runtime.checkout(seq - 1, "ada");
		await expect(runtime.answer(seq, "once", "ada")).rejects.toMatchObject({ code: "RUNTIME_UNKNOWN_QUESTION" });
		await moved;
		await runtime.idle();
		expect(made()).toBe(0);
		await runtime.close();
	});

	test("is not waited for by who is stopped, though the tool does not hear that; odd wants fail the call", async () => {
		const { options } = posting((() => new Promise(() => {})) as never);
		const { runtime } = await opened(options);
		await runtime.prompt("tell them");
		await until(() => options.model.asked.length > 0);
		await new Promise((resolve) => setImmediate(resolve));
		expect(await runtime.interrupt()).toBe(true);
		await runtime.close();
		for (const odd of ["evil", {}, [null], [{ action: "post" }], [{ action: "post", subject: "x", shows: [1] }]]) {
			const { options, made } = posting(() => odd as never);
			const { runtime } = await opened(options, {
				...project,
				state: join(project.root, JSON.stringify(odd).replace(/\W/g, "_")),
			});
			await runtime.prompt("tell them");
			await runtime.idle();
			expect([runtime.questions(), made(), replies(runtime).at(-1)]).toEqual([[], 0, "done"]);
			await runtime.close();
		}
	});
});

test("where nobody is, what needs a permission is denied without a question", async () => {
	const { runtime } = await opened({ unanswered: "deny" });
	await runtime.prompt("change it");
	await runtime.idle();
	expect(replies(runtime).at(-1)).toBe("told: ERROR: denied: write src/parser.ts: nobody is here who could allow it");
	expect(await kindsIn(project)).not.toContain("question_asked");
	await runtime.close();
});

test("work that stops for a question goes on when it is answered, by whichever process", async () => {
	const first = await opened({ unanswered: "stop" });
	await first.runtime.prompt("change it");
	await first.runtime.idle();
	const { seq } = await asked(first.runtime);
	expect(first.events.find(({ type }) => type === "turn_end")).toMatchObject({
		outcome: "stopped",
		reason: expect.stringContaining(`waits for an answer to #${seq}`),
	});
	await first.runtime.close();

	// Who was asked is not overruled by a process that nobody is at.
	const second = await opened({ unanswered: "deny" });
	second.runtime.resume();
	await second.runtime.idle();
	expect(second.runtime.questions()).toMatchObject([{ seq }]);
	expect(second.runtime.restored().turns).toHaveLength(1);
	await second.runtime.close();

	const third = await opened({ unanswered: "stop" });
	await third.runtime.answer(seq, "once", "ada");
	await third.runtime.idle();
	expect(replies(third.runtime).at(-1)).toMatch(/^told: src\/parser.ts is changed/);
	await third.runtime.close();
});

test("a turn that is stopped asks no more; so does one that a rewind takes away", async () => {
	const { runtime } = await opened();
	await runtime.prompt("change it");
	const { seq } = await asked(runtime);
	expect(await runtime.interrupt()).toBe(true);
	expect(runtime.questions()).toEqual([]);
	await expect(runtime.answer(seq, "once", "ada")).rejects.toMatchObject({ code: "RUNTIME_UNKNOWN_QUESTION" });
	const before = runtime.wal.tip;
	await runtime.prompt("change it");
	await asked(runtime);
	await runtime.checkout(before, "ada");
	await runtime.idle();
	expect(runtime.questions()).toEqual([]);
	expect(await read("src/parser.ts")).toContain("Reads");
	await runtime.close();
});

test("an answer that a rewind takes back is asked for again", async () => {
	const plan = {
		goal: "change both",
		steps: [
			{ id: "s1", description: "change one", tools: ["edit"], depends_on: [] },
			{ id: "s2", description: "say so", tools: ["read"], depends_on: ["s1"] },
		],
	};
	const model = scripted((request) => {
		const last = request.messages.at(-1);
		if (last?.role === "tool") return "done";
		if (lastOf(request) === "plan it") return [{ name: "plan", args: plan }];
		if (/change one/.test(lastOf(request)) && request.tools.some(({ name }) => name === "edit"))
			return [{ name: "edit", args: { path: "src/parser.ts", old: "Reads", new: "Parses" } }];
		return "said";
	});
	const { runtime } = await opened({ model });
	await runtime.prompt("plan it");
	const question = await asked(runtime);
	expect(question.from.kind).toBe("plan");
	// Other work goes on meanwhile.
	await runtime.prompt("and you?");
	await until(() => replies(runtime).at(-1) === "said");
	await runtime.answer(question.seq, "once", "ada");
	await runtime.idle();
	expect(await read("src/parser.ts")).toContain("Parses");
	await writeFile(join(project.cwd, "src/parser.ts"), (await read("src/parser.ts")).replace("Parses", "Reads"));
	await runtime.checkout(question.seq, "ada");
	await runtime.resumePlan(question.from.id);
	expect(await asked(runtime)).toMatchObject({ seq: question.seq });
	expect(await read("src/parser.ts")).toContain("Reads");
	await runtime.answer(question.seq, "no", "ada");
	await runtime.idle();
	expect(await read("src/parser.ts")).toContain("Reads");
	await runtime.close();
});

test("a denied path is shown by no tool, whichever names it", async () => {
	await writeFile(join(project.cwd, "src/key.pem"), "the very secret\n");
	const rules: readonly PermissionRule[] = [{ effect: "deny", action: "read", on: "**/*.pem" }];
	const calls = [
		{ name: "read", args: { path: "src/key.pem" } },
		{ name: "read", args: { path: "src/./key.pem" } },
		{ name: "search", args: { query: "very secret" } },
		{ name: "search", args: { query: "very secret", path: "src/key.pem" } },
		{ name: "list", args: {} },
		{ name: "edit", args: { path: "src/key.pem", old: "the very secret", new: "x" } },
		{ name: "write", args: { path: "src/key.pem", text: "x" } },
		{ name: "remove", args: { path: "src/key.pem", version: "x" } },
	];
	let results: readonly string[] = [];
	const model = scripted(({ messages }) => {
		results = messages.flatMap((each) => (each.role === "tool" ? [each.text] : []));
		return results.length > 0 ? "done" : calls;
	});
	const tools = createFileTools(project.cwd, { writes: true, isClosed: (path) => isUnreadable(rules, path) });
	const { runtime } = await opened({ model, tools, permissions: { mode: "all", rules } });
	await runtime.prompt("look");
	await runtime.idle();
	expect(results).toHaveLength(calls.length);
	for (const [at, each] of results.entries()) {
		expect([at, each]).not.toEqual([at, expect.stringMatching(/very secret/)]);
		if (calls[at]?.name !== "list" && at !== 2) expect(each).toMatch(/^ERROR: /);
	}
	expect(results[4]).not.toContain("key.pem");
	expect(await read("src/key.pem")).toBe("the very secret\n");
	await runtime.close();
});

describe("ask_user", () => {
	const asking = () =>
		scripted((request) => {
			const last = request.messages.at(-1);
			return last?.role === "tool"
				? `you said: ${last.text}`
				: [{ name: "ask_user", args: { question: "Tabs or spaces?" } }];
		});

	test("killed at any record, it asks once, and the answer that is durable is the one that counts", async () => {
		const { runtime } = await opened({ model: asking(), askUser: true });
		await runtime.prompt("ask me");
		await runtime.answer((await asked(runtime)).seq, "tabs", "ada");
		await runtime.idle();
		expect(replies(runtime).at(-1)).toBe("you said: tabs");
		await runtime.close();
		await everyCut(project, async (state, kinds) => {
			const again = await opened({ model: asking(), askUser: true }, { ...project, state });
			again.runtime.resume();
			if (kinds.includes("user_prompt"))
				await until(() => again.runtime.questions().length > 0 || again.runtime.restored().turns.length === 0);
			const open = again.runtime.questions();
			expect(open.length > 0 && kinds.includes("question_answered")).toBe(false);
			for (const { seq } of open) await again.runtime.answer(seq, "spaces", "bo");
			await again.runtime.idle();
			if (kinds.includes("user_prompt"))
				expect(replies(again.runtime).at(-1)).toBe(
					`you said: ${kinds.includes("question_answered") ? "tabs" : "spaces"}`,
				);
			expect(
				(await kindsIn({ ...project, state })).filter((kind) => kind === "question_asked").length,
			).toBeLessThanOrEqual(1);
			await again.runtime.close();
		});
	});

	test("says where nobody is, and stops where one is asked later", async () => {
		const { runtime } = await opened({ model: asking(), askUser: true, unanswered: "deny" });
		await runtime.prompt("ask me");
		await runtime.idle();
		expect(replies(runtime).at(-1)).toBe("you said: ERROR: nobody is here who could answer");
		await runtime.close();
		const later = await opened({ model: asking(), askUser: true, unanswered: "stop" });
		await later.runtime.prompt("ask me then");
		await later.runtime.idle();
		const { seq } = await asked(later.runtime);
		expect(later.runtime.restored().turns).toHaveLength(1);
		await later.runtime.answer(seq, "spaces", "ada");
		await later.runtime.idle();
		expect(replies(later.runtime).at(-1)).toBe("you said: spaces");
		await later.runtime.close();
	});

	test("puts it to the person who is here, unless somebody else is first; what they leave open waits", async () => {
		const put: (OpenQuestion & { readonly signal: AbortSignal })[] = [];
		let says: string | undefined = "tabs";
		const { runtime } = await opened({
			model: asking(),
			askUser: true,
			async ask(question) {
				put.push(question);
				if (says === "wait") await until(() => question.signal.aborted);
				return says;
			},
		});
		await runtime.prompt("ask me");
		await runtime.idle();
		expect(replies(runtime).at(-1)).toBe("you said: tabs");
		says = undefined;
		await runtime.prompt("ask me once more");
		await runtime.answer((await asked(runtime)).seq, "neither", "bo");
		await runtime.idle();
		expect(replies(runtime).at(-1)).toBe("you said: neither");
		says = "wait";
		await runtime.prompt("and again");
		await until(() => put.length === 3);
		await runtime.answer((await asked(runtime)).seq, "both", "bo");
		await runtime.idle();
		expect([put.length, put[2]?.signal.aborted, replies(runtime).at(-1)]).toEqual([3, true, "you said: both"]);
		await runtime.close();
	});
});

test("without permissions every call is made, as before", async () => {
	const { runtime } = await open(project, { model: editing(), tools: createFileTools(project.cwd, { writes: true }) });
	await runtime.prompt("change it", mainSession);
	await runtime.idle();
	expect(await read("src/parser.ts")).toContain("Parses");
	expect((await runtime.permissions()).mode).toBeUndefined();
	expect(existsSync(project.cwd)).toBe(true);
	await runtime.close();
});
