/** A value of the log as it is. */
import { useSignal } from "@preact/signals";
import { Text } from "./text.tsx";

/** More than this makes a page slow, and is read by few. */
const MOST = 40_000;

export function Json({ of }: { readonly of: unknown }) {
	const isWhole = useSignal(false);
	const text = JSON.stringify(of, null, 2) ?? "";
	const beyond = text.length - MOST;
	return (
		<div class="json">
			<pre>
				<Text of={isWhole.value || beyond <= 0 ? text : text.slice(0, MOST)} />
			</pre>
			{beyond > 0 && !isWhole.value && (
				<button
					type="button"
					onClick={() => {
						isWhole.value = true;
					}}
				>
					{beyond.toLocaleString("en")} more characters
				</button>
			)}
		</div>
	);
}
