/** A support bot under a runtime of its own: `node bot.js ask <text> | compare | report | rewind <seq> | undo | log`; alone it goes on. */
import { agentLoop, journal, journalRecords, Lane, laneClosed, stepOutcomes, stepPorts } from "@reyn/journal";
import { inFlight, planRecords, planRuns, runPlanIn } from "@reyn/plan";
import { applyRewind, facetsOf, previewRewind, rewindRecords } from "@reyn/rewind-modes";
import { inFlightRuns, runSkillIn, skillRecords, skillRuns } from "@reyn/skill-resume";
import { defineProjection, fileSnapshots } from "@reyn/snapshot";
import { openSession, openTimeline, timetravelRecords } from "@reyn/timetravel";
import { defineRecord, fileBlobs, openWal } from "@reyn/wal";
import { z } from "zod";
import { comparison, model } from "./model.js";
import { lookUp, refund, report } from "./shop.js";

const asked = defineRecord("asked", z.object({ text: z.string() }));
const answered = defineRecord("answered", z.object({ of: z.string(), text: z.string() }));

/** What was said, and the question that nobody has answered. */
const talk = defineProjection({
	name: "talk",
	version: 1,
	schema: z.object({ open: z.string().optional(), lines: z.array(z.object({ of: z.string(), text: z.string() })) }),
	init: () => ({ lines: [] }),
	handle: (on) => [
		on(asked, ({ lines }, { text }, { seq }) => ({ open: `turn/${seq}`, lines: [...lines, { of: "user", text }] })),
		on(answered, ({ open, lines }, line) => ({ ...(open !== line.of && { open }), lines: [...lines, line] })),
	],
});

const work = [...journalRecords, ...planRecords, ...skillRecords]; // glue
const scope = { agent: "support", session: "main" };
const facets = facetsOf({ conversation: [asked, answered], code: work }); // glue
const wal = await openWal("state", { records: [asked, answered, ...work, ...timetravelRecords, ...rewindRecords] }); // glue
const timeline = await openTimeline({
	wal, // glue
	snapshots: fileSnapshots("state/snapshots"), // glue
	projections: [talk, journal, planRuns, skillRuns], // glue
	outcomes: stepOutcomes, // glue
	begins: ["asked"], // glue
});
await timeline.settle(); // glue
const session = await openSession(timeline, scope); // glue
const using = (signal) => ({ wal, signal, model, tools: [lookUp], blobs: fileBlobs("state/plans") }); // glue

const turn = () =>
	session.begin("turn", { scope }, async (signal, log) => {
		const { open, lines } = session.view.get(talk);
		if (!open) return;
		const lane = new Lane(open, scope, stepPorts(session, { wal, signal })); // glue
		const messages = lines.map(({ of, text }) => ({ role: of === "user" ? "user" : "assistant", text, toolCalls: [] }));
		const request = { system: "You help with orders.", messages };
		const { reply } = await agentLoop(lane, model, request, [lookUp, refund], { maxRounds: 5 });
		await say(log, open, reply.text);
		log.append(laneClosed({ lane: open }), scope); // glue
		await session.checkpoint("turn", reply.text); // glue
	});

const plan = (id, proposal) =>
	session.begin(id, { scope: { ...scope, run: id } }, async (signal, log) => {
		const deliver = (text) => say(log, id, text); // glue
		await runPlanIn(session, id, proposal, { ...using(signal), deliver });
	});

const skill = (id, input) =>
	session.begin(id, { scope: { ...scope, run: id } }, async (signal, log) => {
		const deliver = (text) => say(log, id, text); // glue
		await runSkillIn(session, id, report, input, { ...using(signal), deliver });
	});

/** Once, however often it is asked for. */
async function say(log, of, text) {
	if (session.view.get(talk).lines.some((line) => line.of === of)) return;
	await log.append(answered({ of, text }), scope).durable;
	console.log(`bot: ${text}`);
}

/** All that was open, wherever it stands. */
function goOn() {
	turn(); // glue
	for (const [id] of inFlight(session.view.get(planRuns))) plan(id); // glue
	for (const [id] of inFlightRuns(session.view.get(skillRuns))) skill(id); // glue
}

async function rewind(seq) {
	const preview = await previewRewind(timeline, facets, seq, "both", scope); // glue
	console.log(preview.summary[1]);
	await applyRewind(timeline, facets, preview, { actor: "ada", session: scope }); // glue
}

function show() {
	for (const { seq, kind, title, active } of timeline.checkpoints(scope))
		console.log(`${active ? "*" : " "} ${seq} ${kind}: ${title}`);
	for (const { of, text } of session.view.get(talk).lines) console.log(`${of.split("/")[0]}: ${text}`);
}

const [verb, ...rest] = process.argv.slice(2);
if (verb === "ask") await session.log.append(asked({ text: rest.join(" ") }), scope).durable;
if (verb === "compare") plan(`p${wal.tip}`, comparison);
if (verb === "report") skill(`s${wal.tip}`, { day: "Monday" });
if (verb === "rewind") await rewind(Number(rest[0]));
if (verb === "undo") await timeline.undo();
goOn();
await session.idle();
if (verb === "log") show();
await wal.close();
