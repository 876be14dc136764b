/** Gives a moment a name. */
import { signal, useSignal } from "@preact/signals";
import { act, look, Refusal } from "./api.ts";
import { closeDialog, Dialog } from "./dialog.tsx";
import { refreshHistory } from "./log.ts";
import { Text } from "./text.tsx";
import { tell } from "./toast.tsx";

/** The moment that is to be named. */
export const naming = signal<number | undefined>(undefined);

export function LabelDialog({ seq }: { readonly seq: number }) {
	const name = useSignal("");
	const wrong = useSignal("");
	const isActing = useSignal(false);

	const carryOut = async (): Promise<void> => {
		if (name.value === "" || isActing.value) return;
		isActing.value = true;
		wrong.value = "";
		const given = { ref: String(seq), name: name.value };
		try {
			const { seen } = await look("label", given);
			tell((await act(seen)).lines);
			await refreshHistory().catch(() => {});
			closeDialog();
		} catch (error) {
			const isStale = error instanceof Refusal && error.status === 409;
			const why = error instanceof Error ? error.message : String(error);
			wrong.value = isStale ? "Something moved in between, and nothing was written. Press Label again." : why;
		}
		isActing.value = false;
	};
	return (
		<Dialog
			title={`Label #${seq}`}
			isHeld={isActing.value}
			onClosed={() => {
				naming.value = undefined;
			}}
		>
			<form
				onSubmit={(event) => {
					event.preventDefault();
					void carryOut();
				}}
			>
				<label for="label-name">Its name: letters, digits, dot, _ and -</label>
				<input
					id="label-name"
					data-first
					autocomplete="off"
					spellcheck={false}
					maxLength={200}
					required
					aria-invalid={wrong.value !== ""}
					aria-describedby="label-wrong"
					value={name.value}
					onInput={({ currentTarget }) => {
						name.value = currentTarget.value;
					}}
				/>
				<p id="label-wrong" class="refused" role="alert">
					<Text of={wrong.value} />
				</p>
				<div class="buttons">
					<button type="button" disabled={isActing.value} onClick={closeDialog}>
						Cancel
					</button>
					<button type="submit" class="primary" disabled={isActing.value || name.value === ""}>
						{isActing.value ? "Working …" : "Label"}
					</button>
				</div>
			</form>
		</Dialog>
	);
}
