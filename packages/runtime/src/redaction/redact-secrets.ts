/** Takes secrets out of texts: the values of secret environment variables, and whatever has the shape of a key. Linear time on any text. */
import { type Part, partsAcrossLines, Texts, withoutParts } from "./find-texts.ts";
import { secretValues } from "./secret-values.ts";

/**
 * Makes a function that replaces the secrets in a text by `[redacted ...]` with their kind. Secrets are the values of variables whose
 * names say so (plain, in JSON, in JSON within JSON, percent-encoded, in base64), and anything that looks like a key. Redacting a
 * redacted text changes nothing. A part of a secret is not recognised, except a beginning of 256 characters.
 *
 * @param environment names and values, such as `process.env`; read once
 */
export function redactSecrets(
	environment: Readonly<Record<string, string | undefined>> = {},
): (text: string) => string {
	const values = secretValues(environment, kinds);
	const [plain, base64] = [new Texts(values.plain), new Texts(values.base64)];
	return (text) => {
		const left = withoutParts(text, plain.in(text));
		return keyShapes.redacted(urlPasswords.redacted(withoutParts(left, partsAcrossLines(base64, left))));
	};
}

/** A kind of secret, recognised by its first characters. */
interface Secret {
	/** The first characters, at least three. */
	readonly begins: string;
	/** Characters that must not stand before it: it would be part of a longer word then. */
	readonly notBehind?: Uint8Array;
	/** The part to take out, at a place where the text has `begins`; undefined: it is no such secret. */
	find(text: string, at: number): Part | undefined;
}

/** Replaces secrets in one pass over a text, by a table of their first three characters. */
class Finder {
	/** A table by hash of three characters: 1 if any secret may begin with them. */
	readonly #mayBegin = new Uint8Array(HASHES);
	readonly #byHash = new Map<number, Secret[]>();

	/** @param secrets if two begin at the same place, the first in this list is found */
	constructor(secrets: readonly Secret[]) {
		for (const secret of secrets) {
			const hash = hashAt(secret.begins, 0);
			this.#mayBegin[hash] = 1;
			const beside = this.#byHash.get(hash);
			if (beside) beside.push(secret);
			else this.#byHash.set(hash, [secret]);
		}
	}

	redacted(text: string): string {
		const mayBegin = this.#mayBegin;
		const end = text.length - 2;
		const parts: Part[] = [];
		let kept = 0;
		let hash = 0;
		for (let at = 0, next = 0; at < end; at++) {
			// A rolling hash of three characters: the shift drops the oldest.
			if (at === next) hash = hashAt(text, at);
			else hash = (((hash << SHIFT) & MASK) + text.charCodeAt(at + 2)) & MASK;
			if (mayBegin[hash] === 0) continue;
			const found = this.#findAt(text, at, hash, kept);
			if (!found) continue;
			parts.push(found);
			kept = found.to;
			next = kept;
			at = kept - 1;
		}
		return withoutParts(text, parts);
	}

	#findAt(text: string, at: number, hash: number, kept: number): Part | undefined {
		for (const secret of this.#byHash.get(hash) ?? []) {
			// Right after a redacted part a word begins, as it will when the redacted text is redacted again.
			if (secret.notBehind && (at > kept || at === 0) && isBehind(secret.notBehind, text, at)) continue;
			const part = text.startsWith(secret.begins, at) ? secret.find(text, at) : undefined;
			if (part) return part;
		}
		return undefined;
	}
}

/** Bits per character of the rolling hash: after three shifts a character has left its 18 bits. */
const SHIFT = 6;
const HASHES = 1 << (3 * SHIFT);
const MASK = HASHES - 1;

function hashAt(text: string, at: number): number {
	const [a, b, c] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)];
	return ((a << (2 * SHIFT)) + (b << SHIFT) + c) & MASK;
}

/** Does one of these characters stand before? The letter of an escape, as in `\n`, does not count. */
function isBehind(chars: Uint8Array, text: string, at: number): boolean {
	if (!isIn(chars, text.charCodeAt(at - 1))) return false;
	return !("nrtbf".includes(text.charAt(at - 1)) && text.charAt(at - 2) === "\\");
}

/** A table of the ASCII characters that a pattern matches. */
const classOf = (each: RegExp): Uint8Array =>
	Uint8Array.from({ length: 128 }, (_, code) => (each.test(String.fromCharCode(code)) ? 1 : 0));

const isIn = (chars: Uint8Array, code: number): boolean => chars[code] === 1;

/** The end of a run of such characters. A loop, since a regular expression would use stack for each of them. */
function endOf(chars: Uint8Array, text: string, at: number): number {
	let end = at;
	while (isIn(chars, text.charCodeAt(end))) end++;
	return end;
}

const wordly = classOf(/[\w-]/);
const alphanumeric = classOf(/[A-Za-z0-9]/);
const ofToken = classOf(/[\w.~+/=-]/);

/** Secrets that begin with one of these and match at least this shape; they go on to the end of the allowed characters. */
function shaped(kind: string, beginnings: readonly string[], least: RegExp, chars = wordly): readonly Secret[] {
	// Sticky: it tests one place, and reads no further than the shape.
	const sticky = new RegExp(least, "y");
	const find: Secret["find"] = (text, at) => {
		sticky.lastIndex = at;
		return sticky.test(text) ? { from: at, to: endOf(chars, text, sticky.lastIndex), kind } : undefined;
	};
	return beginnings.map((begins) => ({ begins, notBehind: alphanumeric, find }));
}

/** Secrets that follow words such as `Bearer`; the words stay. */
function headed(kind: string, heads: readonly string[], head: RegExp, least: RegExp): readonly Secret[] {
	const [before, after] = [new RegExp(head, "iy"), new RegExp(least, "y")];
	const find: Secret["find"] = (text, at) => {
		before.lastIndex = at;
		if (!before.test(text)) return undefined;
		after.lastIndex = before.lastIndex;
		if (!after.test(text)) return undefined;
		return { from: before.lastIndex, to: endOf(ofToken, text, after.lastIndex), kind };
	};
	return heads.map((begins) => ({ begins, find }));
}

/** A JSON Web Token: three parts with dots between them, or the five parts of an encrypted one. */
const webToken: Secret = {
	begins: "eyJ",
	// So that each word is read only once.
	notBehind: wordly,
	find(text, at) {
		let to = endOf(wordly, text, at);
		if (to < at + 11) return undefined;
		let parts = 1;
		for (; parts < 5 && text.charAt(to) === "."; parts++) to = endOf(wordly, text, to + 1);
		return parts >= 3 ? { from: at, to, kind: "JWT" } : undefined;
	},
};

const BEGIN_KEY = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
const END_KEY = /-----END [A-Z0-9 ]{0,60}-----/y;
/** The beginning of a line of a key, after what may stand between two lines, such as line numbers. */
const KEY_LINE = /(?:\s|\\[nr]|\d{1,7}[:|\t]){0,40}[A-Za-z0-9+/=]{20}/y;

const privateKey: Secret = {
	begins: "-----BEGIN ",
	find(text, at) {
		BEGIN_KEY.lastIndex = at;
		if (!BEGIN_KEY.test(text)) return undefined;
		let to = BEGIN_KEY.lastIndex;
		const dashes = text.indexOf("-----", to);
		END_KEY.lastIndex = Math.max(dashes, to);
		const kind = "private key";
		if (dashes !== -1 && END_KEY.test(text)) return { from: at, to: END_KEY.lastIndex, kind };
		// A key without its end line was cut off: it goes as far as its lines do.
		for (KEY_LINE.lastIndex = to; KEY_LINE.test(text); KEY_LINE.lastIndex = to)
			to = endOf(ofToken, text, KEY_LINE.lastIndex);
		return { from: at, to, kind };
	},
};

/** The kinds of secrets that are found by their shape, as they stand in `[redacted …]`. */
const kinds: readonly string[] = [
	...["Anthropic key", "API key", "GitHub token", "GitLab token", "npm token", "Hugging Face token", "Slack token"],
	...["Stripe key", "AWS key id", "Google key", "Google token", "JWT", "private key", "authorization", "bearer token"],
	"password",
];

/** Every search that fails reads a bounded number of characters, or begins only once per word: so the time stays linear. */
const keyShapes = new Finder([
	privateKey,
	...shaped("Anthropic key", ["sk-ant-"], /sk-ant-[\w-]{12}/),
	...shaped("API key", ["sk-"], /sk-(?=[A-Za-z_-]{0,64}\d)[\w-]{20}/),
	...shaped("GitHub token", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], /gh[pousr]_[A-Za-z0-9]{20}/, alphanumeric),
	...shaped("GitHub token", ["github_pat_"], /github_pat_\w{20}/),
	...shaped("GitLab token", ["glpat-"], /glpat-[\w-]{16}/),
	...shaped("npm token", ["npm_"], /npm_[A-Za-z0-9]{30}/, alphanumeric),
	...shaped("Hugging Face token", ["hf_"], /hf_[A-Za-z0-9]{24}/, alphanumeric),
	...shaped("Slack token", ["xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"], /xox[a-z]-[\w-]{10}/),
	...shaped("Slack token", ["xapp-"], /xapp-[\w-]{10}/),
	...shaped(
		"Stripe key",
		["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
		/[sr]k_(?:live|test)_[A-Za-z0-9]{10}/,
		alphanumeric,
	),
	...shaped("AWS key id", ["AKIA", "ASIA"], /A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])/, new Uint8Array(128)),
	...shaped("Google key", ["AIza"], /AIza[\w-]{30}/),
	...shaped("Google token", ["ya29."], /ya29\.[\w-]{20}/),
	webToken,
	...headed(
		"authorization",
		["authorization", "Authorization", "AUTHORIZATION"],
		/authorization\\?["']?\s{0,8}[:=]\s{0,8}\\?["']?(?:bearer|basic|token)\s{1,8}/,
		/[\w.~+/=-]{8}/,
	),
	...headed(
		"bearer token",
		["bearer ", "Bearer ", "BEARER "],
		/bearer {1,8}/,
		/(?=[A-Za-z._~+/=-]{0,64}\d)[\w.~+/=-]{20}/,
	),
]);

const USER = /:\/\/[^\s/?#@:"'`<>[\]\\]{0,256}:/y;
const PORT = /\d{1,5}[/?#,)]/y;
const notInPassword = classOf(/[\s"'`<>[\]\\]/);

/** Passwords in URLs. They go up to the last `@`, since a password may contain `@`, `/`, `?` and `#`. Both searches have limits. */
const urlPasswords = new Finder([
	{
		begins: "://",
		find(text, at) {
			USER.lastIndex = at;
			if (!USER.test(text)) return undefined;
			const from = USER.lastIndex;
			PORT.lastIndex = from;
			if (PORT.test(text)) return undefined;
			let to = from;
			for (let end = from; end <= from + 512 && end < text.length; end++) {
				const code = text.charCodeAt(end);
				if (isIn(notInPassword, code) || text.startsWith("://", end)) break;
				if (code === AT) to = end;
			}
			return to === from ? undefined : { from, to, kind: "password" };
		},
	},
]);

const AT = "@".charCodeAt(0);
