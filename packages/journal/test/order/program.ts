/** Random programs as trees, and how one is followed: by a script, over plain steps, in a phase of a skill. */
import fc from "fast-check";

export type Program = readonly Part[];

export type Part =
	| Call
	| Nested
	/** Branches: in lanes of their own; in this one, until all are over; in this one, until the first fails. */
	| { readonly type: "all"; readonly form: "lanes" | "lane" | "fast"; readonly branches: readonly Program[] }
	| { readonly type: "pipeline"; readonly items: readonly string[]; readonly stages: readonly Program[] }
	/** Goes on with the first of its branches; the others go on too. */
	| { readonly type: "first"; readonly form: "race" | "any" | "own"; readonly branches: readonly Program[] }
	/** Goes on when the first branch says so, beside the rest of it and the other branches; then all are joined. */
	| {
			readonly type: "early";
			readonly first: Program;
			readonly rest: Program;
			readonly others: readonly Program[];
			readonly meanwhile: Program;
	  }
	| { readonly type: "try"; readonly body: Program }
	| { readonly type: "throw" }
	/** A loop of the program's own around a call that may fail. */
	| { readonly type: "loop"; readonly times: number; readonly call: Call }
	| { readonly type: "phase"; readonly name: string; readonly body: Program }
	| { readonly type: "sleep"; readonly ms: number; readonly note: boolean }
	| { readonly type: "now" | "random" }
	/** Waits for so many microtasks. */
	| { readonly type: "ticks"; readonly count: number };

/** `llm`: a model. `mail`, `post`: effects. `look`: the world. `count`: pure. `ask`: a person. */
export type Kind = "llm" | "mail" | "post" | "look" | "count" | "ask";

export interface Call extends Manner, Priced {
	readonly type: "call";
	readonly id: string;
	readonly kind: Kind;
	/** What its argument is made of: nothing, the answer before it, or all that the branches have noted. */
	readonly uses: "nothing" | "last" | "shared";
	/** Is its answer noted where all branches see it? */
	readonly note: boolean;
	/** Does the program go on when it fails? */
	readonly caught: boolean;
}

/** A call that is made of calls. */
export interface Nested extends Priced {
	readonly type: "nested";
	readonly id: string;
	readonly kind: "llm" | "post";
	readonly uses: Call["uses"];
	readonly note: boolean;
	readonly body: readonly Call[];
	readonly together: boolean;
}

/** Of a model's call. */
interface Priced {
	/** Tokens of each of its answers. Default: 2. */
	readonly tokens?: number;
	/** What the program declares that it costs. */
	readonly estimate?: number;
}

/** How the far side of a call behaves. */
interface Manner {
	readonly fails: "never" | "once" | "in the first life" | "in later lives" | "always";
	readonly retryable: boolean;
	readonly detail: boolean;
	readonly large: boolean;
	/** A policy of so many tries; scripts have none. */
	readonly tries: number;
}

/** A line of calls. */
export interface At {
	readonly path: string;
	forks: number;
}

/** What a program is followed over. */
export interface Calls {
	readonly root: string;
	call(at: At, call: Call, text: string): Promise<string>;
	nested(at: At, part: Nested, text: string): Promise<string>;
	lanes(at: At, bodies: readonly ((at: At) => Promise<string>)[]): Promise<readonly string[]>;
	pipeline(
		at: At,
		items: readonly string[],
		stages: readonly ((before: string, at: At) => Promise<string>)[],
	): Promise<readonly string[]>;
	phase(at: At, name: string, body: (at: At) => Promise<string>): Promise<string>;
	sleep(at: At, ms: number): Promise<void>;
	now(at: At): Promise<string>;
	random(at: At): string;
	/** Nothing that a program may handle. */
	isFatal(error: unknown): boolean;
	says(error: unknown): string;
	note(line: string): void;
}

/**
 * Follows a program to its end, and gives its last answer with all that was noted. Its text is run in scripts too, so it may use
 * nothing from outside itself.
 */
export async function follow(program: Program, calls: Calls, asked = "asked"): Promise<string> {
	const shared: string[] = [];
	let fatal: unknown;
	const short = (value: unknown): string => String(value).split(" ")[0] as string;
	const textOf = ({ id, uses }: { id: string; uses: Call["uses"] }, last: string): string =>
		`${id}(${uses === "shared" ? shared.join() : uses === "last" ? short(last) : ""})`;

	const made = async (at: At, kind: string, text: string, make: () => Promise<string>): Promise<string> => {
		calls.note(`${asked} ${at.path} ${kind} ${text}`);
		try {
			const value = await make();
			calls.note(`told ${at.path} ${kind} ${text} ${short(value)}`);
			return value;
		} catch (error) {
			if (fatal === undefined && calls.isFatal(error)) {
				fatal = error;
				calls.note(`refused ${(error as { code?: string }).code}`);
			}
			calls.note(`failed ${at.path} ${kind} ${text} ${calls.says(error)}`);
			throw error;
		}
	};

	const orElse = async (work: () => Promise<string>): Promise<string> => {
		try {
			return await work();
		} catch (error) {
			if (fatal !== undefined) throw fatal;
			shared.push(`!${calls.says(error)}`);
			return `!${calls.says(error)}`;
		}
	};

	const call = async (part: Call, at: At, last: string): Promise<string> => {
		const text = textOf(part, last);
		const value = await made(at, part.kind, text, () => calls.call(at, part, text));
		if (part.note) shared.push(short(value));
		return value;
	};

	const sequence = async (parts: Program, at: At, before: string): Promise<string> => {
		let last = before;
		for (const part of parts) last = await one(part, at, last);
		return last;
	};

	const settled = async (running: readonly Promise<string>[]): Promise<string[]> => {
		const failed: unknown[] = [];
		const values: string[] = [];
		await Promise.all(
			running.map((each, i) =>
				each.then(
					(value) => {
						values[i] = value;
					},
					(error) => failed.push(error),
				),
			),
		);
		if (failed.length > 0) throw failed[0];
		return values;
	};

	const one = async (part: Part, at: At, last: string): Promise<string> => {
		switch (part.type) {
			case "call":
				return part.caught ? orElse(() => call(part, at, last)) : call(part, at, last);
			case "nested": {
				const text = textOf(part, last);
				const value = await made(at, part.kind, text, () => calls.nested(at, part, text));
				if (part.note) shared.push(short(value));
				return value;
			}
			case "all": {
				if (part.form === "lanes")
					return (
						await calls.lanes(
							at,
							part.branches.map((branch) => (inner: At) => sequence(branch, inner, last)),
						)
					)
						.map(short)
						.join("+");
				const running = part.branches.map((branch) => sequence(branch, at, last));
				return (await (part.form === "lane" ? settled(running) : Promise.all(running))).map(short).join("+");
			}
			case "pipeline":
				return (
					await calls.pipeline(
						at,
						part.items,
						part.stages.map((stage) => (before: string, inner: At) => sequence(stage, inner, before)),
					)
				)
					.map(short)
					.join("+");
			case "first": {
				const running = part.branches.map((branch) => sequence(branch, at, last));
				if (part.form === "race") return Promise.race(running);
				if (part.form === "any") return Promise.any(running);
				return new Promise((resolve, reject) => {
					for (const each of running) each.then(resolve, reject);
				});
			}
			case "early": {
				let say = (): void => {};
				const said = new Promise<void>((resolve) => {
					say = resolve;
				});
				const first = async (): Promise<string> => {
					let value = last;
					try {
						value = await sequence(part.first, at, last);
					} finally {
						say();
					}
					return sequence(part.rest, at, value);
				};
				const all = settled([first(), ...part.others.map((branch) => sequence(branch, at, last))]);
				all.catch(() => {});
				await said;
				const value = await sequence(part.meanwhile, at, last);
				await all;
				return value;
			}
			case "try":
				return orElse(() => sequence(part.body, at, last));
			case "throw":
				throw new Error("thrown");
			case "loop": {
				for (let i = 0; i < part.times; i++) {
					try {
						return await call(part.call, at, last);
					} catch {
						if (fatal !== undefined) throw fatal;
					}
				}
				return "!gave-up";
			}
			case "phase":
				return calls.phase(at, part.name, (inner) => sequence(part.body, inner, last));
			case "sleep":
				await calls.sleep(at, part.ms);
				if (part.note) shared.push(`slept${part.ms}`);
				return last;
			case "now":
				shared.push(await calls.now(at));
				return last;
			case "random":
				shared.push(calls.random(at));
				return last;
			case "ticks":
				for (let i = 0; i < part.count; i++) await null;
				return last;
		}
	};

	const value = await sequence(program, { path: calls.root, forks: 0 }, "");
	return [short(value), ...shared].join();
}

/** All calls of a program, those inside calls too. */
export function* callsOf(program: Program): Generator<Call | Nested> {
	for (const part of program) {
		switch (part.type) {
			case "call":
				yield part;
				break;
			case "loop":
				yield part.call;
				break;
			case "nested":
				yield part;
				yield* part.body;
				break;
			default:
				for (const each of bodiesOf(part)) yield* callsOf(each);
		}
	}
}

export function bodiesOf(part: Part): readonly Program[] {
	switch (part.type) {
		case "all":
		case "first":
			return part.branches;
		case "pipeline":
			return part.stages;
		case "early":
			return [part.first, part.rest, ...part.others, part.meanwhile];
		case "try":
		case "phase":
			return [part.body];
		default:
			return [];
	}
}

/** The part with each of its bodies replaced. */
export function mapBodies(part: Part, change: (body: Program) => Program): Part {
	switch (part.type) {
		case "all":
		case "first":
			return { ...part, branches: part.branches.map(change) };
		case "pipeline":
			return { ...part, stages: part.stages.map(change) };
		case "early": {
			const { first, rest, meanwhile, others } = part;
			return {
				...part,
				first: change(first),
				rest: change(rest),
				meanwhile: change(meanwhile),
				others: others.map(change),
			};
		}
		case "try":
		case "phase":
			return { ...part, body: change(part.body) };
		default:
			return part;
	}
}

/** The same program with each part in its place replaced. */
export const mapParts = (program: Program, change: (part: Part) => Part): Program =>
	program.map((part) => change(mapBodies(part, (body) => mapParts(body, change))));

/** Gives each call a name of its own, and ends with a mail and a model's word on all that was noted. */
function named(program: Program): Program {
	let count = 0;
	const name = <T extends Call | Nested>(call: T): T => ({ ...call, id: `c${count++}` });
	const all = mapParts(program, (part) => {
		switch (part.type) {
			case "call":
				return name(part);
			case "loop":
				return { ...part, call: name(part.call) };
			case "nested": {
				const outer = name(part);
				return { ...outer, body: part.body.map(name) };
			}
			default:
				return part;
		}
	});
	return [...all, ...["mail" as const, "llm" as const].map((kind) => name(plainCall(kind, "shared")))];
}

export const plainCall = (kind: Kind, uses: Call["uses"], id = ""): Call => ({
	type: "call",
	id,
	kind,
	uses,
	note: false,
	caught: false,
	fails: "never",
	retryable: false,
	detail: false,
	large: false,
	tries: 1,
});

const call: fc.Arbitrary<Call> = fc
	.record({
		type: fc.constant("call" as const),
		id: fc.constant(""),
		kind: fc.constantFrom<Kind[]>("llm", "llm", "llm", "llm", "mail", "mail", "post", "look", "look", "count", "ask"),
		uses: fc.constantFrom<Call["uses"][]>("nothing", "last", "shared", "shared"),
		note: fc.constantFrom(true, true, false),
		caught: fc.constantFrom(true, true, true, false),
		fails: fc.oneof(
			{ weight: 8, arbitrary: fc.constant("never" as const) },
			{ weight: 3, arbitrary: fc.constantFrom("once" as const, "in the first life" as const, "always" as const) },
			{ weight: 1, arbitrary: fc.constant("in later lives" as const) },
		),
		retryable: fc.boolean(),
		detail: fc.boolean(),
		large: fc.constantFrom(false, false, false, false, false, false, false, true),
		tries: fc.constantFrom(1, 1, 1, 2, 3),
	})
	.map((each) => ({
		...each,
		fails: mannerOf(each.kind, each.fails),
	}));

/** Only the world is asked again after it has answered, what is pure fails always or never, and a person never. */
function mannerOf(kind: Kind, fails: Manner["fails"]): Manner["fails"] {
	if (kind === "look") return fails;
	if (fails === "in later lives" || kind === "ask") return "never";
	return kind === "count" && fails !== "never" ? "always" : fails;
}

const nested: fc.Arbitrary<Nested> = fc.record({
	type: fc.constant("nested" as const),
	id: fc.constant(""),
	kind: fc.constantFrom("llm" as const, "post" as const),
	uses: fc.constantFrom<Call["uses"][]>("nothing", "last", "shared"),
	note: fc.boolean(),
	body: fc.array(
		call.map((each) => ({
			...each,
			kind: each.kind === "ask" ? ("mail" as const) : each.kind,
			fails: "never" as const,
		})),
		{ minLength: 1, maxLength: 3 },
	),
	together: fc.boolean(),
});

/** A part that goes wrong is tried as a call, too. */
const SHRINKING = { withCrossShrink: true };

function part(depth: number): fc.Arbitrary<Part> {
	const small: fc.Arbitrary<Part> = fc.oneof(
		SHRINKING,
		{ weight: 14, arbitrary: call },
		{ weight: 2, arbitrary: nested },
		{
			weight: 2,
			arbitrary: fc.record({ type: fc.constant("loop" as const), times: fc.integer({ min: 2, max: 3 }), call }),
		},
		{ weight: 1, arbitrary: fc.record({ type: fc.constant("sleep" as const), ms: fc.nat(12), note: fc.boolean() }) },
		{ weight: 1, arbitrary: fc.record({ type: fc.constantFrom("now" as const, "random" as const) }) },
		{ weight: 1, arbitrary: fc.record({ type: fc.constant("ticks" as const), count: fc.integer({ min: 1, max: 5 }) }) },
	);
	if (depth === 0) return small;
	const body = fc.array(part(depth - 1), { minLength: 1, maxLength: 3 });
	const branches = fc.array(body, { minLength: 2, maxLength: 3 });
	return fc.oneof(
		SHRINKING,
		{ weight: 8, arbitrary: small },
		{
			weight: 8,
			arbitrary: fc.record({
				type: fc.constant("all" as const),
				form: fc.constantFrom("lanes" as const, "lanes" as const, "lanes" as const, "lane" as const, "fast" as const),
				branches,
			}),
		},
		{
			weight: 1,
			arbitrary: fc.record({
				type: fc.constant("pipeline" as const),
				items: fc.subarray(["x", "y", "z"], { minLength: 2 }),
				stages: fc.array(body, { minLength: 1, maxLength: 2 }),
			}),
		},
		{
			weight: 1,
			arbitrary: fc.record({
				type: fc.constant("first" as const),
				form: fc.constantFrom("race" as const, "any" as const, "own" as const),
				branches,
			}),
		},
		{
			weight: 1,
			arbitrary: fc.record({
				type: fc.constant("early" as const),
				first: body,
				rest: body,
				others: fc.array(body, { maxLength: 2 }),
				meanwhile: body,
			}),
		},
		{
			weight: 1,
			arbitrary: fc.record({
				type: fc.constant("try" as const),
				body: fc.oneof(
					body,
					body.map((parts) => [...parts, { type: "throw" as const }]),
				),
			}),
		},
		{
			weight: 1,
			arbitrary: fc.record({ type: fc.constant("phase" as const), name: fc.constantFrom("one", "two"), body }),
		},
	);
}

export const anyProgram: fc.Arbitrary<Program> = fc.array(part(2), { minLength: 1, maxLength: 3 }).map(named);
