/** Files that go along with a move of history: nobody's but those that tools have changed, and only where a person says so. */
import type { Look } from "./shapes.ts";

export interface Along {
	readonly files: boolean;
	/** Those too that somebody else has changed since. */
	readonly theirs: boolean;
	/** Is nothing done where a file would stay? */
	readonly allOrNothing: boolean;
}

interface FilesProps {
	readonly of: Along;
	/** Is it chosen here? Else they go along where the move that is taken back has taken them. */
	readonly isChosen: boolean;
	/** What was seen last. */
	readonly found: Look | undefined;
	readonly isDisabled: boolean;
	onChoice(next: Along): void;
}

export function FilesAlong({ of, isChosen, found, isDisabled, onChoice }: FilesProps) {
	const { files, filesSince } = found?.document ?? {};
	const kept = files?.kept.length ?? 0;
	const stay = files?.kept.filter(({ isTheirs }) => isTheirs).length ?? 0;
	// Where there are none, nothing is offered.
	const isOffered = of.files || (isChosen && found !== undefined && filesSince !== 0);
	return (
		<>
			{isOffered && (
				<Choice
					isOn={of.files}
					isDisabled={isDisabled}
					says={`Files that tools have changed go back too${filesSince === undefined ? "" : ` (${filesSince} written since)`}`}
					onChoice={(files) => onChoice({ files, theirs: false, allOrNothing: false })}
				/>
			)}
			{(stay > 0 || of.theirs) && (
				<Choice
					isOn={of.theirs}
					isDisabled={isDisabled}
					says="Also files that somebody else has changed since; undo brings theirs back"
					onChoice={(theirs) => onChoice({ ...of, theirs })}
				/>
			)}
			{isChosen && of.files && (kept > 0 || of.allOrNothing) && (
				<Choice
					isOn={of.allOrNothing}
					isDisabled={isDisabled}
					says="All files go back, or nothing is done"
					onChoice={(allOrNothing) => onChoice({ ...of, allOrNothing })}
				/>
			)}
		</>
	);
}

interface ChoiceProps {
	readonly isOn: boolean;
	readonly isDisabled: boolean;
	readonly says: string;
	onChoice(isOn: boolean): void;
}

function Choice({ isOn, isDisabled, says, onChoice }: ChoiceProps) {
	return (
		<label class="switch">
			<input
				type="checkbox"
				checked={isOn}
				disabled={isDisabled}
				onChange={({ currentTarget }) => onChoice(currentTarget.checked)}
			/>
			{says}
		</label>
	);
}
