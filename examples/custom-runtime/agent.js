/** An agent under a runtime of its own: killed anywhere it goes on, and to any state that it had it can go back. */
import { createInterface } from "node:readline";
import { defineProjection, fileSnapshots, List } from "@reyn/snapshot";
import { openSession, openTimeline, timetravelRecords } from "@reyn/timetravel";
import { defineRecord, openWal } from "@reyn/wal";
import { z } from "zod";
import { count, crash, think } from "./model.js";

const asked = defineRecord("asked", z.object({ question: z.string() }));
const planned = defineRecord("planned", z.object({ words: z.array(z.string()) }));
const counted = defineRecord("counted", z.object({ word: z.string(), letters: z.int() }));
const answered = defineRecord("answered", z.object({ answer: z.string() }));

/** All that the agent knows. A turn is open from question to answer; `todo` are the words that are still to be counted. */
const talk = defineProjection({
	name: "talk",
	version: 1,
	schema: z.object({ open: z.boolean(), todo: z.array(z.string()) }),
	lists: { lines: z.object({ who: z.enum(["you", "plan", "tool", "agent"]), text: z.string() }) },
	init: () => ({ open: false, todo: [], lines: List.of() }),
	handle: (on) => [
		on(asked, ({ lines }, { question }) => ({ open: true, todo: [], lines: say(lines, "you", question) })),
		on(planned, ({ open, lines }, { words }) => ({ open, todo: words, lines: say(lines, "plan", words.join(", ")) })),
		on(counted, ({ open, todo, lines }, { word, letters }) => {
			return { open, todo: todo.slice(1), lines: say(lines, "tool", `${word} ${letters}`) };
		}),
		on(answered, ({ lines }, { answer }) => ({ open: false, todo: [], lines: say(lines, "agent", answer) })),
	],
});
const say = (lines, who, text) => lines.append({ who, text });

/** What a record is the end of. A question ends nothing: one goes back to before it. */
const boundaries = { planned: "phase", counted: "plan_step", answered: "turn" };
const scope = { agent: "counter", session: "main" };

const wal = await openWal("state", { records: [asked, planned, counted, answered, ...timetravelRecords] });
const timeline = await openTimeline({ wal, snapshots: fileSnapshots("state/snapshots"), projections: [talk] });
timeline.attend({ quiet: async () => () => {}, rebuild: async () => crash("record") }); // beside the session there is nothing
await timeline.settle();
const session = await openSession(timeline, scope); // the state now, and after every rewind

const moves = {
	"--rewind": (seq) => timeline.rewindTo(seq),
	"--checkout": (seq) => timeline.checkout(seq),
	"--undo": () => timeline.undo(),
};
const line = process.argv.slice(2).join(" ");
if (line) await command(line);
else {
	goOn();
	for await (const typed of createInterface({ input: process.stdin })) await command(typed);
}
await session.idle();
await wal.close();

async function command(line) {
	const [verb, seq] = line.split(" ");
	if (verb === "--log") return show();
	if (Object.hasOwn(moves, verb)) await moves[verb](Number(seq)).then(showNow, ({ message }) => console.log(message));
	else if (line) {
		goOn();
		await session.idle(); // a question waits for the turn before it; a rewind does not
		await keep(session.log, asked({ question: line }));
	}
	goOn();
}

/** A turn, or what is left of it: the state says what comes next, so to begin and to go on are the same. */
function goOn() {
	session.begin("turn", { scope }, async (signal, log) => {
		for (let now = session.view.get(talk); now.open && !signal.aborted; now = session.view.get(talk)) {
			const [word] = now.todo;
			const reply = word === undefined ? await think(now.lines.toArray(), signal) : undefined;
			await keep(log, reply ? (reply.words ? planned(reply) : answered(reply)) : counted(count(word)));
		}
	});
}

/** On disk before anything else happens: what the model said is not asked for again. */
async function keep(log, draft) {
	const { record, durable } = log.append(draft, scope);
	const { who, text } = session.view.get(talk).lines.at(-1);
	const kind = boundaries[record.kind];
	if (kind) await session.checkpoint(kind, `${who}: ${text}`);
	await durable;
	console.log(`${who}: ${text}`);
	crash("record");
}

function show() {
	for (const { seq, kind, title, active } of timeline.checkpoints(scope))
		console.log(`${active ? "*" : " "} ${String(seq).padStart(3)}  ${kind.padEnd(9)}  ${title}`);
	showNow();
}

function showNow() {
	const { lines } = session.view.get(talk);
	console.log(`now: ${lines.length} lines, state ${session.view.hash().slice(0, 8)}`);
}
