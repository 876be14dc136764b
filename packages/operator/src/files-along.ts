/** Files that go along with a move of history: what would become of them, and what has. */
import type { FilesRestored, Runtime } from "@reyn/runtime";
import { isReynError, type Seq } from "@reyn/wal";
import { z } from "zod";
import { uncoveredText } from "./lines/files.ts";
import { flag } from "./param.ts";
import { list, seq, uncovered } from "./shapes.ts";
import { oneLine } from "./text.ts";

const changes = list(z.object({ path: z.string(), change: z.enum(["made", "changed", "removed"]) }));
const kept = list(z.object({ path: z.string(), why: z.string(), isTheirs: z.literal(true).exactOptional() }));

/** As `FilesPreview` of `@reyn/runtime`. */
export const filesPreview = z.object({
	...{ to: seq, changes, kept },
	theirs: list(z.object({ path: z.string(), version: z.string().nullable() })),
	uncovered,
	/** Where any is kept, nothing is to be moved. */
	allOrNothing: z.literal(true).exactOptional(),
});

/** How many files were written since, by tools, rewinds or undos: they stay. Absent: unknown, or they go along. */
export const filesSince = seq.exactOptional();

/** As `FilesRestored` of `@reyn/runtime`. */
export const filesRestored = z.object({ to: seq, changes, kept });

const theirs = flag(
	"with the files: also those that somebody else has changed since; undo brings theirs back",
	z.boolean().default(false),
);

/** The params of a verb that may take files along, and of one that does where the move did. */
export const filesParams = {
	files: flag("the files that tools have changed go back too", z.boolean().default(false), "they stay as they are"),
	theirs,
	allOrNothing: flag("with the files: where one would stay as it is, nothing is done", z.boolean().default(false)),
};
export const theirsParam = { theirs };

/** What becomes of files in a move to a seq, if they go along; if they stay, how many could. */
export async function filesAlong(
	runtime: Runtime,
	to: Seq,
	isAlong: boolean,
	takesTheirs: boolean,
	allOrNothing = false,
): Promise<{ readonly files?: z.infer<typeof filesPreview>; readonly filesSince?: number }> {
	if (isAlong)
		return { files: { ...(await runtime.previewFiles(to, takesTheirs)), ...(allOrNothing && { allOrNothing }) } };
	try {
		return { filesSince: (await runtime.files.since(to)).files.length };
	} catch (error) {
		if (isReynError(error, "TIMETRAVEL_PRUNED")) return {};
		throw error;
	}
}

/** Of files that stay, and could go along. */
export const filesSinceLines = (count: number | undefined): readonly string[] =>
	count
		? [
				`${count === 1 ? "1 file was" : `${count} files were`} written since; --files takes along those that differ from then`,
			]
		: [];

const MOST = 20;
const signs = { made: "+", changed: "~", removed: "-" } as const;
const words = { made: "made again", changed: "changed back", removed: "removed" } as const;

/** @param takingTheirs the command that would take along what somebody else has changed, too */
export function filesAlongLines(
	files: z.infer<typeof filesPreview> | undefined,
	takingTheirs: string,
): readonly string[] {
	if (!files) return ["files in your workspace are not touched"];
	const { changes, kept, theirs, uncovered } = files;
	return [
		changes.length === 0
			? "no file goes back"
			: `${counted(changes.length)} back to what ${heldAt(changes, files.to)}:`,
		...shortened(
			changes.map(({ path, change }) => {
				const whose = theirs.some((each) => each.path === path) ? ", though somebody else has changed it since" : "";
				return `  ${signs[change]} ${oneLine(path, 200)}  ${words[change]}${whose}`;
			}),
		),
		...keptLines(kept),
		...(kept.some(({ isTheirs }) => isTheirs)
			? [`to take what somebody else has changed too, which undo brings back: ${takingTheirs}`]
			: []),
		...(files.allOrNothing && kept.length > 0
			? ["so nothing is done: all files go back, or none (--all-or-nothing)"]
			: []),
		...uncovered.map(uncoveredText),
	];
}

const counted = (count: number): string => (count === 1 ? "1 file goes" : `${count} files go`);
const heldAt = ({ length }: readonly unknown[], to: Seq): string => `${length === 1 ? "it" : "they"} held at #${to}`;

/** @param back the verb that brings them forward again */
export function filesDoneLines(files: FilesRestored | undefined, back: "undo" | "redo" = "undo"): readonly string[] {
	if (!files) return [];
	const { changes, kept, to } = files;
	if (changes.length === 0) return ["no file was changed", ...keptLines(kept)];
	const holding = changes.length === 1 ? "1 file holds" : `${changes.length} files hold`;
	return [
		`${holding} what ${heldAt(changes, to)}; ${back} brings ${changes.length === 1 ? "it" : "them"} forward`,
		...keptLines(kept),
	];
}

/** The code of the error where a file has stayed that was to go back. */
export function filesFault(done: FilesRestored | undefined, seen: z.infer<typeof filesPreview> | undefined) {
	const isToGo = ({ path }: { readonly path: string }): boolean => !!seen?.changes.some((each) => each.path === path);
	return done?.kept.some(isToGo) ? "OPERATOR_FILES" : undefined;
}

const keptLines = (kept: FilesRestored["kept"]): readonly string[] =>
	shortened(kept.map((each) => `stays: ${keptText(each)}`));

/** Many a reason names its file first. */
const keptText = ({ path, why }: FilesRestored["kept"][number]): string =>
	why.startsWith(`${path} `) ? oneLine(why, 400) : `${oneLine(path, 200)}: ${oneLine(why, 200)}`;

const shortened = (lines: readonly string[]): readonly string[] =>
	lines.length <= MOST ? lines : [...lines.slice(0, MOST), `  … and ${lines.length - MOST} more`];
