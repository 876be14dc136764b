/** What tasks are, told as simply as can be: maps, and no thought of disks, other writers or cost. */
import type { Task, TaskStatus } from "../src/index.ts";

type Known = Omit<Task, "createdAt" | "changedAt">;
type Wrote = { readonly task: Known } | { readonly comment: string };
/** What a write gives, or the code of its refusal. */
export type Answer = Wrote | { readonly code: string };

export class NaiveTasks {
	/** In the order of making. `ready` stands for `blocked` too. */
	#tasks: Known[] = [];
	comments = new Map<string, readonly string[]>();
	keys = new Map<string, Wrote>();

	/** All that there is, as it is now: values do not change. */
	copy(): NaiveTasks {
		const copy = new NaiveTasks();
		copy.#tasks = [...this.#tasks];
		copy.comments = new Map(this.comments);
		copy.keys = new Map(this.keys);
		return copy;
	}

	list(): readonly Known[] {
		return this.#tasks.map((task) => {
			const isHeld = task.waitsFor.some((id) => this.#find(id)?.status !== "done");
			return task.status === "ready" && isHeld ? { ...task, status: "blocked" as const } : task;
		});
	}

	create(id: string, title: string, waitsFor: readonly string[], key: string): Answer {
		return this.#once(key, "task", () => {
			if (!waitsFor.every((each) => this.#find(each))) return "TASK_UNKNOWN";
			this.#tasks.push({ id, title, description: "", status: "unassigned", waitsFor: [...new Set(waitsFor)] });
			return id;
		});
	}

	setStatus(id: string, wanted: TaskStatus, key: string, outcome: string | undefined): Answer {
		return this.#once(key, "task", () => {
			const found = this.#find(id);
			if (!found) return "TASK_UNKNOWN";
			const { outcome: _before, ...task } = found;
			const isOver = ["done", "failed", "aborted"].includes(task.status);
			const isHeld = this.list().find((each) => each.id === id)?.status === "blocked";
			const isRight =
				(wanted === task.status && !(isHeld && wanted === "blocked")) ||
				{
					...{ unassigned: true, ready: true, blocked: false },
					running: task.status === "ready" && !isHeld,
					failed: task.status === "running" || (task.status === "ready" && !isHeld),
					...{ done: !isOver, aborted: !isOver },
				}[wanted];
			if (!isRight) return "TASK_STATUS";
			this.#put({ ...task, status: wanted, ...(outcome !== undefined && { outcome }) });
			return id;
		});
	}

	link(id: string, other: string, key: string): Answer {
		return this.#once(key, "task", () => {
			const task = this.#find(id);
			if (!task || !this.#find(other)) return "TASK_UNKNOWN";
			if (this.#leadsTo(other, id)) return "TASK_CYCLE";
			this.#put({ ...task, waitsFor: [...new Set([...task.waitsFor, other])] });
			return id;
		});
	}

	comment(id: string, text: string, key: string): Answer {
		return this.#once(key, "comment", () => {
			if (!this.#find(id)) return "TASK_UNKNOWN";
			this.comments.set(id, [...(this.comments.get(id) ?? []), text]);
			return text;
		});
	}

	/** `make` gives a code, or what the answer is of. */
	#once(key: string, kind: "task" | "comment", make: () => string): Answer {
		const before = this.keys.get(key);
		if (before) return kind in before ? before : { code: "TASK_INVALID" };
		const made = make();
		if (made.startsWith("TASK_")) return { code: made };
		const task = this.list().find(({ id }) => id === made);
		const wrote: Wrote = kind === "comment" ? { comment: made } : { task: task as Known };
		this.keys.set(key, wrote);
		return wrote;
	}

	#leadsTo(from: string, to: string): boolean {
		return from === to || (this.#find(from)?.waitsFor ?? []).some((next) => this.#leadsTo(next, to));
	}

	#find(id: string): Known | undefined {
		return this.#tasks.find((task) => task.id === id);
	}

	#put(task: Known): void {
		this.#tasks[this.#tasks.findIndex(({ id }) => id === task.id)] = task;
	}
}
