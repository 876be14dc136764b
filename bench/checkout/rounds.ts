/** Who is asked what, and when: what is compared is asked for by turns. */
import { join } from "node:path";
import { randomFrom } from "../random.ts";
import { Rival } from "../rival.ts";
import type { ActiveOrder, Asked } from "./active.ts";
import type { Request } from "./contend.ts";
import type { ContenderName, Jobs } from "./contenders.ts";
import { type Layout, type Place, placeOf, TURN_RECORDS } from "./log.ts";

const program = join(import.meta.dirname, "contend.ts");

/** So many in a round; of one session among many fewer, since each takes longer. */
const REWINDS = 50;
const SESSION_REWINDS = 20;
/** How many resets the log has when the rounds begin; each rewind is one more. */
const RESETS = [1, 1000, 10_000];
const ACTIVE: readonly ActiveOrder[] = (["anywhere", "near"] as const).flatMap((targets) =>
	[10, 1000, 100_000].map((resets) => ({ targets, resets })),
);

/** In ms, round by round. */
export type Rounds = (readonly number[])[];

/** Of rewinds, and of past states without one. */
export interface Times {
	readonly rewind: Rounds;
	readonly past: Rounds;
}

export interface AfterResets extends Times {
	readonly resets: number;
	/** Once a round. */
	readonly open: number[];
	readonly sync: Rounds;
}

/** All that is measured in a log of one session, the more resets the later. */
export async function measureResets(directory: string, turns: number, rounds: number): Promise<AfterResets[]> {
	const log = join(directory, "long");
	await write(log, { sessions: 1, turns });
	await using raw = await started("raw", directory);
	await using reader = await started("reader", log, 1);
	const next = anyOf(turns * TURN_RECORDS, REWINDS);
	const places = (): Place[] => next().map((before) => placeOf(before, 1));
	const { seq: through } = placeOf(turns * TURN_RECORDS - 1, 1);
	const found: AfterResets[] = [];
	for (const resets of RESETS) {
		say(`going back after ${resets} resets`);
		await reader.ask("addResets", { count: resets, through });
		const row: AfterResets = { resets, open: [], sync: [], rewind: [], past: [] };
		for (let round = 0; round < rounds; round++) {
			row.open.push(await reader.ask("open", undefined));
			row.sync.push(await raw.ask("sync", REWINDS));
			row.rewind.push(await reader.ask("rewind", { places: places(), cut: "process" }));
			row.past.push(await reader.ask("past", { places: places() }));
		}
		found.push(row);
	}
	return found;
}

export interface OfSession {
	/** Its turns lie between those of so many others. */
	readonly shared: Times;
	/** As many turns, and the log to itself. */
	readonly alone: Times;
}

/** The same of one session, to records of its own. */
export async function measureSession(
	directory: string,
	{ sessions, turns }: Layout,
	rounds: number,
): Promise<OfSession> {
	const found: OfSession = { shared: { rewind: [], past: [] }, alone: { rewind: [], past: [] } };
	await write(join(directory, "shared"), { sessions, turns });
	await write(join(directory, "alone"), { sessions: 1, turns });
	await using shared = await started("reader", join(directory, "shared"), sessions);
	await using alone = await started("reader", join(directory, "alone"), 1);
	const next = anyOf(turns * TURN_RECORDS, SESSION_REWINDS);
	const measure = async (reader: typeof shared, among: number, times: Times, [then, back]: readonly number[][]) => {
		const places = (befores: readonly number[] = []): Place[] => befores.map((before) => placeOf(before, among));
		times.past.push(await reader.ask("past", { places: places(then) }));
		times.rewind.push(await reader.ask("rewind", { places: places(back), cut: "session" }));
	};
	say(`going back in one of ${sessions} sessions`);
	for (let round = 0; round < rounds; round++) {
		const both = [next(), next()];
		await measure(shared, sessions, found.shared, both);
		await measure(alone, 1, found.alone, both);
	}
	return found;
}

export interface ActiveFigures extends ActiveOrder {
	/** Round by round. */
	readonly asked: Asked[];
}

export async function measureActive(directory: string, rounds: number): Promise<ActiveFigures[]> {
	await using lineage = await started("lineage", directory);
	say("asking which records are active");
	const found = ACTIVE.map((order) => ({ ...order, asked: [] as Asked[] }));
	for (let round = 0; round < rounds; round++)
		for (const { resets, targets, asked } of found) asked.push(await lineage.ask("ask", { resets, targets }));
	return found;
}

async function write(log: string, layout: Layout): Promise<void> {
	say(`writing ${layout.sessions * layout.turns * TURN_RECORDS} records of ${layout.sessions} sessions`);
	await using writer = await started("writer", log);
	await writer.ask("write", layout);
}

type Ask<Name extends ContenderName> = <Job extends keyof Jobs<Name>>(
	job: Job,
	order: Jobs<Name>[Job] extends (order: infer Order) => unknown ? Order : never,
) => Promise<Jobs<Name>[Job] extends (...order: never[]) => Promise<infer Found> ? Found : never>;

interface Started<Name extends ContenderName> extends AsyncDisposable {
	readonly ask: Ask<Name>;
}

async function started<Name extends ContenderName>(
	name: Name,
	directory: string,
	sessions = 0,
): Promise<Started<Name>> {
	const rival = await Rival.start(name, program, directory, String(sessions));
	if (!(rival instanceof Rival)) throw new Error(`${name}: ${rival.skipped}`);
	return {
		async ask(job, order) {
			const { found } = await rival.ask<{ found: never }>({ job: String(job), order } satisfies Request);
			return found;
		},
		[Symbol.asyncDispose]: () => rival.end(),
	};
}

/** So many below a number, others each time. */
function anyOf(below: number, count: number): () => number[] {
	const random = randomFrom(below);
	return () => Array.from({ length: count }, () => Math.floor(random() * below));
}

/** What takes its time is said on stderr. */
const say = (what: string): void => console.error(what);
