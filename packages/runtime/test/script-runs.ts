/** Scripts of tests, and what is said of them. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fingerprint, type Model, type ModelRequest, type Tool } from "@reyn/journal";
import type { WalRecord } from "@reyn/wal";
import { layoutOf, type Runtime, type ScriptEnd, type ScriptText } from "../src/index.ts";
import { lastOf, overSqlite, scripted } from "./project.ts";

/** A script of the name `work.ts`, by the body of its function. */
export const script = (body: string): ScriptText => ({
	name: "work.ts",
	source: `export default async (ctx, args) => { ${body} };`,
});

/** Five agents one after the other; `changed` puts other prompts in place of some. */
export const five = (changed: Readonly<Record<number, string>> = {}): ScriptText =>
	script(
		`const said = []; for (const prompt of ${JSON.stringify([1, 2, 3, 4, 5].map((n) => changed[n] ?? `call ${n}`))}) said.push(await ctx.agent(prompt)); return said;`,
	);

/** A model that says after every prompt what it was. */
export const echo = () => scripted((request) => `echo: ${lastOf(request)}`);

/** What a model was asked, in order. */
export const prompts = ({ asked }: { readonly asked: readonly ModelRequest[] }): readonly string[] =>
	asked.map(({ messages }) => messages.map(({ text }) => text).join(" / "));

/** The name that a request has in the log. */
export const nameOf = (model: Model, request: ModelRequest): string => fingerprint("model", model.id, request);

/** Something to pay with: it keeps the key and the arguments of each payment. */
export function till(): Tool & { readonly paid: { readonly key: string | undefined; readonly args: unknown }[] } {
	const paid: { key: string | undefined; args: unknown }[] = [];
	return {
		name: "pay",
		description: "pays",
		parameters: { type: "object" },
		purity: "side_effect",
		paid,
		async call(args, { idempotencyKey }) {
			paid.push({ key: idempotencyKey, args });
			return `receipt ${paid.length}`;
		},
	};
}

/** Runs a script to its end. */
export async function runToEnd(
	runtime: Runtime,
	text: ScriptText,
	args?: unknown,
): Promise<{ readonly run: string; readonly end: ScriptEnd }> {
	const { run, end } = await runtime.scripts.start(text, args);
	return { run, end: await end };
}

export async function resumeToEnd(...[runtime, ...how]: [Runtime, ...Parameters<Runtime["scripts"]["resume"]>]) {
	const { end } = await runtime.scripts.resume(...how);
	return end;
}

export async function recordsOf({ wal }: Runtime, ...kinds: string[]): Promise<readonly WalRecord[]> {
	const records: WalRecord[] = [];
	for await (const record of wal.read({ kinds: { only: kinds } })) records.push(record);
	return records;
}

/** One hash over all that a state has: the names and bytes of its files, or the rows of its database. */
export async function hashOf(state: string): Promise<string> {
	const hash = createHash("sha256");
	if (overSqlite) {
		const database = new DatabaseSync(`${state}.db`, { readOnly: true });
		for (const table of ["reyn_wal", "reyn_blob"])
			for (const row of database.prepare(`SELECT * FROM ${table}`).all()) hash.update(JSON.stringify(row));
		database.close();
		return hash.digest("hex");
	}
	const files = (await readdir(state, { recursive: true, withFileTypes: true }))
		.filter((entry) => entry.isFile())
		.map(({ parentPath, name }) => join(parentPath, name))
		// The audit trail follows the log in its own time.
		.filter((path) => !path.startsWith(layoutOf(state).events));
	for (const file of files.sort()) hash.update(file).update(await readFile(file));
	return hash.digest("hex");
}
