/** The random numbers of a script: derived from the run's id and the place, so that a replay draws the same ones. */
import { hash } from "node:crypto";

/** The random numbers of one branch. */
export class Draws {
	readonly seed: string;
	#drawn = 0;

	constructor(seed: string) {
		this.seed = seed;
	}

	/** From 0, below 1. */
	random(): number {
		return Number.parseInt(this.#draw().slice(0, 13), 16) / 2 ** 52;
	}

	/** In the form of a version 4 UUID. */
	uuid(): string {
		const hex = this.#draw();
		const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
		const text = `${hex.slice(0, 12)}4${hex.slice(13, 16)}${variant}${hex.slice(17)}`;
		return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
	}

	/** 32 hex digits. */
	#draw(): string {
		return hash("sha256", `${this.seed}\n${this.#drawn++}`, "hex").slice(0, 32);
	}
}
