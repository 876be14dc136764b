/** Fingerprints of calls. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fingerprint } from "../src/index.ts";
import { GrowingRequest, Line } from "../src/key.ts";
import type { Message, ModelRequest } from "../src/ports.ts";

test("a fingerprint is over kind, name and arguments, whatever the order of their keys", () => {
	expect(fingerprint("model", "m", { a: 1, b: 2 })).toBe(fingerprint("model", "m", { b: 2, a: 1 }));
	expect(fingerprint("model", "m", [1, 2])).not.toBe(fingerprint("model", "m", [2, 1]));
	expect(fingerprint("model", "m", {})).not.toBe(fingerprint("tool", "m", {}));
	expect(fingerprint("model", "m", {})).not.toBe(fingerprint("model", "n", {}));
});

describe("of the requests of a loop", () => {
	const same = (requests: readonly (ModelRequest & { readonly name?: string })[]): void => {
		const growing = new GrowingRequest();
		for (const { name = "m", ...request } of requests)
			expect(growing.fingerprint(name, request)).toBe(fingerprint("model", name, request));
	};
	const message = fc.oneof(
		fc.record({ role: fc.constant("user" as const), text: fc.string({ unit: "binary" }) }),
		fc.record(
			{ text: fc.string(), role: fc.constant("note" as const), files: fc.constant(undefined) },
			{ requiredKeys: ["role", "text"] },
		),
	) as fc.Arbitrary<Message>;

	test("whatever is added, shortened, left out, or asked of another model, it is that of the whole request", () => {
		const change = fc.oneof(
			fc.record({ add: fc.array(message, { maxLength: 3 }) }),
			fc.record({ at: fc.nat(9), by: message }),
			fc.record({ drop: fc.nat(9) }),
			fc.record({ name: fc.constantFrom("m", "n"), system: fc.string() }),
			fc.record({ purpose: fc.constantFrom(undefined, "compaction" as const) }),
			fc.record({ tools: fc.constantFrom([], [{ name: "t", description: "d", parameters: {} }]) }),
		);
		fc.assert(
			fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
				let now: ModelRequest & { readonly name?: string } = { system: "", messages: [], tools: [] };
				const requests = changes.map((each) => {
					const { messages } = now;
					if ("add" in each) now = { ...now, messages: [...messages, ...each.add] };
					else if ("at" in each)
						now = { ...now, messages: messages.map((one, at) => (at === each.at ? each.by : one)) };
					else if ("drop" in each) now = { ...now, messages: messages.filter((_, at) => at !== each.drop) };
					else now = { ...now, ...each };
					return now;
				});
				same(requests);
			}),
		);
	});

	test("what is no JSON is named where it is in the whole request, and the next one is as it should be", () => {
		const growing = new GrowingRequest();
		const first = { role: "user", text: "a" } as const;
		const request = (...messages: readonly Message[]): ModelRequest => ({ system: "s", messages, tools: [] });
		growing.fingerprint("m", request(first));
		const bad = request(first, { role: "note", text: Number.NaN as unknown as string });
		expect(() => growing.fingerprint("m", bad)).toThrow(/NaN at \$\[2\]\.messages\[1\]\.text/);
		const next = request(first, { role: "note", text: "b" });
		expect(growing.fingerprint("m", next)).toBe(fingerprint("model", "m", next));
	});

	test("a message that was hashed is not looked at again", () => {
		const growing = new GrowingRequest();
		let looks = 0;
		const counted: Message = {
			role: "user",
			get text() {
				looks++;
				return "a";
			},
		};
		const messages: Message[] = [counted];
		for (let round = 0; round < 10; round++) {
			growing.fingerprint("m", { system: "", messages: [...messages], tools: [] });
			messages.push({ role: "note", text: `${round}` });
		}
		expect(looks).toBe(1);
	});
});

test("what people are shown of a call is as the log gives it back: half a character is U+FFFD, also where a text is cut", () => {
	const args = { "a\ud83d": 1, "a\udea7": 2, long: `${"x".repeat(58)}\u{1f6a7}${"x".repeat(100)}` };
	const { label, fields } = new Line().next("fp", args, "half of it \ud83d");
	expect(label).toBe("half of it \ufffd");
	expect(fields).toEqual({ "a\ufffd": "2", long: expect.stringMatching(/^"x{58}\ufffd… /) });
});
