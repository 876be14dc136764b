/** Files of messages as the specification of a model has them: V3 and V4 write their bytes otherwise, and not each wire has files in results. */
import type { AttachedFile } from "@reyn/journal";
import type { AiSdkMessage, AiSdkModel } from "./ai-sdk-model.ts";

type Spoken = Pick<AiSdkModel, "specificationVersion" | "provider">;
type UserPart = Extract<AiSdkMessage, { role: "user" }>["content"][number];
type Output = Extract<AiSdkMessage, { role: "tool" }>["content"][number]["output"];

/** Their wires have files in the results of tools. To others these go as a user's. */
const inResults = /^(anthropic\.messages|google\.generative-ai|openai\.responses)$/;

export const takesFilesInResults = ({ provider }: Spoken): boolean => inResults.test(provider);

/** Files as parts of a user's message. */
export const fileParts = (files: readonly AttachedFile[], { specificationVersion: version }: Spoken): UserPart[] =>
	files.map(({ name, mediaType, data = new Uint8Array() }) => ({
		...{ type: "file", mediaType, filename: name },
		data: (version === "v3" ? data : { type: "data", data }) as never,
	}));

/** The output of a tool with its files. */
export function outputWith(text: string, files: readonly AttachedFile[], { specificationVersion }: Spoken): Output {
	const parts = files.map((file) => (specificationVersion === "v3" ? partOfV3(file) : partOfV4(file)));
	return { type: "content", value: [{ type: "text", text }, ...parts] as never[] };
}

function partOfV3({ name, mediaType, data = new Uint8Array() }: AttachedFile) {
	const base64 = Buffer.from(data.buffer, data.byteOffset, data.length).toString("base64");
	if (mediaType.startsWith("image/")) return { type: "image-data", data: base64, mediaType };
	return { type: "file-data", data: base64, mediaType, filename: name };
}

const partOfV4 = ({ name, mediaType, data = new Uint8Array() }: AttachedFile) => ({
	...{ type: "file", mediaType, filename: name, data: { type: "data", data } },
});
