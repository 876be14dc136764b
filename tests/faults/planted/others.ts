/** Defects of the layers above the log and the journal, and of what stands beside them: what a tired colleague could write. */
import type { Defect } from "./defect.ts";

const ofSnapshot: readonly Defect[] = [
	{
		name: "store a snapshot before the chunks that it names",
		package: "snapshot",
		file: "restore.ts",
		from: "await snapshots.putChunks(fresh);\n\t\t\tawait snapshots.putRoot(view.scope, seq, text);",
		to: "await snapshots.putRoot(view.scope, seq, text);\n\t\t\tawait snapshots.putChunks(fresh);",
		tests: ["snapshot restore"],
	},
	{
		name: "remove chunks before the snapshots that name them",
		package: "snapshot",
		file: "collect.ts",
		from: "for (const { name } of gone) await snapshots.removeRoot(name);\n\t\t\tfor (const id of idle) await snapshots.removeChunk(id);",
		to: "for (const id of idle) await snapshots.removeChunk(id);\n\t\t\tfor (const { name } of gone) await snapshots.removeRoot(name);",
		tests: ["snapshot restore"],
	},
	{
		name: "store a snapshot of a record that is not durable",
		package: "snapshot",
		file: "restore.ts",
		from: "if (seq > wal.durableTip)",
		to: "if (seq > wal.tip)",
		tests: ["snapshot restore"],
	},
	{
		name: "begin with a snapshot of another line of history",
		package: "snapshot",
		file: "restore.ts",
		from: "if (seq > path.tip || !path.isBase(seq, kinds)) continue;",
		to: "if (seq > path.tip) continue;",
		tests: ["snapshot restore"],
	},
	{
		name: "take a chunk that holds fewer items than its list says",
		package: "snapshot",
		file: "chunks.ts",
		from: "if (node.count !== count) throw new Damage(",
		to: "if (node.count > count) throw new Damage(",
		tests: ["snapshot restore"],
	},
];

const ofTimetravel: readonly Defect[] = [
	{
		name: "leave the last record of a line out",
		package: "timetravel",
		file: "lineage.ts",
		from: "if ((edges[middle] as number) < seq) low",
		to: "if ((edges[middle] as number) <= seq) low",
		tests: ["timetravel lineage.test"],
	},
	{
		name: "go back to a reset itself as if it had not been",
		package: "timetravel",
		file: "lineage.ts",
		from: "if (seq > from || skipsNothing) continue;",
		to: "if (seq >= from || skipsNothing) continue;",
		tests: ["timetravel lineage.test"],
	},
	{
		name: "take away a state that a later reset goes back to, at the very edge",
		package: "timetravel",
		file: "truncation.ts",
		from: "target >= before - 1;",
		to: "target >= before - 2;",
		tests: ["timetravel gc.test"],
	},
	{
		name: "say that a move is made before its reset is durable",
		package: "timetravel",
		file: "moving.ts",
		from: "await durable;\n\t\tconst { target, coverage,",
		to: "durable.catch(() => {});\n\t\tconst { target, coverage,",
		tests: ["timetravel timeline.test"],
	},
	{
		name: "forget what can be redone when one of it is",
		package: "timetravel",
		file: "undo.ts",
		from: "if (redoes !== undefined) remove(future, redoes);\n\telse future.length = 0;",
		to: "future.length = 0;",
		tests: ["timetravel undo"],
	},
	{
		name: "keep a checkpoint less than was asked for",
		package: "timetravel",
		file: "retention.ts",
		from: "checkpoints.length - Math.max(keepCheckpoints, 1)",
		to: "checkpoints.length - Math.max(keepCheckpoints - 1, 1)",
		tests: ["timetravel gc.test"],
	},
];

const ofPlan: readonly Defect[] = [
	{
		name: "report a step as done before that is durable",
		package: "plan",
		file: "execute.ts",
		from: "await durable;\n\treport(",
		to: "report(",
		tests: ["plan execute.test"],
	},
	{
		name: "run a step again in the lane of its former try",
		package: "plan",
		file: "plan-runs.ts",
		from: "attempt: attempt + 1 })",
		to: "attempt })",
		tests: ["plan plan-runs"],
	},
	{
		name: "close the lane of a step before its outcome is recorded",
		package: "plan",
		file: "execute.ts",
		from: "ports.log.append(record, scope);\n\t\treturn ports.log.append(laneClosed({ lane }), scope);",
		to: "ports.log.append(laneClosed({ lane }), scope);\n\t\treturn ports.log.append(record, scope);",
		tests: ["plan execute-killed"],
	},
	{
		name: "take a step whose call is in doubt for failed",
		package: "plan",
		file: "execute.ts",
		from: 'if (isReynError(error, "CALL_WAITING", "CALL_IN_DOUBT")) throw error;',
		to: 'if (isReynError(error, "CALL_WAITING")) throw error;',
		tests: ["plan gate"],
	},
	{
		name: "take the answer of the steps before a reset for that of the new ones",
		package: "plan",
		file: "plan-runs.ts",
		from: "...run,\n\t\tsince,\n",
		to: "...run,\n\t\tsince: Math.min(since, run.since),\n",
		tests: ["plan plan-runs"],
	},
];

const ofSkillResume: readonly Defect[] = [
	{
		name: "enter a phase again in the lane of the visit before",
		package: "skill-resume",
		file: "resume-point.ts",
		from: "(entryAt(run.visits, phase) ?? 0) + 1,",
		to: "entryAt(run.visits, phase) ?? 1,",
		tests: ["skill-resume resume-point"],
	},
	{
		name: "stay in a phase that is over",
		package: "skill-resume",
		file: "skill-runs.ts",
		from: "({ phase: _left, ...before }) => ({",
		to: "(before) => ({",
		tests: ["skill-resume skill-runs"],
	},
	{
		name: "checkpoint a phase before its outcome is durable",
		package: "skill-resume",
		file: "run-skill.ts",
		from: 'await durable;\n\tawait ports.onBoundary("phase",',
		to: 'durable.catch(() => {});\n\tawait ports.onBoundary("phase",',
		tests: ["skill-resume run-skill.test"],
	},
	{
		name: "record the end of a run before its output is delivered",
		package: "skill-resume",
		file: "run-skill.ts",
		from: "await ports.deliver(run.last?.output);",
		to: "setTimeout(() => void ports.deliver(run.last?.output));",
		tests: ["skill-resume run-skill-killed"],
	},
];

const ofRewindModes: readonly Defect[] = [
	{
		name: "count facts, which no mode takes back, in a preview",
		package: "rewind-modes",
		file: "preview-rewind.ts",
		from: "if (isMeta(kind) || isOutside(kind)) continue;",
		to: "if (isMeta(kind)) continue;",
		tests: ["rewind-modes preview-rewind"],
	},
	{
		name: "count what was written for a rewind as taken back by it",
		package: "rewind-modes",
		file: "apply-rewind.ts",
		from: "written ? written.seq - 1 :",
		to: "written ? written.seq :",
		tests: ["rewind-modes apply-rewind"],
	},
	{
		name: "rewind though something began since the preview",
		package: "rewind-modes",
		file: "apply-rewind.ts",
		from: "\t\texpect: tip,\n",
		to: "",
		tests: ["rewind-modes apply-rewind"],
	},
	{
		name: "do not look whether the preview is the log's own",
		package: "rewind-modes",
		file: "apply-rewind.ts",
		from: "await assertPreviewed(timeline, facets, preview);",
		to: "void assertPreviewed;",
		tests: ["rewind-modes apply-rewind"],
	},
];

const ofRuntime: readonly Defect[] = [
	{
		name: "start a second plan for a turn that was cut",
		package: "runtime",
		file: "features/plan/plan-host.ts",
		from: "if (runOf(session, plan)) return started(plan);",
		to: "",
		tests: ["runtime plan-proposal"],
	},
	{
		name: "show a message that is not durable",
		package: "runtime",
		file: "features/conversation/outbox.ts",
		from: "if (message.seq > wal.durableTip) return;",
		to: "void wal;",
		tests: ["runtime undelivered"],
	},
	{
		name: "show a message twice while it is recorded that it was shown",
		package: "runtime",
		file: "features/conversation/outbox.ts",
		from: "if (!this.#onMessage || this.#showing.has(message.seq)) return;",
		to: "if (!this.#onMessage) return;",
		tests: ["runtime undelivered"],
	},
	{
		name: "tell the events of records that were taken back",
		package: "runtime",
		file: "kernel/pump.ts",
		from: "if (states.counts(record))",
		to: "if (states.counts(record) || record.seq > 0)",
		tests: ["runtime events.test"],
	},
	{
		name: "record of a turn that its lane is closed before that it is over",
		package: "runtime",
		file: "features/conversation/turn.ts",
		from: "[turnCompleted({ turn }), ...over.map((lane) => laneClosed({ lane }))].map(",
		to: "[...over.map((lane) => laneClosed({ lane })), turnCompleted({ turn })].map(",
		tests: ["runtime crash.test"],
	},
	{
		name: "collect the image of a prompt that can be gone back to",
		package: "runtime",
		file: "features/conversation/attached-files.ts",
		from: "kind === userPrompt.kind ?",
		to: "kind.length === 0 ?",
		tests: ["runtime attached"],
	},
];

const ofTools: readonly Defect[] = [
	{
		name: "read a file through a symbolic link",
		package: "tools",
		file: "root-directory.ts",
		from: "constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)",
		to: "constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)",
		tests: ["tools walls"],
	},
	{
		name: "go into a directory through a symbolic link",
		package: "tools",
		file: "root-directory.ts",
		from: "constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);",
		to: "constants.O_RDONLY | constants.O_DIRECTORY);",
		tests: ["tools walls"],
	},
	{
		name: "take .GIT for another directory than .git",
		package: "tools",
		file: "root-directory.ts",
		from: "\t\t\t.toLowerCase()\n\t\t\t.replace(/\\p{Default",
		to: "\t\t\t.replace(/\\p{Default",
		tests: ["tools walls"],
	},
	{
		name: "leave a line out where a file is read on",
		package: "tools",
		file: "read-file.ts",
		from: "{last + 1}`",
		to: "{last + 2}`",
		tests: ["tools file-tools"],
	},
	{
		name: "write over what somebody else has changed meanwhile",
		package: "tools",
		file: "write-files.ts",
		from: "if (found !== planned.before)",
		to: "if (found === undefined)",
		tests: ["tools write-files"],
	},
	{
		name: "say of a file that nobody knows the end of that nothing was done to it",
		package: "tools",
		file: "write-files.ts",
		from: '? "not_done" : "unknown"',
		to: '? "not_done" : "not_done"',
		tests: ["tools write-files"],
	},
];

const ofAiSdk: readonly Defect[] = [
	{
		name: "ask again where an account has no money",
		package: "ai-sdk",
		file: "provider-error.ts",
		from: "if (IS_EMPTY.test(said)) return false;",
		to: "",
		tests: ["ai-sdk wires"],
	},
	{
		name: "give a model what another one has signed",
		package: "ai-sdk",
		file: "prompt.ts",
		from: "echo?.model === model ?",
		to: "echo ?",
		tests: ["ai-sdk wires"],
	},
	{
		name: "take an answer to half a prompt for one",
		package: "ai-sdk",
		file: "answer.ts",
		from: 'reason === "stop" && unread?.isCertain ? "unread" : reason',
		to: "reason",
		tests: ["ai-sdk wires"],
	},
	{
		name: "take an answer that broke off for a whole one",
		package: "ai-sdk",
		file: "answer.ts",
		from: 'if (unified === "interrupted" || raw === undefined)',
		to: 'if (unified === "interrupted")',
		tests: ["ai-sdk from-ai-sdk"],
	},
];

const ofOfflineModel: readonly Defect[] = [
	{
		name: "take what an earlier turn has looked up for this one's",
		package: "offline-model",
		file: "situation.ts",
		from: "turn: turnOf(messages.slice(at + 1)),\n\t\t};",
		to: "turn: turnOf(messages),\n\t\t};",
		tests: ["offline-model offline-model"],
	},
	{
		name: "give two calls the same id when a question is asked again",
		package: "offline-model",
		file: "reply.ts",
		from: "JSON.stringify(request.messages)",
		to: "JSON.stringify(request.messages.at(-1))",
		tests: ["offline-model offline-model"],
	},
	{
		name: "quote a line by the number of the one before",
		package: "offline-model",
		file: "evidence.ts",
		from: "number: Number(match[1]),",
		to: "number: Number(match[1]) - 1,",
		tests: ["offline-model offline-model"],
	},
];

const ofCli: readonly Defect[] = [
	{
		name: "let a text of a model begin a line of its own",
		package: "operator",
		file: "text.ts",
		from: 'return clean(text).replace(/\\n\\s*/g, " ");',
		to: "return clean(text);",
		tests: ["operator text"],
	},
	{
		name: "lose a character that comes in two pieces of a text",
		package: "cli",
		file: "print.ts",
		from: "this.#half = half;",
		to: 'this.#half = "";',
		tests: ["cli print"],
	},
	{
		name: "go on in a state that came from elsewhere when nobody can be asked",
		package: "cli",
		file: "trust.ts",
		from: '!== "unknown") return;\n\tconst seen',
		to: '!== "unknown" || !process.stdin.isTTY) return;\n\tconst seen',
		tests: ["cli trust"],
	},
];

const ofUi: readonly Defect[] = [
	{
		name: "answer a page elsewhere that has this server under a name of its own",
		package: "ui",
		file: "server/guard.ts",
		from: '!["127.0.0.1", "localhost", "[::1]"].some((name) => host === ',
		to: '!["127.0.0.1", "localhost", "[::1]"].some((name) => host !== name || host === ',
		tests: ["ui guard"],
	},
	{
		name: "do what was confirmed a second time",
		package: "ui",
		file: "server/previews.ts",
		from: "this.#all.delete(id);\n\t\treturn found;",
		to: "return found;",
		tests: ["ui serve"],
	},
];

export const ofOthers: readonly Defect[] = [
	...ofSnapshot,
	...ofTimetravel,
	...ofPlan,
	...ofSkillResume,
	...ofRewindModes,
	...ofRuntime,
	...ofTools,
	...ofOfflineModel,
	...ofAiSdk,
	...ofCli,
	...ofUi,
];
