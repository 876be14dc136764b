/** `label`, `unlabel` and `labels`: names for moments. */

import type { Runtime } from "@reyn/runtime";
import { label as labelRecord } from "@reyn/timetravel";
import type { Seq } from "@reyn/wal";
import { z } from "zod";
import { OperatorError } from "../errors.ts";
import { flag, word } from "../param.ts";
import { parseRef } from "../refs.ts";
import { list, seq } from "../shapes.ts";
import { oneLine } from "../text.ts";
import { readVerb, writeVerb } from "../verb.ts";
import { ref } from "./ref.ts";

export const label = writeVerb({
	name: "label",
	summary: "name a moment; the name is a ref from then on",
	params: {
		ref,
		name: word("name", "letters, digits, ., _ and -", z.string()),
		move: flag("the name is of another moment, and goes to this one", z.boolean().default(false)),
	},
	example: "@ before-the-storm",
	seen: z.object({ name: z.string(), seq, was: seq.exactOptional(), tip: seq }),
	done: z.object({ name: z.string(), seq }),
	async look(runtime, { ref, name, move }) {
		const { tip } = runtime.wal;
		const found = await parseRef(ref, runtime);
		await runtime.timeline.record(found);
		if (move) return { name, seq: found, was: await labelled(runtime, name), tip };
		const known = (await runtime.timeline.labels()).find((each) => each.name === name);
		if (known && known.seq !== found)
			throw new OperatorError(
				"OPERATOR_ARGS",
				`label: "${name}" is the label of seq ${known.seq} already; choose another name, or move it with --move`,
				{ name, seq: known.seq },
			);
		return { name, seq: found, tip };
	},
	shown: ({ name, seq, was }) => [
		`#${seq} is "${name}" from then on${was === undefined ? "" : `, and #${was} no longer`}`,
	],
	async act(runtime, { name, seq, was, tip }, actor) {
		await runtime.timeline.label(seq, name, { actor, expect: tip, move: was !== undefined });
		return { name, seq };
	},
	isDoneBy: (record, { name, seq }, actor) =>
		labelRecord.is(record) &&
		record.data.name === name &&
		record.data.target === seq &&
		!record.data.gone &&
		record.data.actor === actor,
	lines: ({ name, seq }, _say, { was }) => [
		`#${seq} is "${name}" from now on${was === undefined ? "" : `, and #${was} no longer`}`,
	],
});

export const unlabel = writeVerb({
	name: "unlabel",
	summary: "take the name of a moment away; the moment stays, unless gc takes it",
	params: { name: word("name", "a label, as labels has it", z.string()) },
	example: "before-the-storm",
	seen: z.object({ name: z.string(), seq, tip: seq }),
	done: z.object({ name: z.string(), seq }),
	async look(runtime, { name }) {
		const { tip } = runtime.wal;
		return { name, seq: await labelled(runtime, name), tip };
	},
	shown: ({ name, seq }) => [`"${name}" names #${seq} no longer`],
	async act(runtime, { name, seq, tip }, actor) {
		await runtime.timeline.unlabel(name, { actor, expect: tip });
		return { name, seq };
	},
	isDoneBy: (record, { name }, actor) =>
		labelRecord.is(record) && record.data.name === name && record.data.gone === true && record.data.actor === actor,
	lines: ({ name, seq }, say) => [`"${name}" names #${seq} no longer. Go back with: ${say`undo`}`],
});

/** The seq that has a name. @throws OperatorError `OPERATOR_NOT_FOUND` */
async function labelled({ timeline }: Runtime, name: string): Promise<Seq> {
	const known = await timeline.labels();
	const found = known.find((each) => each.name === name);
	if (found) return found.seq;
	const names = known.map((each) => each.name).join(", ") || "none";
	throw new OperatorError("OPERATOR_NOT_FOUND", `there is no label "${oneLine(name, 64)}"; there are ${names}`, {
		name,
	});
}

export const labels = readVerb({
	name: "labels",
	summary: "the labels there are",
	params: {},
	example: "",
	result: list(z.object({ name: z.string(), seq })),
	read: async ({ timeline }) => (await timeline.labels()).map(({ name, seq }) => ({ name, seq })),
	lines: (found) => (found.length > 0 ? found.map(({ name, seq }) => `#${seq}  ${name}`) : ["there is no label"]),
});
