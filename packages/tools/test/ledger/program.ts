/** Programs that write, edit, remove and run commands, and what each comes to by a model that knows nothing of logs, hashes and processes. */
import type { Random } from "../../../../tests/kit/seeded.ts";
import { versionOf } from "../../src/text-file.ts";

/** What lies in the directory: the text of each file, by its path. */
export type Tree = Readonly<Record<string, string>>;

export interface Call {
	readonly name: "write" | "edit" | "remove" | "shell";
	/** The file that it changes. */
	readonly path: string;
	readonly args: Readonly<Record<string, string>>;
	/** What the file holds then, where it holds this now; undefined: the call is refused, or there is no file. */
	result(now: string | undefined): { readonly text: string | undefined } | "refused";
}

export const paths = ["a.txt", "b.txt", "d/c.txt"] as const;

/** @param length how many calls */
export function program(random: Random, length: number): readonly Call[] {
	const calls: Call[] = [];
	let tree: Tree = {};
	for (let i = 0; i < length; i++) {
		const path = random.pick(paths);
		const call = oneOf(random, i, path, tree[path]);
		tree = after(tree, call) ?? tree;
		calls.push(call);
	}
	return calls;
}

/** The tree behind a call; undefined: it is refused. */
export function after(tree: Tree, { path, result }: Pick<Call, "path" | "result">): Tree | undefined {
	const found = result(tree[path]);
	return found === "refused" ? undefined : withText(tree, path, found.text);
}

export function withText(tree: Tree, path: string, text: string | undefined): Tree {
	const { [path]: _, ...others } = tree;
	return text === undefined ? others : { ...others, [path]: text };
}

function oneOf(random: Random, i: number, path: string, present: string | undefined): Call {
	const kind = random.below(8);
	if (kind > 5) return shell(i, path);
	if (present === undefined || kind < 3) return write(i, path, present);
	return kind < 5 ? edit(i, path, present) : remove(path, present);
}

function write(i: number, path: string, present: string | undefined): Call {
	const text = `text ${i}\n`;
	const version = present === undefined ? undefined : versionOf(Buffer.from(present));
	return {
		...{ name: "write", path, args: { path, text, ...(version !== undefined && { version }) } },
		result: (now) => (now === present ? { text } : "refused"),
	};
}

/** What it adds would be there twice if it were made twice. */
function edit(i: number, path: string, present: string): Call {
	const old = present.split("\n")[0] ?? "";
	const args = { path, old, new: `${old} +${i}` };
	return {
		...{ name: "edit", path, args },
		result: (now) => (now?.split(old).length === 2 ? { text: now.replace(old, args.new) } : "refused"),
	};
}

function remove(path: string, present: string): Call {
	const version = versionOf(Buffer.from(present));
	return {
		...{ name: "remove", path, args: { path, version } },
		result: (now) => (now === present ? { text: undefined } : "refused"),
	};
}

/** It counts itself outside of the directory first. */
function shell(i: number, path: string): Call {
	const command = `echo ${i} >> ../did/${i}; mkdir -p d; echo command ${i} > ${path}; echo out ${i}`;
	return { name: "shell", path, args: { command }, result: () => ({ text: `command ${i}\n` }) };
}
