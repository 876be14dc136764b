/** What was done to the history, and taking it back. */
import * as asks from "../server/asks.ts";
import { look } from "./api.ts";
import { confirm } from "./confirm.tsx";
import { isRead, tip } from "./log.ts";
import { reading } from "./reading.ts";
import { server } from "./session.ts";
import type { Look, Move } from "./shapes.ts";
import { Text } from "./text.tsx";
import { age } from "./words.ts";

type Step = "undo" | "redo";

const moves = reading<Readonly<Record<Step, readonly Move[]>>>(() => {
	if (!isRead.value) return undefined;
	return {
		key: String(tip.value),
		async read(signal) {
			const listed = (step: Step): Promise<Look> => look(step, asks.moves(step).given, signal);
			const [undo, redo] = await Promise.all([listed("undo"), listed("redo")]);
			return { undo: undo.document?.moves ?? [], redo: redo.document?.moves ?? [] };
		},
	};
});

export function step(verb: Step): void {
	const { value, isReading } = moves.peek();
	// What is being read is not known yet: the preview will say what it is, or that there is nothing.
	const [move] = isReading ? [] : (value?.[verb] ?? []);
	if ((!move && !isReading) || server.peek()?.readOnly !== null) return;
	const name = verb === "undo" ? "Undo" : "Redo";
	confirm({ verb, given: {}, title: move ? `${name} ${move.what}?` : `${name}?`, button: name, isGoing: true });
}

export function Moves() {
	const { value, error } = moves.value;
	return (
		<section class="card" aria-labelledby="moves">
			<h2 id="moves">Moves</h2>
			{error !== undefined && <p class="refused">{error}</p>}
			{!value && error === undefined && <p class="quiet waiting">reading …</p>}
			{value && <Done undo={value.undo} redo={value.redo} />}
		</section>
	);
}

function Done({ undo, redo }: Readonly<Record<Step, readonly Move[]>>) {
	const isChangeable = server.value?.readOnly === null;
	return (
		<>
			{undo.length === 0 && <p class="quiet">None that can be undone.</p>}
			<ul class="moves">
				{undo.map(({ seq, what, ts = 0 }) => (
					<li key={seq}>
						<span class="seq">#{seq}</span> <Text of={what} /> <span class="quiet">{age(ts)}</span>
					</li>
				))}
			</ul>
			{isChangeable && (
				<>
					<Back verb="undo" name="Undo" letter="u" of={undo[0]} />
					<Back verb="redo" name="Redo" letter="U" of={redo[0]} />
				</>
			)}
		</>
	);
}

interface BackProps {
	readonly verb: Step;
	readonly name: string;
	readonly letter: string;
	readonly of: Move | undefined;
}

function Back({ verb, name, letter, of }: BackProps) {
	return (
		<div class="back">
			<button type="button" disabled={!of} aria-describedby={`would-${verb}`} onClick={() => step(verb)}>
				{name}…{" "}
				<span class="key" aria-hidden="true">
					{letter}
				</span>
			</button>
			<span class="quiet" id={`would-${verb}`}>
				{of ? <Text of={of.what} /> : `nothing to ${verb}`}
			</span>
		</div>
	);
}
