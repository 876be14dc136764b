/** What going on with a script would cost: now, or had it been killed at a point that one drags. Nothing is called, and nothing written. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { read } from "./api.ts";
import { Calls, type Words } from "./calls.tsx";
import { tip } from "./log.ts";
import { reading } from "./reading.ts";
import type { Explanation } from "./shapes.ts";
import { Text } from "./text.tsx";
import { Unfolded } from "./unfolded.tsx";
import { counted } from "./words.ts";

interface MeterProps {
	readonly run: string;
	/** The seq of the start of the run. */
	readonly started: number;
	readonly isOver: boolean;
}

export function Meter({ run, started, isOver }: MeterProps) {
	return (
		<Unfolded
			name={isOver ? "What a crash would have cost" : "What going on would cost"}
			read={(signal) => read<Explanation>("script explain", { run }, signal)}
			shown={(explanation) => <Points run={run} started={started} now={explanation} />}
		/>
	);
}

/** The ends of the calls that are recorded: a crash can be put behind each. */
function endsOf({ calls }: Explanation): readonly number[] {
	const ends = calls.flatMap(({ state, seq }) =>
		seq !== undefined && (state === "hit" || state === "failed") ? seq : [],
	);
	return [...new Set(ends)].sort((a, b) => a - b);
}

function Points({ run, started, now }: Omit<MeterProps, "isOver"> & { readonly now: Explanation }) {
	const ends = endsOf(now);
	const last = ends.length;
	/** So many recorded calls are there at the crash; undefined: as it is. */
	const chosen = useSignal<number | undefined>(undefined);
	const at = Math.min(chosen.value ?? last, last);
	const pointAt = (count: number): number | undefined => (count < last ? [started, ...ends][count] : undefined);
	const seq = pointAt(at);
	const found = useMemo(
		() =>
			reading<Explanation>(() => {
				const point = pointAt(chosen.value ?? last);
				if (point === undefined) return undefined;
				return {
					key: `${point} ${tip.value}`,
					read: (signal) => read<Explanation>("script explain", { run, at: String(point) }, signal),
				};
			}),
		[ends.join()],
	);
	const { key, value, error } = found.value;
	const isThere = seq === undefined || key?.startsWith(`${seq} `);
	const shown = seq === undefined ? now : isThere ? value : undefined;
	const place = seq === undefined ? "as it is now" : `killed behind #${seq}, after ${at} of ${counted(last, "call")}`;
	return (
		<>
			{last > 0 && (
				<label class="meter">
					<span>{place}</span>
					<input
						type="range"
						min={0}
						max={last}
						step={1}
						value={at}
						aria-label={`Crash point of script run ${run}`}
						aria-valuetext={place}
						onInput={({ currentTarget }) => {
							chosen.value = currentTarget.valueAsNumber;
						}}
					/>
				</label>
			)}
			{error !== undefined && isThere && (
				<p class="refused">
					<Text of={error} />
				</p>
			)}
			{shown ? <Price of={shown} /> : error === undefined && <p class="quiet waiting">reading …</p>}
		</>
	);
}

/** What would become of a call. */
const becomes: Words = { hit: "recalled", live: "to be made", again: "asked again", in_doubt: "in doubt" };

function Price({ of }: { readonly of: Explanation }) {
	const { calls, saved, guessed, toPay, unknown, percentFree, isWhole, unreached } = of;
	const isLeast = guessed > 0 || !isWhole || unreached.length > 0;
	return (
		<>
			<p>
				{percentFree !== undefined && <b>{`${percentFree} % free: `}</b>}
				{saved.toLocaleString("en")} tokens recalled, {isLeast && "at least "}
				{toPay.toLocaleString("en")} to pay
				{unknown > 0 && `, and ${counted(unknown, "call")} of unknown price`}
			</p>
			<Calls
				words={becomes}
				of={calls.map(({ saved, toPay, ...call }) => {
					const tokens = (toPay ?? 0) > 0 ? toPay : saved;
					return { ...call, ...(tokens ? { tokens } : {}) };
				})}
			/>
			{unreached.length > 0 && (
				<p class="quiet">
					Made before, and not come to here:{" "}
					{unreached
						.slice(0, 5)
						.map(({ seq }) => `#${seq}`)
						.join(", ")}
					{unreached.length > 5 && ` and ${unreached.length - 5} more`}. Where an answer comes otherwise it may be made
					again.
				</p>
			)}
		</>
	);
}
