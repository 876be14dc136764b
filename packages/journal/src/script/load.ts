/** Turns the text of a script into code that a realm can run: erases types, rewrites exports, refuses imports. */
import { createHash } from "node:crypto";
import { stripTypeScriptTypes } from "node:module";
import { type AnyNode, type Expression, getLineInfo, type Pattern, type Program, parse, type Token } from "acorn";
import { JournalError } from "../errors.ts";

/** The code of a script as a realm runs it. */
export interface ScriptCode {
	readonly file: string;
	/**
	 * The body of a function that is called with an empty object as `this`, and leaves the default export in `main` and
	 * the others in `exports` of it. The lines are those of the source, and but for what was moved the columns.
	 */
	readonly code: string;
	/** The parameter of that function: called with each error that the script catches, before it sees it. */
	readonly clean: string;
	readonly moved: readonly Moved[];
}

export interface ScriptModule extends ScriptCode {
	readonly source: string;
	readonly version: ScriptVersion;
}

/** What a script is known by, as its records have it. */
export interface ScriptVersion {
	/** SHA-256 of the source, hex. */
	readonly script: string;
	/**
	 * SHA-256 of the source as it was parsed, hex: the same for texts that differ in comments, layout and types alone. Absent where a
	 * script can read its own lines: it has the name `stack`, or asks an object for all names of its own.
	 */
	readonly program?: string;
}

/** From this place of the source on (line and column from 1), the line of code has this many more characters. */
export interface Moved {
	readonly line: number;
	readonly column: number;
	readonly by: number;
}

/**
 * Reads a script. Nothing of it runs.
 *
 * @throws JournalError `SCRIPT_INVALID` for what is no TypeScript with erasable types or has characters that nobody sees, `DETERMINISM` for what would
 * bring in code from elsewhere; message and detail say file, line and column (both from 1) and what to do
 */
export function loadScript(source: string, file: string): ScriptModule {
	refuseUnseen(source, file);
	// The mark of an encoding that some editors begin a file with: a space in its place keeps the columns.
	const plain = stripTypes(source.replace(/^\ufeff/, " "), file);
	const tokens: Token[] = [];
	const program = parseModule(plain, file, tokens);
	refuseForeignCode(program, plain, file);
	// A name that the script has nowhere, however it is written.
	const names = new Set(tokens.map((token) => (token as Token & { readonly value?: unknown }).value));
	let clean = "$";
	while (names.has(clean) || names.has(`${clean}0`)) clean += "$";
	// What ends a block comes before what follows it in the same place.
	const edits = [...catchEdits(program, plain, clean), ...exportEdits(program, plain, tokens)];
	const version = {
		script: sha256(source),
		...(!readers.some((name) => names.has(name)) && { program: sha256(parsedText(program)) }),
	};
	return { file, source, version, clean, ...apply(edits, plain) };
}

/**
 * What acts on a terminal or is not drawn: control codes, bidi controls, tags, halves of characters. Where the stack is used up
 * while a promise fails, Node itself writes the name of the file and the line to stderr, as they are. What words are spelt
 * with stays, and so does a line end with a `\r`.
 */
const unseen =
	/(?!\r\n)[[\p{Cc}\p{Cf}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1bc9d}\u{1d159}\u{1da9b}-\u{1da9f}\u{1daa1}-\u{1daaf}]--[\n\t\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}\u200c\u200d\ufe00-\ufe0f\u180b-\u180f]]/v;

function refuseUnseen(source: string, file: string): void {
	const inName = unseen.exec(file);
	if (inName) {
		const shown = file.replace(new RegExp(unseen, "gv"), (character) => `<${codePoint(character)}>`);
		throw new JournalError(
			"SCRIPT_INVALID",
			`the name of the script "${shown}" has the character ${codePoint(inName[0])}, which is not drawn or acts on a terminal: rename it`,
			{ file: shown },
		);
	}
	const from = source.startsWith("\ufeff") ? 1 : 0;
	const found = unseen.exec(source.slice(from));
	if (!found) return;
	const before = source.slice(0, from + found.index).split("\n");
	const at = { line: before.length, column: (before.at(-1) as string).length + 1 };
	const [character] = found;
	throw invalid(
		file,
		at,
		`the character ${codePoint(character)} is not drawn or acts on a terminal: take it out, or write it in a text as ${escaped(character)}`,
	);
}

const hex = (code: number): string => code.toString(16).padStart(4, "0");
const codePoint = (character: string): string => `U+${hex(character.codePointAt(0) as number).toUpperCase()}`;
const escaped = (character: string): string =>
	Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at))}`).join("");

function stripTypes(source: string, file: string): string {
	const { emitWarning } = process;
	// Node warns once that this function is experimental. It does so at once, so nothing else can be swallowed here.
	process.emitWarning = ((...warning: Parameters<typeof emitWarning>) => {
		if ((warning[1] as unknown) !== "ExperimentalWarning") emitWarning.apply(process, warning);
	}) as typeof emitWarning;
	try {
		return stripTypeScriptTypes(source);
	} catch (error) {
		const { code, message, stack = "" } = error as Error & { code?: string };
		// Node has run out of stack inside of WebAssembly, which has no way back from there.
		if (code === "ERR_INTERNAL_ASSERTION")
			throw invalid(
				file,
				{ line: 1, column: 1 },
				"it is nested too deeply to be read; give one of fewer levels, in a new process: Node reads no other script in this one",
			);
		const advice =
			code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"
				? "; types of a script are erased, so write what runs in JavaScript: an object for an enum, a field for a parameter property"
				: "";
		throw invalid(file, shownPlace(stack, source), `${message}${advice}`);
	} finally {
		process.emitWarning = emitWarning;
	}
}

interface Place {
	readonly line: number;
	/** From 1. */
	readonly column: number;
}

/** Node shows the place in the stack alone: the number of the line, and carets under it, with tabs as four spaces. */
function shownPlace(stack: string, source: string): Place {
	const line = Number(/^.*:(\d+)\n/.exec(stack)?.[1] ?? 1);
	const text = source.split("\n")[line - 1] ?? "";
	const caret = /^( *)\^+$/m.exec(stack)?.[1];
	if (caret === undefined) return { line, column: text.search(/\S|$/) + 1 };
	let column = 0;
	for (let width = 0; width < caret.length && column < text.length; column++) width += text[column] === "\t" ? 4 : 1;
	return { line, column: column + 1 };
}

function parseModule(plain: string, file: string, tokens: Token[]): Program {
	try {
		return parse(plain, {
			ecmaVersion: "latest",
			sourceType: "module",
			onToken(token) {
				// The realm compiles a function and no module, and there this would begin a comment.
				if (token.end === token.start + 1 && plain.startsWith("<!--", token.start))
					throw invalid(file, place(plain, token.start), 'write "< !--" with a space');
				tokens.push(token);
			},
		});
	} catch (error) {
		if (!(error instanceof SyntaxError)) throw error;
		const { message, pos } = error as SyntaxError & { pos: number };
		throw invalid(file, place(plain, pos), message.replace(/ \(\d+:\d+\)$/, ""));
	}
}

/**
 * A script is one file, or its hash would not say what runs; imports of types are gone by now. And its top level only
 * defines: what it would wait for there could not come from `ctx`.
 */
function refuseForeignCode(node: AnyNode, plain: string, file: string, isTopLevel = true): void {
	const at = (): Place => place(plain, node.start);
	switch (node.type) {
		case "ImportDeclaration":
			if (isImportOfTypes(node, plain)) return;
			throw foreign(file, at(), node.source);
		case "ExportAllDeclaration":
		case "ImportExpression":
			throw foreign(file, at(), node.source);
		case "ExportNamedDeclaration":
			if (node.source) throw foreign(file, at(), node.source);
			break;
		case "MetaProperty":
			if (node.meta.name !== "import") return;
			throw determinism(file, at(), "import.meta", "depends on the machine; take what the script needs from args");
		case "AwaitExpression":
		case "ForOfStatement":
			if (isTopLevel && (node.type === "AwaitExpression" || node.await))
				throw invalid(file, at(), "await stands outside of a function; move it into the default export");
			break;
		case "ArrowFunctionExpression":
		case "FunctionDeclaration":
		case "FunctionExpression":
			isTopLevel = false;
	}
	for (const child of Object.values(node).flat()) if (isNode(child)) refuseForeignCode(child, plain, file, isTopLevel);
}

const isNode = (value: unknown): value is AnyNode =>
	typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";

/** `import { type A } from "x"` leaves `import { } from "x"`; `import "x"` has no names either, but runs the module. */
const isImportOfTypes = (node: AnyNode & { type: "ImportDeclaration" }, plain: string): boolean =>
	node.specifiers.length === 0 && /^import\s*\{/.test(plain.slice(node.start));

/** Which way in place of a module; the rest is in the name of the module. */
const insteadOf: readonly (readonly [RegExp, string])[] = [
	[/^\.{0,2}\//, "a script is one file: put the code into it"],
	[/^(node:)?(crypto|uuid|nanoid)$/, "use ctx.uuid() or ctx.random()"],
	[/^(node:)?timers(\/promises)?$/, "use ctx.sleep()"],
	[/^(node:)?perf_hooks$/, "use ctx.now()"],
	[/^(node:)?(process|os)$/, "take what you need from args"],
];

function foreign(file: string, at: Place, source: Expression): JournalError {
	const name = source.type === "Literal" ? String(source.value) : "a module";
	const [, substitute] = insteadOf.find(([pattern]) => pattern.test(name)) ?? [
		undefined,
		"reach files, network and programs through ctx.tool() or ctx.agent()",
	];
	return determinism(
		file,
		at,
		name,
		`is code from elsewhere, which may change while the script does not; ${substitute}; for a type write "import type"`,
	);
}

/**
 * Blanks the keyword `export` and assigns at the end. A default export that is a value is assigned where it stands, in
 * the same columns: `export default f` becomes `this.  main  = f`.
 */
function exportEdits(program: Program, plain: string, tokens: readonly Token[]): Edit[] {
	const edits: Edit[] = [];
	const exports: string[] = [];
	let main = "";
	/** Blank, and a semicolon where a whole statement goes, or its neighbours might become one. */
	const erase = (start: number, end: number, first = " "): void => {
		edits.push({ start, end, text: first + blank(plain.slice(start + 1, end)) });
	};
	const add = (exported: string, local: string): void => {
		if (exported === "default") main = `this.main = ${local};`;
		else exports.push(`[${JSON.stringify(exported)}]: ${local}`);
	};
	for (const node of program.body) {
		switch (node.type) {
			case "ImportDeclaration":
				erase(node.start, node.end, ";");
				break;
			case "ExportNamedDeclaration":
				if (node.declaration) {
					erase(node.start, node.declaration.start);
					for (const name of namesIn(node.declaration)) add(name, name);
				} else {
					erase(node.start, node.end, ";");
					for (const { exported, local } of node.specifiers) add(nameOf(exported), nameOf(local));
				}
				break;
			case "ExportDefaultDeclaration": {
				const keyword = tokens[tokens.findIndex(({ start }) => start === node.start) + 1] as Token;
				const { declaration } = node;
				const isStatement = declaration.type === "FunctionDeclaration" || declaration.type === "ClassDeclaration";
				if (isStatement && declaration.id) {
					erase(node.start, keyword.end);
					add("default", declaration.id.name);
					break;
				}
				edits.push({ start: node.start, end: node.start + "export".length, text: "this. " });
				edits.push({ start: keyword.start, end: keyword.end, text: "main  =" });
				// A function without a name ended by itself; as a value it might go on in the next line.
				if (isStatement) edits.push({ start: node.end, end: node.end, text: ";" });
			}
		}
	}
	const { length } = plain;
	edits.push({ start: length, end: length, text: `\n;${main}this.exports = { ${exports.join(", ")} };` });
	return edits;
}

/**
 * What is caught is made clean first: `catch (e) {` becomes `catch (e) {$(e);`, and `catch ({ message }) { … }` becomes
 * `catch ($0) {let { message }=$($0);{ … }}`: what the block declares, a pattern does not see.
 */
function catchEdits(node: AnyNode, plain: string, clean: string): Edit[] {
	const edits: Edit[] = [];
	const insert = (at: number, text: string): void => void edits.push({ start: at, end: at, text });
	if (node.type === "CatchClause" && node.param) {
		const { param, body } = node;
		if (param.type === "Identifier") insert(body.start + 1, `${clean}(${param.name});`);
		else {
			insert(param.start, `${clean}0) {let `);
			insert(param.end, `=${clean}(${clean}0);`);
			edits.push({ start: param.end, end: body.start, text: blank(plain.slice(param.end, body.start)) });
			insert(body.end, "}");
		}
	}
	for (const child of Object.values(node).flat()) if (isNode(child)) edits.push(...catchEdits(child, plain, clean));
	return edits;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** By these an error gives the lines of the script. */
const readers = ["stack", "getOwnPropertyNames", "getOwnPropertyDescriptors", "ownKeys"];

/** The tree without its places. How a text between quotes is written says nothing either. */
const parsedText = (program: Program): string =>
	JSON.stringify(program, function (this: AnyNode | { value?: unknown }, key, value: unknown) {
		if (key === "start" || key === "end") return undefined;
		if (key === "raw" && "value" in this && typeof this.value === "string") return undefined;
		// A function gets the name of what it is assigned to, but of nothing between parentheses.
		if (isNode(value) && "left" in value && value.left.start !== value.start)
			return { ...value, isInParentheses: true };
		return typeof value === "bigint" ? String(value) : value;
	});

const blank = (text: string): string => text.replace(/[^\r\n]/g, " ");

const nameOf = (name: AnyNode & { type: "Identifier" | "Literal" }): string =>
	name.type === "Identifier" ? name.name : String(name.value);

function namesIn(
	declaration: AnyNode & { type: "FunctionDeclaration" | "ClassDeclaration" | "VariableDeclaration" },
): readonly string[] {
	if (declaration.type === "VariableDeclaration") return declaration.declarations.flatMap(({ id }) => namesBound(id));
	return declaration.id ? [declaration.id.name] : [];
}

function namesBound(pattern: Pattern | null): readonly string[] {
	switch (pattern?.type) {
		case "Identifier":
			return [pattern.name];
		case "ObjectPattern":
			return pattern.properties.flatMap((each) => namesBound(each.type === "Property" ? each.value : each));
		case "ArrayPattern":
			return pattern.elements.flatMap(namesBound);
		case "AssignmentPattern":
			return namesBound(pattern.left);
		case "RestElement":
			return namesBound(pattern.argument);
		default:
			return [];
	}
}

/** `text` in place of what stands from `start` to `end`. */
interface Edit {
	readonly start: number;
	readonly end: number;
	readonly text: string;
}

function apply(edits: readonly Edit[], plain: string): Pick<ScriptCode, "code" | "moved"> {
	let [code, from] = ["", 0];
	const moved: Moved[] = [];
	// What stands at one place stays in its order.
	for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
		code += plain.slice(from, start) + text;
		from = end;
		if (start === end) moved.push({ ...place(plain, start), by: text.length });
	}
	return { code: code + plain.slice(from), moved };
}

const place = (text: string, offset: number): Place => {
	const { line, column } = getLineInfo(text, offset);
	return { line, column: column + 1 };
};

const invalid = (file: string, at: Place, message: string): JournalError =>
	new JournalError("SCRIPT_INVALID", `${file}:${at.line}:${at.column}: ${message}`, { file, ...at });

const determinism = (file: string, at: Place, name: string, message: string): JournalError =>
	new JournalError("DETERMINISM", `${file}:${at.line}:${at.column}: ${name} ${message}`, { file, ...at, name });
