/** Finds the secret values of an environment: variables whose names say so, without common words, in all forms that texts have them in. */

/** Each form of each secret, with the name of its variable. */
export interface SecretValues {
	readonly plain: ReadonlyMap<string, string>;
	readonly base64: ReadonlyMap<string, string>;
}

/** @param told the kinds that may stand in `[redacted …]`, besides names of variables: a value that is in such a text is not looked for */
export function secretValues(
	environment: Readonly<Record<string, string | undefined>>,
	told: readonly string[],
): SecretValues {
	const found = new Map<string, string>();
	for (const name of Object.keys(environment).sort()) {
		const kind = name.replace(/\W/g, "_").slice(0, 64);
		const value = environment[name] ?? "";
		for (const secret of secretsIn(name, value.trim())) if (!found.has(secret)) found.set(secret, kind);
	}
	const kinds = [...told, ...new Set(found.values())].map((kind) => `[redacted ${kind}]`);
	const formed = (formsOf: (secret: string) => readonly string[]): ReadonlyMap<string, string> => {
		const forms = new Map<string, string>();
		for (const [secret, kind] of found)
			for (const form of formsOf(secret))
				if (!forms.has(form) && !kinds.some((each) => each.includes(form))) forms.set(form, kind);
		return forms;
	};
	return {
		plain: formed(plainForms),
		base64: formed((secret) => [0, 1, 2].flatMap((before) => base64Of(secret.toWellFormed(), before))),
	};
}

/** The variables of an environment that hold no secret, for programs that are run. */
export const withoutSecrets = (
	environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> =>
	Object.fromEntries(
		Object.entries(environment).flatMap(([name, value]) =>
			value === undefined || secretsIn(name, value.trim()).length > 0 ? [] : [[name, value]],
		),
	);

/** The shortest secret, in characters: a shorter value would be found in ordinary words. */
const SHORTEST = 8;
/** The shortest line of a multi-line value that is looked for by itself, in characters. */
const SHORTEST_LINE = 24;

/** The secrets in a variable. */
function secretsIn(name: string, value: string): readonly string[] {
	const passwords = urlPasswords(value);
	const isClear = isClearlySecret(name);
	if (passwords && !isClear) return passwords;
	const isSecret = isClear ? !isCommon(name, value) : isSecretName(name) && !isPlain(value);
	if (!isSecret) return passwords ?? [];
	const lines = value.split(/\r?\n/).map((line) => line.trim());
	const alone = [...(lines.length > 1 ? lines.filter((line) => line.length >= SHORTEST_LINE) : []), ...opaqueOf(value)];
	return [value, ...alone, ...(passwords ?? [])];
}

/** The part of a URL before its password. */
const BEFORE_PASSWORD = /:\/\/[^\s/?#@:]{0,256}:(?!\d{1,5}(?:[/?#,]|$))/g;

/** The possible passwords in the URLs of a value, also decoded; undefined: no URL has one. */
function urlPasswords(value: string): readonly string[] | undefined {
	const found = new Set<string>();
	for (const { 0: before, index } of value.matchAll(BEFORE_PASSWORD)) {
		const from = index + before.length;
		const rest = value.slice(from, from + 1024).split("://", 1)[0] ?? "";
		// It is not clear which `@` ends the password, since the password and the path may contain one: each is tried.
		for (let at = rest.indexOf("@", 1), tries = 0; at !== -1 && tries < 8; at = rest.indexOf("@", at + 1), tries++)
			for (const each of [rest.slice(0, at), decoded(rest.slice(0, at))]) found.add(each);
	}
	return found.size === 0 ? undefined : [...found].filter((each) => each.length >= SHORTEST);
}

function decoded(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

const SECRET_WORD = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH)S?$|^(?:PASS|PWD|PAT)$/;
/** Last words of a name that mean something about a secret and not the secret: `TOKEN_TYPE`. */
const ABOUT =
	/^(?:TYPE|MODE|URL|URI|FILE|PATH|DIR|NAME|USER|PROVIDER|METHOD|HOST|PORT|SOCK|ENDPOINT|TTL|EXPIRY|ALGORITHM)$/;

/** Does a name contain a word for secrets? `AUTHOR` does not count, and neither does `PWD`, the working directory of a shell. */
function isSecretName(name: string): boolean {
	const words = name.toUpperCase().split(/[^A-Z0-9]+/);
	if (words.join("_") === "PWD") return false;
	return words.some((word) => SECRET_WORD.test(word)) && !ABOUT.test(words.at(-1) ?? "");
}

const CLEARLY_SECRET =
	/(?:(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIAL|(?:API|PRIVATE|ACCESS|SECRET)_?KEY)S?|CREDS|[A-Z0-9]_(?:PASS|PWD))_?\d*$/;

/** Does a name end with a word that can only mean a secret? */
const isClearlySecret = (name: string): boolean => CLEARLY_SECRET.test(name.toUpperCase().replace(/[^A-Z0-9]+/g, "_"));

/** Is the value of a clearly secret name common all the same? A short word, a number, an address or a path without an opaque part. */
function isCommon(name: string, value: string): boolean {
	if (value.length < SHORTEST || /^[a-z_-]{8,11}$/.test(value)) return true;
	if (/tokens_?\d*$/i.test(name) && /^[\d.,_]+$/.test(value)) return true;
	if (isAddress(value)) return opaqueOf(value).length === 0;
	const parts = value.split(/[\\/]/);
	const isOfWords = parts.length > 2 && parts.every((part) => /^[\w.@~: -]*$/.test(part));
	return isPath(value) && isOfWords && !hasMixed(value, /\w{8,}/g);
}

/** Is a value ordinary text: up to three words, a number, an address, a path? */
function isPlain(value: string): boolean {
	if (value.length < SHORTEST) return true;
	if (/^[\d.,:+-]+$/.test(value)) return true;
	if (value.length <= 32 && /^\p{L}+(?:[ ._-]\p{L}+){0,2}$/u.test(value)) return true;
	if (isAddress(value)) return true;
	return isPath(value) && !hasMixed(value, /[A-Za-z0-9+]{20,}/g);
}

const isAddress = (value: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(value);
const isPath = (value: string): boolean => /^(?:\.{0,2}|~)\/|^[A-Za-z]:[\\/]/.test(value);

/** The opaque parts of an address after its host: those that are no words. */
function opaqueOf(value: string): readonly string[] {
	if (!isAddress(value)) return [];
	const runs = value.replace(/^[^:]+:\/\/[^/?#]*/, "").match(/[\w-]{12,}/g) ?? [];
	return runs.filter((run) => isMixed(run) || (run.length >= 20 && /\d|[a-z][A-Z]/.test(run) && /[a-z]/i.test(run)));
}

const hasMixed = (value: string, runs: RegExp): boolean => (value.match(runs) ?? []).some(isMixed);
const isMixed = (text: string): boolean => [/[a-z]/, /[A-Z]/, /\d/].every((each) => each.test(text));

/** The forms of a value: plain, in JSON, in JSON within JSON, and percent-encoded. */
function plainForms(value: string): readonly string[] {
	const inJson = [...new Set(jsonForms(value))];
	const sound = value.toWellFormed();
	const inAddress = [encodeURIComponent(sound), new URLSearchParams([["", sound]]).toString().slice(1)];
	const small = inAddress.map((each) => each.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()));
	return [...new Set([value, ...inJson, ...inJson.flatMap(jsonForms), ...inAddress, ...small])];
}

/** The forms of a value in JSON: the usual one, the ASCII-only one of Python and PHP, the HTML-safe one of Go; each also with `\/`. */
function jsonForms(value: string): readonly string[] {
	const usual = JSON.stringify(value).slice(1, -1);
	const ascii = usual.replace(/[^\x20-\x7e]/g, escaped);
	const html = usual.replace(/[<>&\u2028\u2029]/g, escaped);
	const all = [usual, ascii, html, ...[ascii, html].map((each) => each.replace(/\\u[\da-f]{4}/g, inCapitals))];
	return [...all, ...all.map((each) => each.replaceAll("/", "\\/"))];
}

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
const inCapitals = (code: string): string => `\\u${code.slice(2).toUpperCase()}`;

/** The base64 of a text that stands after `before` other bytes, without the characters that its neighbours share. */
function base64Of(text: string, before: number): readonly string[] {
	const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
	const own = bytes.toString("base64").slice([0, 2, 3][before], Math.floor((bytes.length * 8) / 6));
	return own.length < 10 ? [] : [own, own.replaceAll("+", "-").replaceAll("/", "_")];
}
