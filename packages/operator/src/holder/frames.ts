/** Messages between two processes on one stream: the length of each, four bytes with the highest first, and then its JSON. */
import { OperatorError } from "../errors.ts";

/** Far above what a verb sees of the largest state, and far below what a process cannot hold. */
export const MOST_BYTES = 8 * 1024 * 1024;

const HEAD_BYTES = 4;

/** @throws OperatorError `OPERATOR_HOLDER` for a message that is too large */
export function frameOf(message: object): Buffer {
	const body = Buffer.from(JSON.stringify(message));
	assertSize(body.length);
	const head = Buffer.alloc(HEAD_BYTES);
	head.writeUInt32BE(body.length);
	return Buffer.concat([head, body]);
}

/** Puts messages together from the pieces in which they arrive. */
export class Frames {
	#pieces: Buffer[] = [];
	#bytes = 0;

	/** @throws OperatorError `OPERATOR_HOLDER` for what is no message; nothing more is to be read then */
	*take(piece: Buffer): Generator<unknown> {
		this.#pieces.push(piece);
		this.#bytes += piece.length;
		while (this.#bytes >= HEAD_BYTES) {
			const all = Buffer.concat(this.#pieces);
			const end = HEAD_BYTES + assertSize(all.readUInt32BE());
			this.#pieces = [all];
			if (all.length < end) return;
			this.#pieces = [all.subarray(end)];
			this.#bytes -= end;
			yield parse(all.subarray(HEAD_BYTES, end));
		}
	}
}

/** Before anything of it is kept: a length costs whoever sends it nothing. */
function assertSize(bytes: number): number {
	if (bytes <= MOST_BYTES) return bytes;
	throw new OperatorError("OPERATOR_HOLDER", `a message of ${bytes} bytes; the largest has ${MOST_BYTES}`, { bytes });
}

function parse(body: Buffer): unknown {
	try {
		return JSON.parse(body.toString("utf8"));
	} catch (cause) {
		throw new OperatorError("OPERATOR_HOLDER", "a message that is no JSON", {}, { cause });
	}
}
