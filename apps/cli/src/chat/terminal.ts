/** The terminal as the chat has it: keys one by one, pastes marked, and all of it given back, however the process ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { terminal } from "../print.ts";
import { type Key, KeyReader, type Reply } from "./keys.ts";

const [MARK_PASTES, UNMARK_PASTES] = ["\x1b[?2004h", "\x1b[?2004l"];
/** What can it do? It answers, or does not; nobody waits for that. The second question is one that every terminal knows. */
const QUESTIONS = "\x1b[?u\x1b[c";
/** Of the protocol of Kitty: Shift-Enter is another key than Enter. */
const [MORE_KEYS, FEWER_KEYS] = ["\x1b[>1u", "\x1b[<u"];

/**
 * After a `kill -9` nobody of ours is left to turn the modes off: a shell does it that reads from us, and hears of our end. It has a session
 * of its own, so that no key reaches it. Lines and their echo are turned on again only where they are as we had them: a shell that has taken
 * the terminal back has its own.
 */
const GUARD = `
keys=$(stty -g <&3 2>&-)
read -r how
[ "$how" = ok ] && exit
[ "$(stty -g <&3 2>&-)" = "$keys" ] && stty icanon echo isig iexten icrnl ixon brkint <&3 2>&-
printf '\\033[<u\\033[?2004l\\033[?2026l\\033[?25h\\033[0m\\r\\n\\033[J' >&3`;

/** How long an Esc waits for what may follow it. */
const escapeTime = (): number => Number(process.env.REYN_ESC_MS ?? (process.env.SSH_TTY ? 100 : 40));

export interface Listener {
	key(key: Key): void;
	/** The terminal has gone. */
	gone(): void;
	/** Brought back, or of another size: what is drawn may be of another width, or not be there. */
	changed(how: "resized" | "back"): void;
}

export class Terminal {
	readonly #listener: Listener;
	readonly #reader = new KeyReader();
	readonly #decoder = new StringDecoder("utf8");
	#escape: NodeJS.Timeout | undefined;
	#guard: ChildProcess | undefined;
	#isOpen = false;
	#hasMoreKeys = false;
	readonly #unresize: () => void;
	/** What was typed before the keys were read one by one has the line ends of a terminal that hands lines over. */
	#isTypedAhead = true;
	readonly #read = (bytes: Buffer): void => {
		const text = this.#decoder.write(bytes);
		this.#heard(this.#reader.read(this.#isTypedAhead ? text.replaceAll("\n", "\r") : text));
		this.#isTypedAhead = false;
	};
	readonly #gone = (): void => this.#listener.gone();
	readonly #back = (): void => this.#comeBack();
	readonly #exit = (): void => this.close();

	constructor(listener: Listener) {
		this.#listener = listener;
		this.#unresize = terminal.onResize(() => this.#listener.changed("resized"));
		process.stdin.on("data", this.#read);
		process.stdin.once("end", this.#gone);
		process.stdin.on("error", this.#gone);
		process.on("SIGCONT", this.#back);
		process.once("exit", this.#exit);
		this.#enter();
	}

	/** After the first drawing: nobody waits for it. */
	guard(): void {
		if (process.platform === "win32") return;
		this.#guard = spawn("sh", ["-c", GUARD], { stdio: ["pipe", "ignore", "ignore", 1], detached: true });
		this.#guard.on("error", () => {});
		this.#guard.stdin?.on("error", () => {});
		this.#guard.unref();
		(this.#guard.stdin as unknown as { unref?(): void } | null)?.unref?.();
	}

	/** Puts the process aside, as Ctrl-Z does where there are jobs. */
	suspend(): void {
		if (process.platform === "win32") return void this.#listener.changed("back");
		this.#leave();
		process.kill(process.pid, "SIGTSTP");
	}

	close(): void {
		process.off("SIGCONT", this.#back);
		process.off("exit", this.#exit);
		process.stdin.off("data", this.#read);
		process.stdin.off("end", this.#gone);
		this.#unresize();
		clearTimeout(this.#escape);
		this.#leave();
		process.stdin.pause();
		this.#guard?.stdin?.end("ok\n");
		this.#guard = undefined;
	}

	#enter(): void {
		this.#isOpen = true;
		process.stdin.setRawMode(true);
		process.stdin.resume();
		terminal.write(MARK_PASTES + QUESTIONS);
	}

	#leave(): void {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		terminal.write((this.#hasMoreKeys ? FEWER_KEYS : "") + UNMARK_PASTES);
		this.#hasMoreKeys = false;
		try {
			process.stdin.setRawMode(false);
		} catch {
			// It has gone.
		}
	}

	/** Whoever had the terminal meanwhile may have left it as it likes. */
	#comeBack(): void {
		if (this.#isOpen) process.stdin.setRawMode(false);
		this.#enter();
		// Of a size that changed meanwhile only the shell has heard.
		process.kill(process.pid, "SIGWINCH");
		this.#listener.changed("back");
	}

	#heard(keys: readonly (Key | Reply)[]): void {
		clearTimeout(this.#escape);
		for (const key of keys) {
			if (key.name === "kitty") this.#learn();
			else if (key.name !== "reply") this.#listener.key(key);
		}
		if (this.#reader.isWaiting) this.#escape = setTimeout(() => this.#heard(this.#reader.flush()), escapeTime());
	}

	/** It knows the protocol of Kitty. */
	#learn(): void {
		if (!this.#isOpen || this.#hasMoreKeys) return;
		this.#hasMoreKeys = true;
		terminal.write(MORE_KEYS);
	}
}
