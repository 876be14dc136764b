/** A button that begins work, with the reason beside it where that was refused. */
import { useMemo } from "preact/hooks";
import type { Given } from "../server/asks.ts";
import { type Doing, doing, isOffered } from "./doing.ts";
import { Text } from "./text.tsx";

interface GoOnProps {
	readonly verb: string;
	readonly given?: Given;
	readonly name: string;
	/** For who does not see what it stands beside. */
	readonly label: string;
}

export function GoOn({ verb, given = {}, name, label }: GoOnProps) {
	const own = useMemo(doing, []);
	if (!isOffered(verb)) return null;
	return (
		<>
			<div class="buttons">
				<button
					type="button"
					aria-label={label}
					disabled={own.isDoing.value}
					onClick={() => void own.start(verb, given)}
				>
					{own.isDoing.value ? "Working …" : name}
				</button>
			</div>
			<Wrong of={own} />
		</>
	);
}

export function Wrong({ of: { wrong }, id }: { readonly of: Doing; readonly id?: string }) {
	return (
		<p id={id} class="refused" role="alert">
			{wrong.value !== "" && <Text of={wrong.value} />}
		</p>
	);
}
