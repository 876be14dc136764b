/** What steps run on, of a session: its state of now, its log of then. */
import { View } from "@reyn/snapshot";
import { type Appender, memoryEngine, openWal } from "@reyn/wal";
import { expect, test } from "vitest";
import {
	type InDoubtPolicy,
	journal,
	journalRecords,
	Lane,
	type StepEvent,
	type Steppable,
	stepPorts,
} from "../src/index.ts";
import { scope } from "./dying-log.ts";

/** A session by its shape alone: a state, and a log of a line that can be left. */
async function house() {
	const wal = await openWal(memoryEngine(), { records: journalRecords });
	let view = View.empty(scope, [journal]);
	let line = 0;
	const session: Steppable = {
		get view() {
			return view;
		},
		get log(): Appender {
			const of = line;
			return {
				append(draft, at) {
					if (of !== line) throw new RangeError("left");
					const appended = wal.append(draft, at);
					view = view.apply(appended.record);
					return appended;
				},
			};
		},
		adopt: async () => {},
	};
	const leave = (): void => void line++;
	return { wal, session, leave };
}

const signal = new AbortController().signal;
const charge = (call: (key: string) => Promise<string>) => ({
	...{ kind: "tool", name: "charge", args: {}, purity: "side_effect" as const },
	call: ({ idempotencyKey = "" }) => call(idempotencyKey),
});

test("a step is made once, and known again by the state of now", async () => {
	const { wal, session } = await house();
	const told: StepEvent["type"][] = [];
	const using = () => stepPorts(session, { wal, signal, observe: ({ type }) => void told.push(type) });
	const keys: string[] = [];
	const call = async (key: string): Promise<string> => `paid ${keys.push(key)}`;
	expect(await new Lane("job", scope, using()).perform(charge(call))).toBe("paid 1");
	expect(await new Lane("job", scope, using()).perform(charge(call))).toBe("paid 1");
	expect([keys, told]).toEqual([[`${wal.id}:2`], ["calling", "live", "ghost"]]);
	const { recordedIn, firstBelow } = using();
	expect([...(recordedIn?.("job") ?? [])].map(({ fp }) => fp).length).toBe(1);
	expect(firstBelow?.("job")).toBe(0);
});

test("what began before its line was left appends nothing to the next", async () => {
	const { wal, session, leave } = await house();
	const using = stepPorts(session, { wal, signal });
	leave();
	const { tip } = wal;
	await expect(new Lane("job", scope, using).perform(charge(async () => "paid"))).rejects.toThrow("left");
	expect(wal.tip).toBe(tip);
	expect(await new Lane("job", scope, stepPorts(session, { wal, signal })).perform(charge(async () => "paid"))).toBe(
		"paid",
	);
});

test.each<[InDoubtPolicy | undefined, string]>([
	[undefined, "paid again"],
	["retry", "paid again"],
	["discard", "STEP_DISCARDED"],
])("a step in doubt is as %s says: %s", async (policy, expected) => {
	const { wal, session } = await house();
	const stop = new AbortController();
	const cut = new Lane("job", scope, stepPorts(session, { wal, signal: stop.signal })).perform(
		charge(async () => {
			stop.abort(new Error("killed"));
			throw stop.signal.reason;
		}),
	);
	await cut.catch(() => undefined);
	const using = stepPorts(session, { wal, signal, ...(policy && { whenInDoubt: () => policy }) });
	const found = await new Lane("job", scope, using)
		.perform(charge(async () => "paid again"))
		.catch((error: unknown) => (error as { code?: unknown }).code);
	expect(found).toBe(expected);
});
