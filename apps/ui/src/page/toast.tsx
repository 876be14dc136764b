/** Says that something was done, for a while, to screen readers too. */
import { signal } from "@preact/signals";
import { Text } from "./text.tsx";

const said = signal<readonly string[]>([]);
let timer = 0;

export function tell(lines: readonly string[]): void {
	said.value = lines;
	clearTimeout(timer);
	timer = setTimeout(untell, 10_000);
}

export function untell(): void {
	clearTimeout(timer);
	said.value = [];
}

export function Toast() {
	return (
		<div class="toasts" role="status">
			{said.value.length > 0 && (
				<div class="toast">
					<div>
						{said.value.map((line) => (
							<p key={line}>
								<Text of={line} />
							</p>
						))}
					</div>
					<button type="button" aria-label="Close what was said" onClick={untell}>
						×
					</button>
				</div>
			)}
		</div>
	);
}
