/** The keys, and a switch for them. */
import { Close, Dialog } from "./dialog.tsx";
import { areKeysOn, isSheetOpen, keys } from "./keys.ts";

const names: Readonly<Record<string, string>> = {
	ArrowDown: "↓",
	ArrowUp: "↑",
	ArrowLeft: "←",
	ArrowRight: "→",
	PageDown: "Page Down",
	PageUp: "Page Up",
	" ": "Space",
};

export function KeySheet() {
	const said = Map.groupBy(keys, ({ says }) => says);
	return (
		<Dialog
			title="Keys"
			onClosed={() => {
				isSheetOpen.value = false;
			}}
		>
			<dl class="keys">
				{[...said].map(([says, each]) => (
					<div key={says}>
						<dt>
							{each
								.flatMap((one) => one.keys)
								.map((key) => (
									<kbd key={key}>{names[key] ?? key}</kbd>
								))}
						</dt>
						<dd>{says}</dd>
					</div>
				))}
				<div>
					<dt>
						<kbd>Esc</kbd>
					</dt>
					<dd>close</dd>
				</div>
			</dl>
			<label class="switch">
				<input
					type="checkbox"
					checked={areKeysOn.value}
					onChange={({ currentTarget }) => {
						areKeysOn.value = currentTarget.checked;
					}}
				/>
				Single letters do something
			</label>
			<Close />
		</Dialog>
	);
}
