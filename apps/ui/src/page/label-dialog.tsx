/** Gives a moment a name, which may be of another one until then, and takes names away. */
import { signal, useSignal } from "@preact/signals";
import { act, look, Refusal } from "./api.ts";
import { confirm } from "./confirm.tsx";
import { closeDialog, Dialog } from "./dialog.tsx";
import { refreshHistory } from "./log.ts";
import { moment } from "./moment.tsx";
import { Text } from "./text.tsx";
import { tell } from "./toast.tsx";

/** The moment that is to be named. */
export const naming = signal<number | undefined>(undefined);

export function LabelDialog({ seq }: { readonly seq: number }) {
	const name = useSignal("");
	const wrong = useSignal("");
	/** The moment that has the name now. */
	const other = useSignal<number | undefined>(undefined);
	const isActing = useSignal(false);

	const carryOut = async (move = false): Promise<void> => {
		if (name.value === "" || isActing.value) return;
		isActing.value = true;
		wrong.value = "";
		other.value = undefined;
		const given = { ref: String(seq), name: name.value, ...(move && { move }) };
		try {
			const { seen } = await look("label", given);
			tell((await act(seen)).lines);
			await refreshHistory().catch(() => {});
			closeDialog();
		} catch (error) {
			const isStale = error instanceof Refusal && error.status === 409;
			const why = error instanceof Error ? error.message : String(error);
			other.value = error instanceof Refusal ? ownerIn(error) : undefined;
			const moved = "Something moved in between, and nothing was written. Press Label again.";
			wrong.value = isStale ? moved : other.value === undefined ? why : `That is the name of #${other.value}.`;
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
						other.value = undefined;
					}}
				/>
				<p id="label-wrong" class="refused" role="alert">
					<Text of={wrong.value} />
				</p>
				{other.value !== undefined && (
					<div class="buttons">
						<button type="button" disabled={isActing.value} onClick={() => void carryOut(true)}>
							Move it here from #{other.value}
						</button>
					</div>
				)}
				<Names of={moment.value?.seq === seq ? (moment.value.labels ?? []) : []} />
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

/** The moment that the refusal of a name says has it. */
function ownerIn({ code, detail }: Refusal): number | undefined {
	if (code !== "OPERATOR_ARGS" || typeof detail !== "object" || detail === null) return undefined;
	const { seq } = detail as { readonly seq?: unknown };
	return typeof seq === "number" ? seq : undefined;
}

/** The names that the moment has, each of which can be taken away. */
function Names({ of }: { readonly of: readonly string[] }) {
	if (of.length === 0) return null;
	return (
		<div class="buttons">
			{of.map((name) => (
				<button
					type="button"
					key={name}
					onClick={() => {
						closeDialog();
						confirm({
							...{ verb: "unlabel", given: { name }, title: `Take the name “${name}” away?` },
							...{ button: "Take it away", isGoing: false },
						});
					}}
				>
					Take away “<Text of={name} />
					”…
				</button>
			))}
		</div>
	);
}
