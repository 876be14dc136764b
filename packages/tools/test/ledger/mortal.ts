/**
 * Processes that a test kills at any change that they make: of a file, of the log, or of what they tell the process of a command. They
 * share one thread, each a context of its own: from its death on, nothing that one of them does reaches the disk.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import child from "node:child_process";
import { EventEmitter } from "node:events";
import {
	cpSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	readlinkSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import files, { type FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join, relative } from "node:path";
import { MortalDisk } from "@reyn/wal/testing";
import type { Random } from "../../../../tests/kit/seeded.ts";
import type { Spec } from "../../src/shell/files.ts";
import { begin } from "../../src/shell/running.ts";

/** `killed`: what it wrote is there, and the commands that it began go on. `power`: they end too, and what was not synced may be lost. */
export type Death = "killed" | "power";

export interface World {
	/** With the files of the tools (`files`), what is recorded of commands (`commands`), and what those did (`did`). */
	readonly directory: string;
	/** Of the log. */
	readonly disk: MortalDisk;
}

export function newWorld(directory: string): World {
	for (const each of ["files", "did"]) mkdirSync(join(directory, each), { recursive: true });
	return { directory, disk: new MortalDisk() };
}

/** What a power cut takes of the names and the texts of files. */
interface Unsynced {
	/** The directory whose sync makes it durable. */
	readonly at: string;
	undo(world: string): void;
}

export class Life {
	readonly world: World;
	/** Resolves when it dies. */
	readonly died: Promise<void>;
	/** How many changes it has made, but those of the log. */
	steps = 0;
	readonly #dieAt: number;
	#isDead = false;
	#die: () => void;
	#unsynced: Unsynced[] = [];
	readonly #texts = new Map<number, string>();
	readonly #open = new Set<FileHandle>();

	/**
	 * @param dieAt before this change of a file or of a command; 0: it does not
	 * @param logDiesAt before this change of the log; 0: it does not
	 */
	constructor(world: World, dieAt = 0, logDiesAt = 0) {
		this.world = world;
		this.#dieAt = dieAt;
		if (logDiesAt > 0) world.disk.dieAt(logDiesAt);
		const { promise, resolve } = Promise.withResolvers<void>();
		this.died = promise;
		this.#die = resolve;
	}

	get isDead(): boolean {
		if (this.world.disk.dead) this.die();
		return this.#isDead;
	}

	run<T>(work: () => Promise<T>): Promise<T> {
		return lives.run(this, work);
	}

	die(): void {
		if (this.#isDead) return;
		this.#isDead = true;
		if (!this.world.disk.dead) {
			this.world.disk.dieAt(1);
			try {
				this.world.disk.remove("/");
			} catch {
				// That was its last change, which it did not make.
			}
		}
		this.#die();
	}

	/** The change is made, unless the life is over now. */
	isStep(): boolean {
		if (this.isDead) return false;
		if (++this.steps !== this.#dieAt) return true;
		this.die();
		return false;
	}

	opened(handle: FileHandle): FileHandle {
		this.#open.add(handle);
		return handle;
	}

	/** A text was written, and may not be there behind a power cut. */
	wrote(handle: FileHandle): void {
		this.#texts.set(statSync(`/proc/self/fd/${handle.fd}`).ino, "");
	}

	synced(handle: FileHandle): void {
		const path = readlinkSync(`/proc/self/fd/${handle.fd}`);
		const { ino } = statSync(`/proc/self/fd/${handle.fd}`);
		this.#texts.delete(ino);
		this.#unsynced = this.#unsynced.filter(({ at }) => at !== path);
	}

	/** The name is about to lead to something else, or to nothing. */
	renames(path: string, from?: string): void {
		const real = realOf(path);
		const at = dirname(real);
		const own = relative(this.world.directory, real);
		const before = existsSync(real) ? readFileSync(real) : undefined;
		const isTorn = from !== undefined && this.#texts.has(statSync(from).ino);
		if (isTorn) this.#unsynced.push({ at: "", undo: (world) => writeFileSync(join(world, own), "") });
		this.#unsynced.push({
			at,
			undo: (world) => (before ? writeFileSync(join(world, own), before) : rmSync(join(world, own), { force: true })),
		});
	}

	/** The world that the next life finds. A cut keeps what was done in the order in which it was done, up to a point. */
	async next(death: Death, directory: string, random: Random): Promise<World> {
		const { disk } = this.world;
		const next = death === "power" ? [...disk.states(disk.cuts, { limit: 1, random })][0] : disk;
		const files = [...(next ?? disk).files].map(([path, { bytes }]) => [path, bytes] as const);
		const world = { directory: this.world.directory, disk: new MortalDisk(files, (next ?? disk).directories) };
		if (death === "power") {
			// A command may end meanwhile: what it has done is there then, as what is recorded of it says.
			for (const name of ["commands", "did", "files"])
				if (existsSync(join(this.world.directory, name)))
					cpSync(join(this.world.directory, name), join(directory, name), { recursive: true });
			for (let left = random.below(this.#unsynced.length + 1); left > 0; left--) this.#unsynced.pop()?.undo(directory);
			for (const torn of this.#unsynced.filter(({ at }) => at === "")) torn.undo(directory);
			reboot(join(directory, "commands"));
		}
		for (const handle of this.#open) await handle.close().catch(() => {});
		return death === "power" ? { ...world, directory } : world;
	}
}

/** Another process may have the number of one that ran a command. */
function reboot(commands: string): void {
	if (!existsSync(commands)) return;
	for (const name of readdirSync(commands, { recursive: true, encoding: "utf8" }))
		if (name.endsWith("runner.json")) {
			const path = join(commands, name);
			const text = readFileSync(path, "utf8");
			writeFileSync(path, text.replace(/"start":"\d+"/, '"start":"1"'));
		}
}

const realOf = (path: string): string => join(path.replace(/^\/proc\/self\/fd\/\d+/, (fd) => readlinkSync(fd)));

const lives = new AsyncLocalStorage<Life>();
/** What a dead process waits for: each by itself, so that nothing holds on to it. */
const never = (): Promise<never> => new Promise<never>(() => {});

const changes = ["copyFile", "link", "mkdir", "rename", "rm", "unlink"] as const;
const looks = ["lstat", "opendir", "readdir", "readFile", "realpath", "stat"] as const;
const onHandles = ["chmod", "chown", "sync", "writeFile"] as const;

type Call = (...args: never[]) => Promise<unknown>;

/** Lives begin and end from here on. @returns ends that */
export async function mortal(): Promise<() => void> {
	const probe = await files.open("/");
	const prototype = Object.getPrototypeOf(probe) as Record<string, Call>;
	await probe.close();
	const module = files as unknown as Record<string, Call>;
	const real = { ...module };
	const realHandle = Object.fromEntries(onHandles.map((name) => [name, prototype[name] as Call]));
	const { spawn } = child;

	for (const name of [...changes, ...looks]) {
		const isChange = (changes as readonly string[]).includes(name);
		module[name] = (...args) => {
			const life = lives.getStore();
			if (!life) return (real[name] as Call)(...args);
			if (isChange ? !life.isStep() : life.isDead) return never();
			const [from, to] = args as unknown as readonly string[];
			if (name === "rename" || name === "link") life.renames(`${to}`, `${from}`);
			if (name === "unlink" && !/\.tmp$/.test(`${from}`)) life.renames(`${from}`);
			return (real[name] as Call)(...args);
		};
	}
	module.open = async (...args) => {
		const life = lives.getStore();
		if (life?.isDead) return never();
		const handle = (await (real.open as Call)(...args)) as FileHandle;
		return life ? life.opened(handle) : handle;
	};
	for (const name of onHandles)
		prototype[name] = async function (this: FileHandle, ...args) {
			const life = lives.getStore();
			const call = realHandle[name] as Call;
			if (!life) return call.apply(this, args);
			if (!life.isStep()) {
				// It dies in the midst of it.
				if (name === "writeFile" && life.isDead) await call.apply(this, [half(args[0]) as never]).catch(() => {});
				return never();
			}
			const done = await call.apply(this, args);
			if (name === "writeFile") life.wrote(this);
			if (name === "sync") life.synced(this);
			return done;
		};
	child.spawn = ((...args: Parameters<typeof spawn>) => {
		const life = lives.getStore();
		const [, [entry = "", directory = ""] = []] = args as unknown as readonly [string, readonly string[]];
		return life && entry.endsWith("runner.ts") ? runner(life, directory) : spawn(...args);
	}) as typeof spawn;
	syncBuiltinESMExports();
	return () => {
		Object.assign(module, real);
		Object.assign(prototype, realHandle);
		child.spawn = spawn;
		syncBuiltinESMExports();
	};
}

const half = (content: unknown): Buffer =>
	Buffer.from(content as Uint8Array).subarray(0, (content as Buffer).length >> 1);

/** The process of a command, which no death of a life ends: it works on this thread, and begins when it likes. */
function runner(life: Life, directory: string): EventEmitter {
	const process = new EventEmitter();
	let stop = (): void => {};
	const start = (text: string): void =>
		lives.exit(
			() =>
				void setImmediate(() => {
					life.isStep();
					try {
						stop = begin(directory, JSON.parse(text) as Spec, () => life.isStep() && process.emit("exit", 0));
						life.isStep();
					} catch {
						process.emit("exit", 1);
					}
				}),
		);
	const stdin = Object.assign(new EventEmitter(), {
		// Of who dies before all is said, half is read.
		end: (text: string) => start(life.isStep() ? text : text.slice(0, text.length >> 1)),
	});
	life.isStep();
	return Object.assign(process, { stdin, kill: () => stop() });
}
