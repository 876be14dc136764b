/** Prints what maps keep of the heap, with names that are numbers and with others: in a process of its own, where nothing else comes or goes. */
import { z } from "zod";
import { collectGarbage } from "../../../tests/kit/collect-garbage.ts";
import { type Dict, deleteIn, dictOf, emptyDict, entriesIn, setIn } from "../src/dict.ts";

type Value = { readonly n: number };

const many = 20;
const schema = dictOf(z.object({ n: z.number() }));

function dictWith(prefix: string): Dict<Value> {
	let dict: Dict<Value> = emptyDict;
	for (let n = 0; n < 2000; n++) dict = setIn(dict, `${prefix}${n}`, { n });
	return schema.parse(JSON.parse(JSON.stringify(deleteIn(dict, `${prefix}7`))));
}

async function weigh(prefix: string): Promise<{ readonly bytes: number; readonly entries: number }> {
	await collectGarbage();
	const before = process.memoryUsage().heapUsed;
	const dicts = Array.from({ length: many }, () => dictWith(prefix));
	await collectGarbage();
	const bytes = process.memoryUsage().heapUsed - before;
	return { bytes, entries: dicts.reduce((sum, dict) => sum + [...entriesIn(dict)].length, 0) };
}

await weigh("warm ");
console.log(JSON.stringify({ named: await weigh("n"), numbered: await weigh("") }));
