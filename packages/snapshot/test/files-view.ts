/** A view of some files, as from nowhere: its records were checked by no log. */
import { fileChanged, files } from "../src/files/index.ts";
import { View } from "../src/index.ts";

export function viewOf(contents: Readonly<Record<string, string>>): View {
	let view = View.empty({}, [files]);
	for (const [path, content] of Object.entries(contents)) {
		const { kind, data } = fileChanged({ path, content });
		view = view.apply({ seq: view.seq + 1, ts: 0, kind, scope: {}, data, crc: "00000000" });
	}
	return view;
}
