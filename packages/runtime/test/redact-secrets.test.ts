/** What redaction takes out of texts, and what it leaves. */
import { describe, expect, test } from "vitest";
import { seeded } from "../../../tests/kit/seeded.ts";
import { redactSecrets } from "../src/index.ts";

const long = (length: number, of = "aB3"): string => of.repeat(length).slice(0, length);
const shapes: readonly (readonly [kind: string, secret: string])[] = [
	["Anthropic key", `sk-ant-api03-${long(40)}`],
	["API key", `sk-proj-${long(40)}`],
	["API key", `sk-${long(48)}`],
	["GitHub token", `ghp_${long(36)}`],
	["GitHub token", `gho_${long(36)}`],
	["GitHub token", `github_pat_${long(22)}_${long(59)}`],
	["GitLab token", `glpat-${long(20)}`],
	["npm token", `npm_${long(36)}`],
	["Hugging Face token", `hf_${long(34)}`],
	["Slack token", `xoxb-${long(12, "123")}-${long(24)}`],
	["Stripe key", `sk_live_${long(24)}`],
	["Stripe key", `rk_live_${long(24)}`],
	["AWS key id", "AKIAIOSFODNN7EXAMPLE"],
	["AWS key id", "ASIAIOSFODNN7EXAMPLE"],
	["Google key", `AIza${long(35)}`],
	["JWT", `eyJ${long(17)}.eyJ${long(30)}.${long(43)}`],
	["private key", `-----BEGIN RSA PRIVATE KEY-----\n${long(64)}\n${long(12)}==\n-----END RSA PRIVATE KEY-----`],
	["private key", `-----BEGIN OPENSSH PRIVATE KEY-----\\n${long(64)}\\n-----END OPENSSH PRIVATE KEY-----`],
];

describe("what has the shape of a key", () => {
	const redact = redactSecrets();

	test.each(shapes)("is taken out wherever it stands: %s %s", (kind, secret) => {
		for (const [before, after] of [
			["", ""],
			["the key is ", ", it says"],
			['{"key":"', '"}'],
			["KEY=", "\n"],
			["\\n", "\\n"],
			["(", ")"],
		] as const)
			expect(redact(before + secret + after)).toBe(`${before}[redacted ${kind}]${after}`);
		expect(redact(`${secret} ${secret}`)).toBe(`[redacted ${kind}] [redacted ${kind}]`);
	});

	test.each([
		["Authorization: Bearer abcdef.ghi", "Authorization: Bearer [redacted authorization]"],
		['{"authorization":"Basic dXNlcjpwYXNz"}', '{"authorization":"Basic [redacted authorization]"}'],
		[`curl -H 'X: Bearer ${long(24)}'`, "curl -H 'X: Bearer [redacted bearer token]'"],
		["postgres://me:s3cret@host/db", "postgres://me:[redacted password]@host/db"],
		["redis://:s3cret@host", "redis://:[redacted password]@host"],
		["postgres://u:s3c#ret/Pw?9@host/db or", "postgres://u:[redacted password]@host/db or"],
		["pg://u:p@ss#w0rd@h:5432/db", "pg://u:[redacted password]@h:5432/db"],
		["http://h:80,http://u:pw@h", "http://h:80,http://u:[redacted password]@h"],
	])("loses the secret alone: %s", (text, left) => {
		expect(redact(text)).toBe(left);
	});

	test.each([
		[`-----BEGIN PRIVATE KEY-----\n${long(64)}\n${long(64)}\nand so on`, "[redacted private key]\nand so on"],
		[`1: -----BEGIN PRIVATE KEY-----\n2: ${long(64)}\nwords`, "1: [redacted private key]\nwords"],
		["look for -----BEGIN PRIVATE KEY----- in it", "look for [redacted private key] in it"],
	])("is taken out as far as it goes where it was cut off: %j", (text, left) => {
		expect(redact(text)).toBe(left);
	});

	test.each([
		"risk-management-framework-for-enterprises",
		"task-2026-11-22-some-long-name-of-a-task",
		"http://localhost:8080/a?b=c@d",
		"https://registry:443/@scope/name, http://h:80 me@example.com",
		"npm_config_cache npm_lifecycle_event",
		"the bearer of this letter; Bearer authentication, Basic authentication",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"AKIA, sk-, ghp_ and eyJ are how they begin",
	])("is no other text: %s", (text) => {
		expect(redact(text)).toBe(text);
	});
});

describe("the environment", () => {
	const VALUE = 'Tr0ub4dor "&" 3\\/+é';

	test.each([
		["as it is", VALUE],
		["in JSON", JSON.stringify(VALUE).slice(1, -1)],
		["in an address", encodeURIComponent(VALUE)],
	])("has secrets that are found %s", (_, form) => {
		expect(redactSecrets({ DEPLOY_TOKEN: VALUE })(`a ${form} b`)).toBe("a [redacted DEPLOY_TOKEN] b");
	});

	const php = (text: string): string => JSON.stringify(text).replaceAll("/", "\\/");
	const ascii = (text: string): string => text.replaceAll("é", "\\u00e9");
	test.each([
		["as PHP has it", ascii(php(VALUE)).slice(1, -1)],
		["as Python has it", ascii(JSON.stringify(VALUE)).slice(1, -1)],
		["in capitals", JSON.stringify(VALUE).replaceAll("é", "\\u00E9").slice(1, -1)],
		["as Go has it", JSON.stringify(VALUE).replaceAll("&", "\\u0026").slice(1, -1)],
		["in JSON within JSON", JSON.stringify(JSON.stringify(VALUE)).slice(3, -3)],
		["in PHP's within Python's", JSON.stringify(ascii(php(VALUE))).slice(3, -3)],
		["in an address in small letters", encodeURIComponent(VALUE).replace(/%../g, (code) => code.toLowerCase())],
		["in a form", `${new URLSearchParams({ a: VALUE })}`.slice(2)],
	])("has secrets that are found %s", (_, form) => {
		expect(redactSecrets({ DEPLOY_TOKEN: VALUE })(`a ${form} b`)).toBe("a [redacted DEPLOY_TOKEN] b");
	});

	test.each(["\n", "\r\n", "\\n", "\\\\r\\\\n", "\n    "])(
		"has secrets that are found in lines of base64, with %j",
		(line) => {
			const redact = redactSecrets({ DEPLOY_TOKEN: VALUE, OTHER_TOKEN: "another-v4lue" });
			for (let before = 40; before < 64; before++) {
				const inBase64 = Buffer.from(`${"u".repeat(before)}${VALUE}${"v".repeat(90)}another-v4lue!`).toString("base64");
				const left = redact(`first:${line}${inBase64.replace(/.{76}/g, `$&${line}`)}${line}last`);
				expect(left).toMatch(/\[redacted DEPLOY_TOKEN\].*\[redacted OTHER_TOKEN\]/s);
				// What is not secret stays, line breaks too.
				expect(left.replaceAll(line, "")).toBe(`first:${redact(inBase64)}last`);
				expect([left.startsWith(`first:${line}dXV1`), left.endsWith(`${line}last`)]).toEqual([true, true]);
			}
		},
	);

	test.each([0, 1, 2])("has secrets that are found in base64 behind %d bytes", (n) => {
		const redact = redactSecrets({ DEPLOY_TOKEN: VALUE });
		for (const encoding of ["base64", "base64url"] as const)
			expect(redact(Buffer.from(`${"u".repeat(n)}${VALUE}tail`).toString(encoding))).toContain(
				"[redacted DEPLOY_TOKEN]",
			);
	});

	test("has the lines of a key, each found alone, and passwords in addresses", () => {
		const redact = redactSecrets({
			SIGNING_KEY: `${long(64)}\n${long(30, "xY9")}\nend`,
			DATABASE_URL: "pg://u:pa55word!@h",
		});
		expect(redact(`2: ${long(30, "xY9")}; pa55word!`)).toBe("2: [redacted SIGNING_KEY]; [redacted DATABASE_URL]");
	});

	test.each([
		"API_KEY",
		"GITHUB_TOKEN",
		"AWS_SECRET_ACCESS_KEY",
		"DB_PASSWORD",
		"MYSQL_PWD",
		"APP_CREDENTIALS",
		"npm_config_//registry/:_authToken",
		"BASIC_AUTH",
	])("is secret where its name says so: %s", (name) => {
		expect(redactSecrets({ [name]: "v4lue-of-it" })("v4lue-of-it")).toBe(`[redacted ${name.replace(/\W/g, "_")}]`);
	});

	test.each([
		["SMTP_PASSWORD", "qwhzkxvmpljdnrtb"],
		["DB_PASSWORD", "correct-horse-battery"],
		["DB_PASS", "correct.horse"],
		["DB_PWD", "CorrectHorse"],
		["ROOT_PASSWD", "20261122"],
		["ACCESS_TOKEN", "9182736455463728"],
		["API_KEY", "/ab/cd+ef=gh-1234"],
		["PRIVATE_KEY", "/aB3dE/fGh1jKlMn0p/q"],
		["CREDENTIALS", "my dog eats pie"],
		["TOKEN_2", "qwhzkxvmpljdnrtb"],
		["SLACK_SECRET", "https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/abcDEFghiJKLmnoPQRstuVWX"],
		["HOOK_SECRET", "https://example.com/hook?token=abcDEF123456789"],
	])("is secret for a name that says nothing else, however plain it looks: %s=%s", (name, value) => {
		expect(redactSecrets({ [name]: value })(`a ${value} b`)).toBe(`a [redacted ${name}] b`);
	});

	test("has passwords of addresses whatever is in them, also decoded", () => {
		const redact = redactSecrets({
			DATABASE_URL: "postgres://u:s3c#r?t/[p@ss]@h/db?to=me@x",
			MONGO: "m://u:p%40ssw0rd@h",
		});
		expect(redact("it is s3c#r?t/[p@ss], p%40ssw0rd, p@ssw0rd")).toBe(
			"it is [redacted DATABASE_URL], [redacted MONGO], [redacted MONGO]",
		);
	});

	test("has long secrets, of which a beginning of 256 characters is known, as far as it goes on", () => {
		const value = `${long(300)}é${long(400, "q1R")}`;
		const redact = redactSecrets({ A_TOKEN: value, B_TOKEN: `${value.slice(0, 280)}!` });
		expect(redact(`a ${value} b`)).toBe("a [redacted A_TOKEN] b");
		expect(redact(`a ${value.slice(0, 500)} b`)).toBe("a [redacted A_TOKEN] b");
		expect(redact(`a ${value.slice(0, 280)}! b`)).toBe("a [redacted B_TOKEN] b");
	});

	test.each([
		["PWD", "/home/jane/MyProject2024BackupFolder"],
		["OLDPWD", "/home/jane/MyProject2024BackupFolder"],
		["DB_PASSWORD", "password"],
		["SECRET", "disabled"],
		["MAX_TOKENS", "200000000"],
		["GOOGLE_APPLICATION_CREDENTIALS", "/home/jane/keys/service-account.json"],
		["TOKEN_FILE", "/run/aB3dEfGhIjKlMnOpQrStUv/token"],
		["GIT_AUTHOR_EMAIL", "jane@example.com"],
		["SSH_AUTH_SOCK", "/tmp/ssh-aB3dEf/agent.12"],
		["KEYBOARD_LAYOUT", "us-dvorak-1"],
		["AUTH_MODE", "oauth2-proxy"],
		["AUTH_TOKEN", "side_effect"],
		["TOKEN_LIMIT_KEY", "200000000"],
		["SOME_TOKEN", "true"],
		["SOME_KEY", "short-1"],
		["KEY_DIRECTORY_KEY", "/home/jane/Keys2026/mine"],
		["TOKEN_SECRET", "https://example.com/token1"],
		["HOME", "/home/jane"],
	])("is not secret for its name or value: %s=%s", (name, value) => {
		expect(redactSecrets({ [name]: value })(`a ${value} b`)).toBe(`a ${value} b`);
	});

	test("has many secrets, of which the longest is found", () => {
		const environment = { A_KEY: "common-1", B_KEY: "common-1-and-more", C_KEY: "other-22" };
		const redact = redactSecrets(environment);
		expect(redact("common-1-and-more common-1-and common-1")).toBe(
			"[redacted B_KEY] [redacted A_KEY]-and [redacted A_KEY]",
		);
	});
});

test("what was taken out stays as it is, whatever stands around it", () => {
	const environment = {
		A_KEY: "s3cret-value",
		B_KEY: 'x"y\\z-1234',
		PIN_KEY: "redacted A_KEY",
		PIN_TOKEN: "authorization",
		C_TOKEN: "bearer token",
		D_TOKEN: "A_KEY] s3cret",
	};
	const redact = redactSecrets(environment);
	const pieces = [
		...shapes.map(([, secret]) => secret),
		...Object.values(environment),
		...[
			" ",
			"\n",
			"-",
			"_",
			".",
			"://u:",
			"@",
			"Bearer ",
			"authorization: basic ",
			"[redacted",
			"]",
			"\\n",
			"a",
			"é",
			"1",
			"#",
			Buffer.from("s3cret-value").toString("base64"),
			"czNjcmV0\nLXZhbHVl",
		],
	];
	const random = seeded(1);
	for (let i = 0; i < 3000; i++) {
		const text = Array.from({ length: random.below(12) }, () => random.pick(pieces)).join("");
		const once = redact(text);
		expect(redact(once)).toBe(once);
		expect(once).not.toContain("s3cret-value");
	}
});

/** What is made to be read again and again, or without end; what takes time with the square of its length never ends here. */
test.each([
	...[
		" ",
		"sk-",
		"eyJ_",
		"_eyJ",
		"eyJaaaaaaaaaaa.",
		"-----BEGIN PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\n",
		"-----",
	],
	...["://", "://a:b", "authorization: bearer ", "bearer a", "s3cret-valu"],
	...["sk-1", "-----BEGIN PRIVATE KEY-----", "eyJ", "Bearer 1", "://a:"].map((head) => [head, "a"] as const),
])("a megabyte of %j is read once", (piece) => {
	const [head, rest] = typeof piece === "string" ? ["", piece] : piece;
	const text = head + rest.repeat((1 << 20) / rest.length);
	expect(typeof redactSecrets({ A_KEY: "s3cret-value" })(text)).toBe("string");
});

test("no character is read again and again for a value that repeats itself, nor for many that begin alike", () => {
	const long = (value: string) => `${value}1`;
	const environment = {
		A_TOKEN: long("a".repeat(2000)),
		B_TOKEN: long("a".repeat(200)),
		C_TOKEN: long("ab".repeat(2000)),
		...Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`D${i}_TOKEN`, `${"b".repeat(200)}${i}`])),
	};
	const redact = redactSecrets(environment);
	const { charCodeAt } = String.prototype;
	for (const piece of ["a", "ab", `${"b".repeat(199)}a`, `${"a".repeat(255)}b`]) {
		const text = piece.repeat(20_000 / piece.length);
		let reads = 0;
		String.prototype.charCodeAt = function (at) {
			reads++;
			return charCodeAt.call(this, at);
		};
		try {
			redact(text);
		} finally {
			String.prototype.charCodeAt = charCodeAt;
		}
		expect(reads).toBeLessThan(12 * text.length);
	}
});
