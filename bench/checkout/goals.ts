/** What going back is held to (G8, G10), and that a session pays for its own records alone. */
import { atMost, type Goal } from "../goals.ts";
import type { ActiveRow, ResetsRow, SessionRow } from "./report.ts";

export function judge(
	resets: readonly ResetsRow[],
	sessions: readonly SessionRow[],
	active: readonly ActiveRow[],
): Goal[] {
	return [
		...resets.map(({ resets: count, rewind, sync }) =>
			atMost(`G8 rewind p99 after ${count} resets, less one sync, ms`, rewind.p99 - sync.p50, 10),
		),
		...sessions
			.filter(({ name }) => name === "shared")
			.flatMap(({ rewindRatio, pastRatio }) => [
				atMost("rewind of one session among many, × alone", rewindRatio, 2),
				atMost("past state of one session among many, × alone", pastRatio, 2),
			]),
		...judgeActive(active.filter(({ targets }) => targets === "anywhere")),
		...judgeActive(active.filter(({ targets }) => targets === "near")),
	];
}

/** Of few, more and many resets. */
function judgeActive([few, more, many]: readonly ActiveRow[]): Goal[] {
	if (!few || !more || !many) return [];
	const isActive = `G10 isActive, targets ${few.targets},`;
	return [
		atMost(`${isActive} ${more.resets} resets, ns`, more.ns, 150),
		atMost(`${isActive} ${many.resets} resets, ns`, many.ns, 400),
		atMost(`${isActive} ${many.resets} resets, × ${few.resets}`, many.ns / few.ns, 15),
	];
}
