/** `/ui`: the page beside a chat, in a process of its own, so that a look at something far does not hold the chat up. It ends with the chat. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { z } from "zod";
import { argsOf, type Globals } from "../context.ts";

const begun = z.object({ address: z.string() });

/** @returns its address @throws where it does not begin, with what it said */
export async function beginPage(globals: Globals): Promise<string> {
	const args = [...process.execArgv, process.argv[1] as string, ...argsOf(globals), "--json", "ui", ...modeOf(globals)];
	// It ends when this process does, however that is: the channel ends too.
	const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe", "ipc"], detached: true });
	try {
		return await addressOf(child);
	} catch (error) {
		child.kill();
		throw error;
	} finally {
		// Nothing of it keeps the chat from ending.
		for (const each of [child, child.channel, child.stdout as Socket | null, child.stderr as Socket | null])
			each?.unref();
	}
}

const modeOf = ({ mode }: Globals): readonly string[] => (mode === undefined ? [] : ["--mode", mode]);

async function addressOf({ stdout, stderr }: ChildProcess): Promise<string> {
	let said = "";
	stderr?.setEncoding("utf8").on("data", (text: string) => {
		said += text;
	});
	if (stdout)
		for await (const line of createInterface({ input: stdout })) {
			// What else it says is for nobody here.
			stdout.resume();
			return begun.parse(JSON.parse(line)).address;
		}
	throw new Error(`the page did not begin: ${said.trim() || "it said nothing"}`);
}
