/** A list of 100,000 rows is searched by the first key: what that needs was made before, a little at a time. */
import { expect, test } from "vitest";
import { type Dialog, drawDialog, pickerOf, stepDialog } from "../../src/chat/dialogs.ts";
import { Labels, prepareWhileIdle } from "../../src/chat/labels.ts";
import { uncoloured } from "../../src/chat/text.ts";

const COUNT = 100_000;

/** A list that counts what is asked of it. */
function counted() {
	const asked = { rows: 0, texts: 0 };
	const row = (index: number): string => `#${index} ${index % 100 === 7 ? "Zod" : "any"}`;
	const list = {
		title: "Go back to",
		count: COUNT,
		row(index: number) {
			asked.rows++;
			return row(index);
		},
		text(index: number) {
			asked.texts++;
			return row(index);
		},
	};
	return { asked, list };
}

/** What is done later, when a test says so. */
function queue() {
	const waiting: (() => void)[] = [];
	return { waiting, later: (act: () => void) => waiting.push(act), next: () => waiting.shift()?.() };
}

const room = { columns: 79, rows: 14, look: uncoloured };

function typed(dialog: Dialog, text: string): Dialog {
	const stepped = stepDialog(dialog, { name: "text", text }, 10, room);
	if (!("dialog" in stepped)) throw new Error("it was answered");
	drawDialog(stepped.dialog, room);
	return stepped.dialog;
}

test("opened, it asks for the rows that are seen; idle, for all, a slice at a time; searched, for none", () => {
	const { asked, list } = counted();
	const picker = pickerOf(list);
	drawDialog(picker, room);
	expect(asked).toEqual({ rows: 12, texts: 0 });
	const { waiting, later, next } = queue();
	prepareWhileIdle(picker.labels, () => true, later);
	for (let before = 0; waiting.length > 0; before = asked.texts) {
		next();
		expect(asked.texts - before).toBeLessThanOrEqual(2000);
	}
	expect(asked.texts).toBe(COUNT);
	const found = typed(typed(picker, "/"), "zod");
	expect(found).toMatchObject({ query: "zod", hits: { length: COUNT / 100 } });
	expect(asked).toEqual({ rows: 12 + 12 + 12, texts: COUNT });
});

test("searched before that, it asks for the rest, and for each row once", () => {
	const { asked, list } = counted();
	const picker = pickerOf(list);
	const { later, next } = queue();
	prepareWhileIdle(picker.labels, () => true, later);
	next();
	const found = typed(typed(picker, "/z"), "od");
	expect(found).toMatchObject({ hits: { length: COUNT / 100 } });
	next();
	expect(asked.texts).toBe(COUNT);
});

test("once it is closed, nothing is made any more", () => {
	const { asked, list } = counted();
	let isOpen = true;
	const { waiting, later, next } = queue();
	prepareWhileIdle(new Labels(list), () => isOpen, later);
	next();
	isOpen = false;
	next();
	expect([asked.texts, waiting]).toEqual([2000, []]);
});
