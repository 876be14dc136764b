/** The Gemini API of Google: its stream, and what it refuses. */
import { mediaTypeOf } from "@reyn/journal/internal";
import { type Reply, type Speaker, signatureOf } from "./wire.ts";

interface Part {
	readonly text?: string;
	readonly functionCall?: { readonly name: string };
	readonly functionResponse?: { readonly name: string; readonly parts?: readonly Part[] };
	readonly inlineData?: { readonly mimeType: string; readonly data: string };
}

const finishes = { stop: "STOP", length: "MAX_TOKENS", filter: "SAFETY" } as const;

const taken = ["image/png", "image/jpeg", "image/webp", "application/pdf"];

function wrongPart({ text, inlineData, functionResponse }: Part): string | undefined {
	if (text === "") return "text must not be empty";
	if (!inlineData) return functionResponse?.parts?.map(wrongPart).find((each) => each !== undefined);
	const { mimeType, data } = inlineData;
	if (!taken.includes(mimeType)) return `Unsupported MIME type: ${mimeType}`;
	return mediaTypeOf(Buffer.from(data, "base64")) === mimeType ? undefined : `the bytes are no ${mimeType}`;
}

const isText = (value: unknown): value is string => typeof value === "string";

export const google: Speaker = {
	wrong({ contents }) {
		const all = contents as { role: string; parts: readonly Part[] }[];
		if (all[0]?.role !== "user") return "contents: the first must be of the user";
		for (const [i, { role, parts }] of all.entries()) {
			if (parts.length === 0) return `contents[${i}].parts must not be empty`;
			const wrong = parts.map(wrongPart).find((each) => each !== undefined);
			if (wrong !== undefined) return `contents[${i}]: ${wrong}`;
			const calls = parts.map(({ functionCall }) => functionCall?.name).filter(isText);
			const next = (all[i + 1]?.parts ?? []).map(({ functionResponse }) => functionResponse?.name).filter(isText);
			if (role === "model" && calls.join() !== next.join())
				return `contents[${i}]: the function responses must be as many as the function calls`;
			if (i === 0 && parts.some(({ functionResponse }) => functionResponse))
				return "contents[0]: a function response must follow its function call";
		}
		return undefined;
	},

	events({ thinking, text, calls = [], finish = "stop", reads = 48 }: Reply) {
		const chunk = (parts: readonly object[], more = {}): string =>
			`data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: "model", parts }, ...more }] })}\n\n`;
		const usageMetadata = {
			...{ promptTokenCount: reads, candidatesTokenCount: 7, cachedContentTokenCount: 8, totalTokenCount: reads + 7 },
		};
		// Whether arguments are JSON it sees to itself: such an answer ends so.
		const isBroken = calls.some(({ args }) => args !== "" && !isJson(args));
		const finishReason = isBroken ? "MALFORMED_FUNCTION_CALL" : finishes[finish];
		const end = { candidates: [{ index: 0, content: { role: "model", parts: [] }, finishReason }], usageMetadata };
		const signed = thinking === undefined ? {} : { thoughtSignature: signatureOf(thinking) };
		return [
			...(thinking === undefined ? [] : [chunk([{ text: thinking, thought: true }])]),
			...(text === undefined ? [] : [text.slice(0, 3), text.slice(3)].map((piece) => chunk([{ text: piece }]))),
			...(isBroken ? [] : calls).map(({ id, name, args }) =>
				chunk([{ functionCall: { id, name, args: JSON.parse(args || "{}") }, ...signed }]),
			),
			`data: ${JSON.stringify(end)}\n\n`,
		];
	},

	error: (error) => `data: ${JSON.stringify({ error })}\n\n`,
};

function isJson(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}
