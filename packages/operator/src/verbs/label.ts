/** `label` and `labels`: names for moments. */

import { label as labelRecord } from "@reyn/timetravel";
import { z } from "zod";
import { word } from "../param.ts";
import { parseRef } from "../refs.ts";
import { list, seq } from "../shapes.ts";
import { readVerb, writeVerb } from "../verb.ts";
import { ref } from "./ref.ts";

export const label = writeVerb({
	name: "label",
	summary: "name a moment; the name is a ref from then on",
	params: { ref, name: word("name", "letters, digits, ., _ and -", z.string()) },
	example: "@ before-the-storm",
	seen: z.object({ name: z.string(), seq, tip: seq }),
	done: z.object({ name: z.string(), seq }),
	async look(runtime, { ref, name }) {
		const found = await parseRef(ref, runtime);
		await runtime.timeline.record(found);
		return { name, seq: found, tip: runtime.wal.tip };
	},
	shown: ({ name, seq }) => [`#${seq} is "${name}" from then on`],
	async act(runtime, { name, seq, tip }, actor) {
		await runtime.timeline.label(seq, name, { actor, expect: tip });
		return { name, seq };
	},
	isDoneBy: (record, { name, seq }, actor) =>
		labelRecord.is(record) && record.data.name === name && record.data.target === seq && record.data.actor === actor,
	lines: ({ name, seq }) => [`#${seq} is "${name}" from now on`],
});

export const labels = readVerb({
	name: "labels",
	summary: "the labels there are",
	params: {},
	example: "",
	result: list(z.object({ name: z.string(), seq })),
	read: async ({ timeline }) => (await timeline.labels()).map(({ name, seq }) => ({ name, seq })),
	lines: (found) => (found.length > 0 ? found.map(({ name, seq }) => `#${seq}  ${name}`) : ["there is no label"]),
});
