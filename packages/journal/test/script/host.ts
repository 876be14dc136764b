/** A host for scripts in tests: it notes what it is asked, with the branch that it was asked from. */
import { AsyncLocalStorage } from "node:async_hooks";
import { JournalError } from "../../src/errors.ts";
import { loadScript } from "../../src/script/load.ts";
import { type Bridge, openRealm } from "../../src/script/realm.ts";

export interface TestHost extends Bridge {
	readonly notes: string[];
}

export function testHost(answers: (op: string, args: string) => Promise<unknown> = async () => "an answer"): TestHost {
	const lane = new AsyncLocalStorage<string>();
	const at = (): string => lane.getStore() ?? "root";
	const notes: string[] = [];
	let forks = 0;
	return {
		notes,
		call(op, args) {
			notes.push(`${at()}: ${op} ${args}`);
			return (reply) =>
				void answers(op, args).then(
					(answer) => reply.answer(answer === undefined ? undefined : JSON.stringify(answer)),
					(error) => reply.fail(error),
				);
		},
		fork(kind, name, branches) {
			notes.push(`${at()}: fork ${forks} ${kind} "${name}" ${branches}`);
			return forks++;
		},
		enter: (fork, branch, body) => lane.run(`${fork}.${branch}`, body),
		join: (fork) => void notes.push(`${at()}: join ${fork}`),
		draws: () => ({ seed: at(), random: () => 0.25, uuid: () => "00000000-0000-4000-8000-000000000000" }),
		rested() {},
		log: (text) => void notes.push(`log: ${text}`),
		error: (...given) => new JournalError(...given),
	};
}

/** Runs a whole script, as `s.ts`. */
export async function runSource(
	source: string,
	host: Bridge = testHost(),
	args = "{}",
	sliceMs?: number,
): Promise<unknown> {
	const realm = await openRealm(loadScript(source, "s.ts"), host, sliceMs);
	const result = await realm.run(args);
	return result === undefined ? undefined : JSON.parse(result);
}

/** Runs the body of a script's function. */
export const runBody = (body: string, host?: Bridge, args?: string, sliceMs?: number): Promise<unknown> =>
	runSource(`export default async (ctx: any, args: any) => {\n${body}\n};`, host, args, sliceMs);
