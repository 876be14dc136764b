/** What a model gets of the files of a request: their bytes, or a line of text in their place. */
import type { BlobStore } from "@reyn/wal";
import { type AttachedFile, notTaken, readAttached } from "./attached-file.ts";
import { JournalError } from "./errors.ts";
import type { Message, Model, ModelRequest } from "./ports.ts";

type Taker = Pick<Model, "id" | "accepts">;

/** The files of a message. */
export const filesIn = (message: Message): readonly AttachedFile[] => ("files" in message ? (message.files ?? []) : []);

/**
 * A request with the bytes of its files. One that is lost, or that the model does not take, is a line of text in its message.
 *
 * @returns the request itself, at once, where it has no files
 * @throws JournalError `FILE_LOST` where it belongs to what a person asked last: an answer without it is to another question
 */
export function withBytes(
	request: ModelRequest,
	model: Taker,
	files?: BlobStore,
): ModelRequest | Promise<ModelRequest> {
	return request.messages.some((each) => filesIn(each).length > 0) ? loaded(request, model, files) : request;
}

async function loaded(request: ModelRequest, model: Taker, files?: BlobStore): Promise<ModelRequest> {
	const { messages } = request;
	const last = messages.findLastIndex(({ role }) => role === "user");
	const shown: Message[] = [];
	for (const [at, message] of messages.entries()) shown.push(await shownOf(message, at === last, model, files));
	return { ...request, messages: shown };
}

async function shownOf(
	message: Message,
	isAsked: boolean,
	{ id, accepts = [] }: Taker,
	files?: BlobStore,
): Promise<Message> {
	if (filesIn(message).length === 0) return message;
	const shown: AttachedFile[] = [];
	const lines: string[] = [];
	for (const file of filesIn(message)) {
		const { name, mediaType, sha256 } = file;
		if (!accepts.includes(mediaType)) {
			lines.push(`(${name} is not shown: ${notTaken(id, accepts)})`);
			continue;
		}
		const read = await readAttached(file, files).catch((error) => {
			// A disk that does not read now may do so later.
			throw Object.assign(error as Error, { retryable: true });
		});
		if (read.kind === "sound") shown.push({ ...file, data: read.data });
		else if (!isAsked) lines.push(`(${name} is not shown: it ${read.why})`);
		else throw lost(`the file ${name} of this prompt ${read.why}: give it again with a new prompt`, sha256);
	}
	return withFiles(message, shown, lines);
}

/** A message with other files, and lines about those that are not shown. */
export function withFiles(message: Message, files: readonly AttachedFile[], lines: readonly string[]): Message {
	const { files: _, ...rest } = message as Message & { role: "user" };
	const text = [...(rest.text === "" ? [] : [rest.text]), ...lines].join("\n");
	return { ...rest, text, ...(files.length > 0 ? { files } : {}) };
}

const lost = (text: string, sha256: string): JournalError =>
	Object.assign(new JournalError("FILE_LOST", text, { sha256 }), { retryable: false });
