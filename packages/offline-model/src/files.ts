/** Says which files it was given, and that it does not see them: it reads texts alone. */
import type { AttachedFile, Message, ModelRequest } from "@reyn/journal";
import { labelOf } from "@reyn/journal/internal";

/** A request of texts, and the files that were given with what is asked. The lines that stand for files are no words of a question. */
export function withoutFiles(request: ModelRequest): {
	readonly request: ModelRequest;
	readonly files: readonly AttachedFile[];
} {
	const asked = request.messages.findLastIndex(({ role }) => role === "user");
	const files = request.messages.slice(Math.max(0, asked)).flatMap(filesOf);
	return { request: { ...request, messages: request.messages.map(textOf) }, files };
}

/** A request as its key is made of it: with the names of files, without their bytes. */
export const asRecorded = (request: ModelRequest): ModelRequest => ({
	...request,
	messages: request.messages.map((message) => {
		const files = filesOf(message);
		return files.length === 0 ? message : { ...message, files: files.map(({ data: _, ...file }) => file) };
	}),
});

export const unseen = (files: readonly AttachedFile[]): readonly string[] =>
	files.length === 0 ? [] : [`I was given ${files.map(labelOf).join(", ")}, and do not see it: I read texts alone.`];

const filesOf = (message: Message): readonly AttachedFile[] => ("files" in message ? (message.files ?? []) : []);

function textOf(message: Message): Message {
	const labels = filesOf(message).map(labelOf);
	if (labels.length === 0) return message;
	const { files: _, ...rest } = message as Message & { role: "user" };
	if (message.role !== "user") return rest;
	return {
		...rest,
		text: rest.text
			.split("\n")
			.filter((line) => !labels.includes(line))
			.join("\n"),
	};
}
