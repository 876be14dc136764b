/** What must not be written: the secrets of an environment, and what has the shape of a key. Each is read past once, so any text takes linear time. */

/**
 * Takes secrets out of a text, each for `[redacted ...]` with what it was: the values of variables whose names say that they are
 * secret, also as JSON, percent-encoded and in base64, and what looks like a key whoever it belongs to. What it has taken out
 * stays as it is when it is asked again. A part of a secret is not known.
 *
 * @param environment names and values, `process.env` say; read once
 */
export function redactSecrets(
	environment: Readonly<Record<string, string | undefined>> = {},
): (text: string) => string {
	const values = new Finder(valuesOf(environment));
	return (text) => keyShapes.redacted(urlPasswords(values.redacted(text)));
}

/** Something that is taken out wherever it begins with these characters. */
interface Secret {
	/** At least three. */
	readonly begins: string;
	/** What it cannot stand behind: it would be a part of something else. */
	readonly notBehind?: Uint8Array;
	/** Which part goes, of what begins here; undefined where this is no such secret. */
	find(text: string, at: number): Part | undefined;
}

interface Part {
	readonly from: number;
	readonly to: number;
	/** What it was. */
	readonly kind: string;
}

/** Replaces secrets in one pass over a text, by a table of their first three characters. */
class Finder {
	/** Does any secret begin with three characters of this hash? */
	readonly #mayBegin = new Uint8Array(HASHES);
	readonly #byHash = new Map<number, Secret[]>();

	/** @param secrets of two that begin at the same place, the first one is found */
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
		const end = this.#byHash.size === 0 ? 0 : text.length - 2;
		const parts: string[] = [];
		let kept = 0;
		let hash = 0;
		for (let at = 0, next = 0; at < end; at++) {
			// The two characters before are part of it still; what is older has left it.
			if (at === next) hash = hashAt(text, at);
			else hash = (((hash << SHIFT) & MASK) + text.charCodeAt(at + 2)) & MASK;
			if (mayBegin[hash] === 0) continue;
			const found = this.#findAt(text, at, hash, kept);
			if (!found) continue;
			const { from, to, kind } = found;
			parts.push(text.slice(kept, from), `[redacted ${kind}]`);
			kept = to;
			next = to;
			at = to - 1;
		}
		return kept === 0 ? text : parts.join("") + text.slice(kept);
	}

	#findAt(text: string, at: number, hash: number, kept: number): Part | undefined {
		for (const secret of this.#byHash.get(hash) ?? []) {
			// What follows something that was taken out begins a word, as it will when it is asked again.
			if (secret.notBehind && (at > kept || at === 0) && isBehind(secret.notBehind, text, at)) continue;
			const part = text.startsWith(secret.begins, at) ? secret.find(text, at) : undefined;
			if (part) return part;
		}
		return undefined;
	}
}

/** Of three characters, of which each has moved out of it when the third one after it comes. */
const SHIFT = 6;
const HASHES = 1 << (3 * SHIFT);
const MASK = HASHES - 1;

function hashAt(text: string, at: number): number {
	const [a, b, c] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)];
	return ((a << (2 * SHIFT)) + (b << SHIFT) + c) & MASK;
}

/** Does such a character stand before? A letter that belongs to an escape, as in `\n`, is none. */
function isBehind(chars: Uint8Array, text: string, at: number): boolean {
	if (!isIn(chars, text.charCodeAt(at - 1))) return false;
	return !("nrtbf".includes(text.charAt(at - 1)) && text.charAt(at - 2) === "\\");
}

/** Which ASCII characters a class of a pattern has. */
const classOf = (each: RegExp): Uint8Array =>
	Uint8Array.from({ length: 128 }, (_, code) => (each.test(String.fromCharCode(code)) ? 1 : 0));

const isIn = (chars: Uint8Array, code: number): boolean => chars[code] === 1;

/** Where such characters end. A pattern would take a place on a stack for each of them. */
function endOf(chars: Uint8Array, text: string, at: number): number {
	let end = at;
	while (isIn(chars, text.charCodeAt(end))) end++;
	return end;
}

const wordly = classOf(/[\w-]/);
const alphanumeric = classOf(/[A-Za-z0-9]/);
const ofToken = classOf(/[\w.~+/=-]/);

/** What begins with one of these and has at least this shape, to the end of such characters. */
function shaped(kind: string, beginnings: readonly string[], least: RegExp, chars = wordly): readonly Secret[] {
	// Sticky: it looks at one place, and no further than the least.
	const sticky = new RegExp(least, "y");
	const find: Secret["find"] = (text, at) => {
		sticky.lastIndex = at;
		return sticky.test(text) ? { from: at, to: endOf(chars, text, sticky.lastIndex), kind } : undefined;
	};
	return beginnings.map((begins) => ({ begins, notBehind: alphanumeric, find }));
}

/** What follows words like these, which stay. */
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

/** Three parts with points between them, or the five of an encrypted one. */
const webToken: Secret = {
	begins: "eyJ",
	// Each word is read once so.
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
/** How a line of a key begins, behind what may stand between two lines: their numbers, say. */
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
		// It was cut off.
		for (KEY_LINE.lastIndex = to; KEY_LINE.test(text); KEY_LINE.lastIndex = to)
			to = endOf(ofToken, text, KEY_LINE.lastIndex);
		return { from: at, to, kind };
	},
};

/** All that is read of a text in vain is bounded, or begins once a word. */
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

/** The password of a URL, whose length and whose user's have limits: no text is read again and again. */
const URL_PASSWORD = /(:\/\/[^\s/?#@:"'`<>[\]\\]{0,256}:)([^\s/?#@:"'`<>[\]\\]{1,512})(?=@)/g;

const urlPasswords = (text: string): string =>
	text.includes("://") ? text.replace(URL_PASSWORD, "$1[redacted password]") : text;

/** The secrets of an environment in all forms that are known. */
function valuesOf(environment: Readonly<Record<string, string | undefined>>): readonly Secret[] {
	const found = new Map<string, string>();
	for (const name of Object.keys(environment).sort()) {
		const kind = name.replace(/\W/g, "_").slice(0, 64);
		const value = environment[name] ?? "";
		for (const secret of secretsIn(name, value.trim()))
			for (const form of formsOf(secret)) if (!found.has(form)) found.set(form, kind);
	}
	const kinds = [...new Set(found.values())].map((kind) => `[redacted ${kind}]`);
	const forms = new Map<string, Forms>();
	for (const [form, kind] of found) {
		if (kinds.some((each) => each.includes(form))) continue;
		const begins = form.slice(0, 3);
		let node = forms.get(begins) ?? new Forms();
		forms.set(begins, node);
		for (let i = 3; i < form.length; i++) node = node.at(form.charCodeAt(i));
		node.kind = kind;
	}
	return [...forms].map(([begins, root]) => ({ begins, find: (text, at) => root.longest(text, at) }));
}

/** What values go on with, a character a node: many that begin alike are looked for at once. */
class Forms {
	/** Of the value that ends here. */
	kind: string | undefined;
	readonly #next = new Map<number, Forms>();

	at(code: number): Forms {
		const next = this.#next.get(code) ?? new Forms();
		this.#next.set(code, next);
		return next;
	}

	/** The longest value of which three characters stand at a place, and the rest here. */
	longest(text: string, at: number): Part | undefined {
		let found: Part | undefined;
		let node: Forms | undefined = this;
		for (let to = at + 3; node; to++) {
			if (node.kind !== undefined) found = { from: at, to, kind: node.kind };
			node = node.#next.get(text.charCodeAt(to));
		}
		return found;
	}
}

/** A shorter value says too little: it would be found everywhere. */
const SHORTEST = 8;
/** A line of a longer value that may be met alone. */
const SHORTEST_LINE = 24;

/** What is secret about a variable. */
function secretsIn(name: string, value: string): readonly string[] {
	const [, , password] = new RegExp(URL_PASSWORD.source).exec(value) ?? [];
	if (password !== undefined) return password.length >= SHORTEST ? [password] : [];
	if (!isSecretName(name) || isPlain(value)) return [];
	const lines = value.split(/\r?\n/).map((line) => line.trim());
	return [value, ...(lines.length > 1 ? lines.filter((line) => line.length >= SHORTEST_LINE) : [])];
}

const SECRET_WORD = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH)S?$|^(?:PASS|PWD|PAT)$/;
/** A last word that says that something about a secret is meant. */
const ABOUT =
	/^(?:TYPE|MODE|URL|URI|FILE|PATH|DIR|NAME|USER|PROVIDER|METHOD|HOST|PORT|SOCK|ENDPOINT|TTL|EXPIRY|ALGORITHM)$/;

/** Does a name have a word that ends like one for secrets? `author` does not. */
function isSecretName(name: string): boolean {
	const words = name.toUpperCase().split(/[^A-Z0-9]+/);
	return words.some((word) => SECRET_WORD.test(word)) && !ABOUT.test(words.at(-1) ?? "");
}

/** A value that texts have for other reasons: a word or three, a number, an address, a path. */
function isPlain(value: string): boolean {
	if (value.length < SHORTEST) return true;
	if (/^[\d.,:+-]+$/.test(value)) return true;
	if (value.length <= 32 && /^\p{L}+(?:[ ._-]\p{L}+){0,2}$/u.test(value)) return true;
	if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return true;
	const isPath = /^(?:\.{0,2}|~)\/|^[A-Za-z]:[\\/]/.test(value);
	return isPath && !(value.match(/[A-Za-z0-9+]{20,}/g) ?? []).some(isMixed);
}

const isMixed = (text: string): boolean => [/[a-z]/, /[A-Z]/, /\d/].every((each) => each.test(text));

/** A value as it is, and as it comes to stand in JSON, in an address, and in what is in base64. */
function formsOf(value: string): readonly string[] {
	const sound = value.toWellFormed();
	const inBase64 = [0, 1, 2].flatMap((before) => base64Of(sound, before));
	return [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(sound), ...inBase64];
}

/** What base64 makes of it behind so many other bytes, but for the characters that those and later ones have a part in. */
function base64Of(text: string, before: number): readonly string[] {
	const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
	const own = bytes.toString("base64").slice([0, 2, 3][before], Math.floor((bytes.length * 8) / 6));
	return own.length < 10 ? [] : [own, own.replaceAll("+", "-").replaceAll("/", "_")];
}
