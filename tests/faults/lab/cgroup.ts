/** Control groups, as far as the faults use them: to freeze or kill a whole tree of processes, or to leave it little memory. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { needsAll } from "./needs.ts";
import { sleep } from "./start.ts";

export type Control = "tree" | "memory";

export function needsGroup(control: Control): string | undefined {
	const missing = needsAll("root");
	if (missing !== undefined) return missing;
	if (rootOf(control) === undefined)
		return control === "memory" ? "needs the memory controller of cgroups" : "needs cgroup v2";
	return undefined;
}

/** A group of its own, in which nothing is alive afterwards. */
export async function withGroup<T>(control: Control, use: (group: Group) => Promise<T>): Promise<T> {
	const group = new Group(join(rootOf(control) as string, `reyn-fault-${process.pid}-${++groups}`));
	mkdirSync(group.path);
	try {
		return await use(group);
	} finally {
		await group.remove();
	}
}

let groups = 0;

export class Group {
	readonly path: string;

	constructor(path: string) {
		this.path = path;
	}

	/** A command that goes into the group, and becomes what follows it. */
	get via(): string[] {
		return ["sh", "-c", `echo $$ > '${this.path}/cgroup.procs' && exec "$@"`, "sh"];
	}

	get members(): number[] {
		return this.#read("cgroup.procs").split("\n").filter(Boolean).map(Number);
	}

	freeze(on: boolean): void {
		this.#write("cgroup.freeze", on ? "1" : "0");
	}

	kill(): void {
		this.#write("cgroup.kill", "1");
	}

	limitMemory(bytes: number): void {
		this.#write(this.#has("memory.max") ? "memory.max" : "memory.limit_in_bytes", String(bytes));
	}

	/** How many the kernel has killed here for want of memory. */
	get killedForMemory(): number {
		const text = this.#read(this.#has("memory.events") ? "memory.events" : "memory.oom_control");
		return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
	}

	async remove(): Promise<void> {
		for (let tries = 0; ; tries++) {
			for (const pid of this.members)
				try {
					process.kill(pid, "SIGKILL");
				} catch {}
			try {
				return rmdirSync(this.path);
			} catch (error) {
				if (tries === 40) throw error;
				await sleep(50);
			}
		}
	}

	#has(name: string): boolean {
		return existsSync(join(this.path, name));
	}

	#read(name: string): string {
		return readFileSync(join(this.path, name), "latin1");
	}

	#write(name: string, text: string): void {
		writeFileSync(join(this.path, name), text);
	}
}

/** Version 2 where it can do it; memory often still belongs to version 1, or to nobody below the root. */
function rootOf(control: Control): string | undefined {
	const mounts = readFileSync("/proc/self/mounts", "latin1")
		.split("\n")
		.map((line) => line.split(" "));
	const second = mounts.find(([, , type]) => type === "cgroup2")?.[1];
	if (control === "tree") return second;
	const first = mounts.find(([, , type, options = ""]) => type === "cgroup" && options.split(",").includes("memory"));
	if (first) return first[1];
	const handed = second && readFileSync(join(second, "cgroup.subtree_control"), "latin1");
	return handed?.split(/\s+/).includes("memory") ? second : undefined;
}
