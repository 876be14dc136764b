/** The slider: moments in the order of their records, not by the clock, so that a night takes no room. */
import { select, selected } from "./selection.ts";
import { plain } from "./text.tsx";
import { stops } from "./tree.ts";
import { kindOf } from "./tree-row.tsx";

/** More would be a grey bar. */
const MOST_TICKS = 150;

export function Scrubber() {
	const all = stops.value;
	const last = Math.max(0, all.length - 1);
	const at = Math.max(
		0,
		all.findIndex(({ seq }) => seq === selected.value),
	);
	const entry = all[at];
	const goTo = (index: number): void => {
		const found = all[Math.min(last, Math.max(0, index))];
		if (found) select(found.seq);
	};
	const { kind, title } = entry ? kindOf(entry) : { kind: "", title: "" };
	return (
		<div class="scrubber">
			<div class="slider">
				{all.length <= MOST_TICKS && last > 0 && (
					<svg class="ticks" width="100%" height="10" aria-hidden="true">
						{all.map(({ seq, type, active }, index) => (
							<rect
								key={seq}
								class={active ? "" : "tick-off"}
								x={`${(index / last) * 100}%`}
								y={type === "reset" ? 0 : 3}
								width={type === "reset" ? 3 : 1.5}
								height={type === "reset" ? 10 : 7}
							/>
						))}
					</svg>
				)}
				<input
					type="range"
					min={0}
					max={last}
					step={1}
					value={at}
					disabled={last === 0}
					aria-label="Moment, by order"
					aria-valuetext={entry ? plain(`#${entry.seq} ${kind} ${title}`) : "nothing yet"}
					onInput={({ currentTarget }) => goTo(currentTarget.valueAsNumber)}
				/>
			</div>
			<div class="steps">
				<Step name="To the oldest shown" path="M3 3v10M13 3 6 8l7 5Z" isOff={at === 0} go={() => goTo(0)} />
				<Step name="One moment back" path="M11 3 4 8l7 5Z" isOff={at === 0} go={() => goTo(at - 1)} />
				<Step name="One moment on" path="M5 3l7 5-7 5Z" isOff={at === last} go={() => goTo(at + 1)} />
				<Step name="To now" path="M13 3v10M3 3l7 5-7 5Z" isOff={at === last} go={() => goTo(last)} />
			</div>
		</div>
	);
}

interface StepProps {
	readonly name: string;
	readonly path: string;
	readonly isOff: boolean;
	go(): void;
}

function Step({ name, path, isOff, go }: StepProps) {
	return (
		<button type="button" class="step" aria-label={name} title={name} disabled={isOff} onClick={go}>
			<svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
				<path d={path} />
			</svg>
		</button>
	);
}
