/** Going back and coming again: `diff`, `rewind`, `checkout`, `undo` and `redo`. */
import {
	blastRadius,
	type Checkout,
	type Move,
	mainSession,
	parseRef,
	type RewindMode,
	type RewindResult,
	type Runtime,
	reportState,
	rewindModes,
	type ScopeWidth,
	type SessionScope,
	scopeAt,
	scopeWidths,
	sessionOf,
} from "@reyn/runtime";
import type { Scope } from "@reyn/wal";
import { type Command, Option } from "commander";
import { counted, radiusLines } from "./blast-radius.ts";
import { confirm } from "./confirm.ts";
import { type Globals, openForWork, reading } from "./context.ts";
import { diffText, statOf, statText } from "./diff.ts";
import { err } from "./print.ts";
import { parseSession, scopeText } from "./scope.ts";
import { reyn } from "./suggest.ts";

type Print = (globals: Globals, value: unknown, lines: readonly string[]) => void;

export function addTravelCommands(program: Command, globals: () => Globals, print: Print): void {
	program
		.command("diff")
		.argument("<a>", "a ref, as for show")
		.argument("[b]", "another one", "@")
		.description("what differs between two moments, on whatever branches they are")
		.addOption(
			new Option("--session <agent/session>", "whose state")
				.argParser(parseSession)
				.default(mainSession, "default/main"),
		)
		.option("--stat", "only how much")
		.action(async (a: string, b: string, { session, stat }: { session: SessionScope; stat?: boolean }) => {
			const diff = await reading(globals(), async (runtime) =>
				runtime.diff(await parseRef(a, runtime), await parseRef(b, runtime), session),
			);
			if (stat) return print(globals(), { ...diff, projections: statOf(diff) }, statText(diff));
			print(globals(), diff, diffText(diff));
		});

	program
		.command("rewind")
		.argument("<ref>")
		.description("go back on the current line: preview, confirm, apply. Files in your workspace are not touched")
		.addOption(new Option("--mode <mode>", "what goes back").choices([...rewindModes]).default("both"))
		.addOption(scopeOption())
		.option("--dry-run", "the preview of the mode, and nothing else")
		.option("--yes", "apply without asking")
		.option("--actor <name>", "who asks", "user")
		.action(async (ref: string, { mode, scope: width, dryRun, yes, actor }: Going & { mode: RewindMode }) => {
			const { preview, radius } = await reading(globals(), async (runtime) => {
				const seq = await parseRef(ref, runtime);
				const preview = await runtime.previewRewind(seq, mode, await scopeAt(seq, width, runtime));
				return { preview, radius: await blastRadius(runtime, preview) };
			});
			const lines = [...ofScope(preview.scope), ...preview.summary, ...radiusLines(radius, preview.target)];
			if (dryRun || mode === "cancel") return print(globals(), { preview, blastRadius: radius, applied: false }, lines);
			if (preview.kind === "none") {
				const { tip: seq, target, affected, dropped } = preview;
				const result: RewindResult = { kind: "none", seq, target, affected, dropped };
				return print(globals(), { preview, blastRadius: radius, applied: false, result }, rewound(result));
			}
			if (!globals().json) err.lines(lines);
			await confirm(`rewind to #${preview.target}?`, yes);
			await using runtime = await openForWork(globals());
			const result = await runtime.applyRewind(preview, actor);
			print(globals(), { preview, blastRadius: radius, applied: true, result }, [
				...rewound(result),
				...paused(runtime),
			]);
		});

	program
		.command("checkout")
		.argument("<ref>")
		.description("go to any moment, on an abandoned branch too. Files in your workspace are not touched")
		.addOption(scopeOption())
		.option("--dry-run", "the preview, and nothing else")
		.option("--yes", "do it without asking")
		.option("--actor <name>", "who asks", "user")
		.action(async (ref: string, { scope: width, dryRun, yes, actor }: Going) => {
			const { preview, radius, state } = await reading(globals(), async (runtime) => {
				const seq = await parseRef(ref, runtime);
				const scope = await scopeAt(seq, width, runtime);
				const preview = { scope, ...(await runtime.timeline.preview(seq, { scope })) };
				const state = await reportState(runtime, runtime.wal.tip, sessionOf(scope));
				return { preview, radius: await blastRadius(runtime, preview), state };
			});
			const lines = [
				...ofScope(preview.scope),
				preview.kind === "none" ? hereAlready(preview) : `check out ${whereTo(preview)}`,
				...radiusLines(radius, preview.target),
				"files in your workspace are not touched",
			];
			if (dryRun) return print(globals(), { ...preview, blastRadius: radius, applied: false }, lines);
			if (preview.kind === "none") {
				const { seq, hash } = state;
				return print(globals(), { ...preview, seq, hash, applied: false }, [hereAlready(preview), `state ${hash}`]);
			}
			if (!globals().json) err.lines(lines);
			await confirm(`check out #${preview.target}?`, yes);
			await using runtime = await openForWork(globals());
			const result = await runtime.checkout(preview.target, actor, preview.scope, { expect: preview.tip });
			const { hash } = await reportState(runtime, result.seq, sessionOf(preview.scope));
			print(globals(), { ...preview, ...result, hash, blastRadius: radius, applied: true }, [
				`checked out ${whereTo(preview)}. Go back with: reyn undo`,
				`state ${hash}`,
				...paused(runtime),
			]);
		});

	for (const verb of ["undo", "redo"] as const) {
		program
			.command(verb)
			.description(
				verb === "undo"
					? "take back the newest rewind, label, note or discard; again for the one before. Files are not touched"
					: "do again what was undone last",
			)
			.option("--dry-run", "say what it would be, and nothing else")
			.option("--yes", "do it without asking")
			.option("--actor <name>", "who asks", "user")
			.action(async ({ dryRun, yes, actor }: { dryRun?: boolean; yes?: boolean; actor: string }) => {
				const { move, tip } = await reading(globals(), async (runtime) => {
					const newest = await nextMove(verb, runtime);
					// With nothing to take back it only says where else one can go.
					if (!newest && !dryRun) await runtime[verb](actor);
					return { move: newest, tip: runtime.wal.tip };
				});
				const what = move ? `${verb} ${moveText(move)}` : `there is nothing to ${verb}`;
				if (dryRun || !move) return print(globals(), { [verb]: move ?? null, applied: false }, [what]);
				await confirm(`${what}?`, yes);
				await using runtime = await openForWork(globals());
				const done = await runtime[verb](actor, { of: move.seq, expect: tip });
				const { hash } = await reportState(runtime, done.seq);
				print(globals(), { ...done, hash, applied: true }, [`done: ${what}`, `state ${hash}`, ...paused(runtime)]);
			});
	}
}

interface Going {
	readonly scope: ScopeWidth;
	readonly dryRun?: boolean;
	readonly yes?: boolean;
	readonly actor: string;
}

const scopeOption = (): Option =>
	new Option("--scope <scope>", "whose history goes back: everything, or that of the agent or session at the ref")
		.choices([...scopeWidths])
		.default("process");

const ofScope = (scope: Scope): readonly string[] =>
	scope.agent === undefined ? [] : [`only ${scopeText(scope)}; all else stays as it is`];

const hereAlready = ({ target }: Pick<Checkout, "target">): string => `you are at #${target} already; nothing to write`;

/** What `undo` or `redo` would take. */
export async function nextMove(verb: "undo" | "redo", { timeline }: Runtime): Promise<Move | undefined> {
	const { past, future } = await timeline.moves();
	return (verb === "undo" ? past : future).at(-1);
}

function whereTo({ kind, target, snappedFrom }: Omit<Checkout, "seq">): string {
	const where = kind === "fork_switch" ? "on a branch that was abandoned" : "further back on the same line";
	const snapped =
		snappedFrom === undefined ? "" : `; #${snappedFrom} lies inside a tool cycle, and this is the checkpoint before it`;
	return `#${target}, ${where}${snapped}`;
}

export function moveText({ seq, inverse }: Move): string {
	return inverse.kind === "label" ? `the label "${inverse.name}" (#${seq})` : `what was done at #${seq}`;
}

/** @param command how people say `undo` where they are */
export function rewound({ kind, seq, target, dropped }: RewindResult, command = "reyn undo"): string[] {
	switch (kind) {
		case "none":
			return ["nothing was written: the state is as of there already"];
		case "note":
			return [`done: a note about all since #${target} joined the conversation at #${seq}; nothing was taken away`];
		case "reset":
			return [
				`done: a reset at #${seq} that takes ${counted(dropped.all, "record")} away; the state is as of #${target}. Go back with: ${command}`,
			];
	}
}

/** @param command how people say `plan resume` where they are */
export function paused(runtime: Runtime, command = reyn): string[] {
	return runtime
		.restored()
		.plans.filter(({ status }) => status === "paused")
		.map(({ plan }) => `plan ${plan} is unfinished there and waits; go on with: ${command`plan resume ${plan}`}`);
}
