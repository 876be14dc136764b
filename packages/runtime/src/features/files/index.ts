/** Files: what tools have changed in them, and what they held before, which is kept beside the log. */
import { spilledResults } from "@reyn/journal";
import { fileChangeOf, imageNameOf } from "@reyn/journal/internal";
import type { Feature, FeatureHost } from "../../kernel/feature.ts";
import { IMAGES } from "../../kernel/store.ts";
import type { FilesEvent } from "./events.ts";
import { FileHistory, type FileHistoryOptions } from "./file-history.ts";
import { FileRestore } from "./file-restore.ts";
import { fileWrites, imagesAt } from "./file-writes.ts";

export interface FileHost extends FeatureHost {
	readonly history: FileHistory;
	readonly restore: FileRestore;
}

/** @param isHarmless does a tool of this name change no file? */
export function filesFeature(options: FileHistoryOptions, isHarmless: (tool: string) => boolean): Feature<FileHost> {
	return {
		name: "files",
		projections: [fileWrites],
		blobs: [
			{
				area: IMAGES,
				isName: spilledResults.isName,
				ofRecord: (said) => imageNameOf(fileChangeOf(said) ?? {}),
				ofView: () => [],
				ofLog: (view, moments) => imagesAt(view.get(fileWrites).writes, moments),
			},
		],
		start(kernel) {
			const history = new FileHistory(kernel, options, isHarmless);
			const restore = new FileRestore(kernel, history, options.files);
			return {
				...{ history, restore },
				moved: (move) => restore.moved(move),
				async opened() {
					// Nobody has asked for it in this process.
					const done = restore.doneFrom(0);
					if (done) kernel.emit<FilesEvent>({ type: "files_restored", ...done });
				},
			};
		},
	};
}
