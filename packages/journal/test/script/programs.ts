/** Random scripts as trees, edits of them, and two ways to follow one: as source text, and over whatever makes the calls. */
import fc from "fast-check";

export type Program = readonly Part[];

export type Part =
	| Call
	| Parallel
	| { readonly type: "pipeline"; readonly items: readonly string[]; readonly stages: readonly Program[] }
	| Phase
	| Together;

interface Call {
	readonly type: "agent" | "write";
	readonly text: string;
	/** Is the newest answer before it a part of the argument? */
	readonly uses: boolean;
}
interface Parallel {
	readonly type: "parallel";
	readonly branches: readonly Program[];
}
interface Phase {
	readonly type: "phase";
	readonly name: string;
	readonly body: Program;
}
/** Calls that are begun in one go. */
interface Together {
	readonly type: "together";
	readonly parts: readonly (Call | Parallel)[];
}

/** What a program is followed over. */
export interface Calls {
	agent(text: string): Promise<string>;
	write(text: string): Promise<string>;
	parallel(tasks: readonly (() => Promise<unknown>)[]): Promise<readonly unknown[]>;
	pipeline(
		items: readonly string[],
		...stages: readonly ((previous: unknown) => Promise<unknown>)[]
	): Promise<readonly unknown[]>;
	phase(name: string, body: () => Promise<unknown>): Promise<unknown>;
	together(begin: readonly (() => Promise<unknown>)[]): Promise<readonly unknown[]>;
}

/** Gives all answers, nested as the program is. */
export async function follow(program: Program, calls: Calls, before: unknown = ""): Promise<readonly unknown[]> {
	const answers: unknown[] = [];
	for (const part of program) answers.push(await followPart(part, calls, answers.at(-1) ?? before));
	return answers;
}

function followPart(part: Part, calls: Calls, last: unknown): Promise<unknown> {
	switch (part.type) {
		case "agent":
		case "write":
			return calls[part.type](part.uses ? `${part.text} ${textOf(last)}` : part.text);
		case "parallel":
			return calls.parallel(part.branches.map((branch) => () => follow(branch, calls, last)));
		case "pipeline":
			return calls.pipeline(
				part.items,
				...part.stages.map((stage) => (previous: unknown) => follow(stage, calls, previous)),
			);
		case "phase":
			return calls.phase(part.name, () => follow(part.body, calls, last));
		case "together":
			return calls.together(part.parts.map((each) => () => followPart(each, calls, last)));
	}
}

const textOf = (answer: unknown): string => [answer].flat(20).join("+");

/** The same as a script. */
export function sourceOf(program: Program): string {
	return `const textOf = (answer) => [answer].flat(20).join("+");
export default async (ctx) => {
	const before = "";
	return ${sequence(program)};
};
`;
}

const sequence = (program: Program): string => `await (async (before) => {
	const answers = [];
	${program.map((part) => `{ const last = answers.at(-1) ?? before; answers.push(await ${expression(part)}); }`).join("\n\t")}
	return answers;
})(typeof last === "undefined" ? before : last)`;

function expression(part: Part): string {
	switch (part.type) {
		case "agent":
			return `ctx.agent(${argument(part)}, { estimate: 11 })`;
		case "write":
			return `ctx.tool("write", { text: ${argument(part)} })`;
		case "parallel":
			return `ctx.parallel([${part.branches.map((branch) => `async () => ${sequence(branch)}`).join(", ")}])`;
		case "pipeline":
			return `ctx.pipeline(${[JSON.stringify(part.items), ...part.stages.map((stage) => `async (last) => ${sequence(stage)}`)].join(", ")})`;
		case "phase":
			return `ctx.phase(${JSON.stringify(part.name)}, async () => ${sequence(part.body)})`;
		case "together":
			return `Promise.all([${part.parts.map(expression).join(", ")}])`;
	}
}

/** The program without what depends on answers. */
export const plain = (program: Program): Program =>
	JSON.parse(JSON.stringify(program).replaceAll('"uses":true', '"uses":false'));

const argument = ({ text, uses }: Call): string => `${JSON.stringify(text)}${uses ? ' + " " + textOf(last)' : ""}`;

const texts = fc.constantFrom("a", "b", "c");
const call: fc.Arbitrary<Call> = fc.record({
	type: fc.constantFrom("agent", "agent", "write"),
	text: texts,
	uses: fc.constantFrom(false, false, true),
});
const names = fc.constantFrom("one", "two");
const items = fc.array(fc.constantFrom("x", "y", "z"), { maxLength: 3 });

/** A part of a program, so deep. */
function partOf(depth: number): fc.Arbitrary<Part> {
	if (depth === 0) return call;
	const body = fc.array(partOf(depth - 1), { maxLength: 3 });
	const parallel: fc.Arbitrary<Parallel> = fc.record({
		type: fc.constant("parallel" as const),
		branches: fc.array(body, { maxLength: 3 }),
	});
	const shallow: fc.Arbitrary<Parallel> = fc.record({
		type: fc.constant("parallel" as const),
		branches: fc.array(fc.array(call, { maxLength: 2 }), { minLength: 1, maxLength: 2 }),
	});
	return fc.oneof(
		{ weight: 6, arbitrary: call },
		{ weight: 3, arbitrary: parallel },
		{
			weight: 1,
			arbitrary: fc.record({
				type: fc.constant("pipeline" as const),
				items,
				stages: fc.array(body, { minLength: 1, maxLength: 2 }),
			}),
		},
		{ weight: 2, arbitrary: fc.record({ type: fc.constant("phase" as const), name: names, body }) },
		{
			weight: 1,
			arbitrary: fc.record({
				type: fc.constant("together" as const),
				parts: fc.array(fc.oneof(call, shallow), { minLength: 1, maxLength: 3 }),
			}),
		},
	);
}

export const anyProgram: fc.Arbitrary<Program> = fc.array(partOf(2), { minLength: 1, maxLength: 4 });

export interface Edit {
	readonly type:
		| "change"
		| "insert"
		| "delete"
		| "swap"
		| "add a branch"
		| "remove a branch"
		| "move a branch"
		| "wrap";
	/** Which place, of all that fit, and which one of the others. */
	readonly at: number;
	readonly to: number;
	readonly part: Part;
}

export const anyEdit: fc.Arbitrary<Edit> = fc.record({
	type: fc.constantFrom(
		"change",
		"insert",
		"delete",
		"swap",
		"add a branch",
		"remove a branch",
		"move a branch",
		"wrap",
	),
	at: fc.nat(30),
	to: fc.nat(5),
	part: partOf(1),
});

/** The program after an edit; the same one where nothing fits it. */
export function edited(program: Program, { type, at, to, part }: Edit): Program {
	const isOfBranches = type.endsWith("branch");
	const places = pathsIn(program, (list) => isOfBranches === (list.of === "branches"));
	const place = places[at % places.length];
	if (!place) return program;
	const change = (list: readonly unknown[]): readonly unknown[] => {
		const i = list.length === 0 ? 0 : to % list.length;
		switch (type) {
			case "change":
				return list.map((each, n) => (n === i ? changed(each as Part, part) : each));
			case "insert":
				return list.toSpliced(to % (list.length + 1), 0, part);
			case "add a branch":
				return list.toSpliced(to % (list.length + 1), 0, [part]);
			case "delete":
			case "remove a branch":
				return list.toSpliced(i, 1);
			case "swap":
			case "move a branch": {
				const moved = list.slice(i, i + 1);
				return list.toSpliced(i, 1).toSpliced((at + to) % Math.max(1, list.length), 0, ...moved);
			}
			case "wrap":
				return list.toSpliced(i, 2, { type: "phase", name: "one", body: list.slice(i, i + 2) } as Part);
		}
	};
	return replaced(program, place, change) as Program;
}

function changed(part: Part, by: Part): Part {
	if (part.type !== "agent" && part.type !== "write") return by;
	return { ...part, text: part.text === "a" ? "b" : "a" };
}

interface Place {
	readonly of: "parts" | "branches";
	readonly path: readonly (string | number)[];
}

/** Where the lists of a program are. What is begun in one go is left as it is. */
function pathsIn(program: Program, fits: (place: Place) => boolean): Place[] {
	const found: Place[] = [];
	const visit = (parts: Program, path: readonly (string | number)[]): void => {
		found.push({ of: "parts", path });
		for (const [i, part] of parts.entries()) {
			if (part.type === "parallel") {
				found.push({ of: "branches", path: [...path, i, "branches"] });
				for (const [n, branch] of part.branches.entries()) visit(branch, [...path, i, "branches", n]);
			} else if (part.type === "phase") visit(part.body, [...path, i, "body"]);
			else if (part.type === "pipeline")
				for (const [n, stage] of part.stages.entries()) visit(stage, [...path, i, "stages", n]);
		}
	};
	visit(program, []);
	return found.filter(fits);
}

function replaced(
	value: unknown,
	{ path: [key, ...rest], of }: Place,
	change: (list: readonly unknown[]) => unknown,
): unknown {
	if (key === undefined) return change(value as readonly unknown[]);
	const inner = replaced((value as Record<string | number, unknown>)[key], { of, path: rest }, change);
	return Array.isArray(value) ? value.with(key as number, inner) : { ...(value as object), [key]: inner };
}
