/** Keys by which a call is recognised in a replay: a fingerprint of its arguments, and a chain of the calls before it. */
import { createHash, type Hash, hash } from "node:crypto";
import { canonicalJson } from "@reyn/wal";
import type { Identity, Place } from "./entry.ts";
import type { Message, ModelRequest } from "./ports.ts";

/** Names what is called and with what: SHA-256 over kind, name and the canonical arguments. */
export function fingerprint(kind: string, name: string, args: unknown): string {
	return hash("sha256", canonicalJson([kind, name, args]), "hex");
}

/**
 * The fingerprints of the requests of one loop. Each begins with the messages of the one before, so these are hashed once: a round costs
 * what is new in it, however many were before. The messages must not change.
 */
export class GrowingRequest {
	#name: string | undefined;
	#messages: readonly Message[] = [];
	#hash: Hash = createHash("sha256");

	/** The same as `fingerprint("model", name, request)`. @throws WalError `WAL_NOT_JSON` naming what is none */
	fingerprint(name: string, request: ModelRequest): string {
		const { messages, ...rest } = request;
		// In canonical JSON `messages` comes first.
		if (Object.keys(rest).some((key) => key < "messages")) return fingerprint("model", name, request);
		try {
			this.#take(name, messages);
			const more = canonicalJson(rest).slice(1);
			return this.#hash
				.copy()
				.update(`]${more === "}" ? "" : ","}${more}]`)
				.digest("hex");
		} catch {
			// Which says where it is in the whole request.
			this.#name = undefined;
			return fingerprint("model", name, request);
		}
	}

	#take(name: string, messages: readonly Message[]): void {
		const goesOn = this.#name === name && this.#messages.every((message, at) => message === messages[at]);
		if (!goesOn) this.#hash = createHash("sha256").update(`["model",${canonicalJson(name)},{"messages":[`);
		const from = goesOn ? this.#messages.length : 0;
		for (const [at, message] of messages.slice(from).entries())
			this.#hash.update(`${from + at === 0 ? "" : ","}${canonicalJson(message)}`);
		this.#name = name;
		this.#messages = messages;
	}
}

/** Characters of JSON of a field; of a longer one its beginning is kept, its length and a hash. */
const SHORT = 120;
/** How many fields of a call are kept one by one; the rest become one hash. */
const FIELDS = 32;

/**
 * The chain of a lane: after each call a hash over it and all that it may rest on, so that an edited script finds the longest
 * unchanged beginning of each lane. A branch begins with the chain of the lane that it leaves and its own position; where branches
 * join, their chains become part of the lane's. *Loose* chains leave the positions out.
 */
export class Line {
	#chain: string;
	#loose: string;
	#at = 0;
	readonly #redact: (text: string) => string;

	/** @param redact takes secrets out of a text */
	constructor(chain = "", loose = "", redact: (text: string) => string = (text) => text) {
		this.#chain = chain;
		this.#loose = loose;
		this.#redact = redact;
	}

	/** Gives the next call of the lane its place. The parts for people, `label` and `fields`, are made on demand. */
	next(fp: string, args: unknown, label: string | (() => string)): Place {
		const chain = link(this.#chain, fp);
		const loose = link(this.#loose, fp);
		const at = this.#at++;
		this.#chain = chain;
		this.#loose = loose;
		let shown: Pick<Place, "label" | "fields"> | undefined;
		const show = (): Pick<Place, "label" | "fields"> => {
			if (shown) return shown;
			const { "": whole, ...fields } = this.#fieldsOf(args);
			const said = typeof label === "string" ? label : label();
			shown = { label: this.#redact(said).toWellFormed(), fields: whole === undefined ? fields : { value: whole } };
			return shown;
		};
		return {
			at,
			chain,
			loose,
			get label() {
				return show().label;
			},
			get fields() {
				return show().fields;
			},
		};
	}

	/** The line of the calls inside a call. */
	inside(place: Place): Line {
		return new Line(insideOf(place.chain), insideOf(place.loose), this.#redact);
	}

	/** The line of a branch that leaves here. */
	branch(name: string, ...position: readonly number[]): Line {
		return new Line(link(this.#chain, name, position.join()), link(this.#loose, name), this.#redact);
	}

	/** The branches are over: what comes next may rest on all of them. */
	join(branches: readonly Line[]): void {
		this.#chain = link(this.#chain, ...branches.map((branch) => branch.#chain));
		this.#loose = link(this.#loose, ...branches.map((branch) => branch.#loose));
	}

	/**
	 * The arguments for people to compare: the JSON of each field, by its path; a long one is cut, with a hash of the whole. They are
	 * compared with recorded ones, so half a character is U+FFFD as in the log. It takes no two keys that are one without their halves.
	 */
	#fieldsOf(args: unknown): Record<string, string> {
		const fields: Record<string, string> = {};
		const rest: string[] = [];
		for (const [at, value] of leavesOf(args, "")) {
			const path = this.#redact(at).toWellFormed();
			const json = JSON.stringify(typeof value === "string" ? this.#redact(value) : value);
			if (Object.keys(fields).length >= FIELDS) rest.push(path, json);
			else
				fields[path] =
					json.length <= SHORT
						? json
						: `${json.slice(0, SHORT / 2).toWellFormed()}… (${json.length} characters, ${digest(json)})`;
		}
		return rest.length > 0 ? { ...fields, "…": digest(rest.join("\n")) } : fields;
	}
}

const digest = (text: string): string => `sha256:${hash("sha256", text, "hex").slice(0, 16)}`;

/** The next link of a chain. 128 bits of the hash suffice, since a chain is looked up within one run only. */
const link = (...parts: readonly string[]): string => hash("sha256", parts.join("\n"), "hex").slice(0, 32);

const insideOf = (chain: string): string => link(chain, "inside");

/** Is this step the first one inside the call that stands there, with all that it may rest on? */
export const isFirstInside = ({ chain }: Place, { fp, place }: Identity): boolean =>
	place?.at === 0 && place.chain === link(insideOf(chain), fp);

function* leavesOf(value: unknown, path: string): Generator<readonly [path: string, value: unknown]> {
	if (typeof value !== "object" || value === null) {
		if (value !== undefined) yield [path, value];
	} else if (Array.isArray(value)) {
		if (value.length === 0) yield [path, value];
		for (const [i, item] of value.entries()) yield* leavesOf(item, `${path}[${i}]`);
	} else {
		const fields = Object.entries(value);
		if (fields.length === 0) yield [path, value];
		for (const [key, field] of fields) yield* leavesOf(field, path === "" ? key : `${path}.${key}`);
	}
}
