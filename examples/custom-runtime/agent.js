/** An agent under a runtime of its own: killed anywhere it goes on, and to any state that it had it can go back. */
import { createInterface } from "node:readline";
import { defineProjection, fileSnapshots, List } from "@reyn/snapshot";
import { openTimeline, timetravelRecords } from "@reyn/timetravel";
import { defineRecord, openWal } from "@reyn/wal";
import { z } from "zod";
import { count, think } from "./model.js";

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

let turn; // the turn that runs, if one does
const wal = await openWal("state", { records: [asked, planned, counted, answered, ...timetravelRecords] });
const timeline = await openTimeline({
	wal,
	snapshots: fileSnapshots("state/snapshots"),
	projections: [talk],
});
timeline.attend({
	async quiet() {
		turn?.stop.abort();
		await turn?.ended;
		return () => {}; // nothing begins by itself meanwhile
	},
	rebuild: async () => crash(),
});
await timeline.settle();
const live = await timeline.live(scope); // the state now, and after every rewind

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
await turn?.ended;
await wal.close();

async function command(line) {
	const [verb, seq] = line.split(" ");
	if (verb === "--log") return show();
	if (Object.hasOwn(moves, verb)) await moves[verb](Number(seq)).then(showNow, refused);
	else if (line) await ask(line);
	goOn();
}

/** It was no place to go to, and nothing has changed. */
function refused(error) {
	if (!["TIMETRAVEL_OUT_OF_RANGE", "TIMETRAVEL_NOT_ACTIVE", "NOTHING_TO_UNDO"].includes(error.code)) throw error;
	console.log(error.message);
}

/** A question waits for the turn before it; a rewind does not. */
async function ask(question) {
	goOn();
	await turn?.ended;
	await keep(live.handle(), asked({ question }));
}

function goOn() {
	if (turn || !live.view.get(talk).open) return;
	const stop = new AbortController();
	const ended = work(stop.signal)
		.catch((error) => {
			if (!stop.signal.aborted) throw error;
		})
		.finally(() => {
			turn = undefined;
		});
	turn = { stop, ended };
}

/** A turn, or what is left of it: the state says what comes next, so to begin and to go on are the same. */
async function work(signal) {
	const handle = live.handle(); // after a rewind it appends nothing more
	for (let now = live.view.get(talk); now.open; now = live.view.get(talk)) {
		signal.throwIfAborted();
		const [word] = now.todo;
		if (word !== undefined) await keep(handle, counted(count(word)));
		else {
			const reply = await think(now.lines.toArray(), signal);
			await keep(handle, reply.words ? planned(reply) : answered(reply));
		}
	}
}

/** On disk before anything else happens: what the model said is not asked for again. */
async function keep(handle, draft) {
	const { record, durable } = handle.append(draft, scope);
	const { who, text } = live.view.get(talk).lines.at(-1);
	const kind = boundaries[record.kind];
	if (kind) await timeline.checkpoint(kind, `${who}: ${text}`, scope, live.view);
	await durable;
	console.log(`${who}: ${text}`);
	crash();
}

function show() {
	for (const { seq, kind, title, active } of timeline.checkpoints(scope))
		console.log(`${active ? "*" : " "} ${String(seq).padStart(3)}  ${kind.padEnd(9)}  ${title}`);
	showNow();
}

function showNow() {
	const { lines } = live.view.get(talk);
	console.log(`now: ${lines.length} lines, state ${live.view.hash().slice(0, 8)}`);
}

/** `CRASH=record` ends the process after its next record as a power failure would; `CRASH=call` is in `model.js`. */
function crash() {
	if (process.env.CRASH === "record") process.kill(process.pid, "SIGKILL");
}
