/** The steps of a plan: what each waits for, what became of it, what it cost, and the way to run it again. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { closeDialog, Dialog } from "./dialog.tsx";
import { canBegin, doing } from "./doing.ts";
import { Wrong } from "./go-on.tsx";
import { pillOf } from "./pill.ts";
import type { PlanSteps } from "./shapes.ts";
import { Text } from "./text.tsx";
import { counted } from "./words.ts";

type Step = PlanSteps["steps"][number];

export function Steps({ plan, of }: { readonly plan: string; readonly of: readonly Step[] }) {
	const from = useSignal<Step | undefined>(undefined);
	if (of.length === 0) return <p class="quiet">The file that has them is gone, or changed.</p>;
	return (
		<>
			<ol class="steps-of">
				{of.map((step) => (
					<li key={step.id}>
						<p>
							<code>{step.id}</code> <Text of={step.description} />{" "}
							<span class={pillOf(step.status)}>{step.status}</span>
						</p>
						<p class="quiet">
							{[
								...(step.needs.length > 0 ? [`after ${step.needs.join(", ")}`] : []),
								...(step.attempt > 0 ? [`try ${step.attempt + 1}`] : []),
								...(step.model === undefined ? [] : [`by ${step.model}`]),
								...(step.tokens === undefined ? [] : [counted(step.tokens, "token")]),
								...(step.atLeast === undefined ? [] : [`at least ${counted(step.atLeast, "token")} so far`]),
							].join(" · ")}
						</p>
						{step.children?.map(({ run, skill, status }) => (
							<p class="quiet" key={run}>
								<Text of={`skill ${skill}, ${run}`} /> <span class={pillOf(status)}>{status}</span>
							</p>
						))}
						{step.beginning !== undefined && (
							<p class="quiet">
								<Text of={step.beginning} />
							</p>
						)}
						{step.reason !== undefined && (
							<p class="refused">
								<Text of={step.reason} />
							</p>
						)}
						{step.status !== "pending" && canBegin("plan resume") && (
							<button
								type="button"
								class="pill-button"
								aria-haspopup="dialog"
								aria-label={`Run ${step.id} of plan ${plan} again`}
								onClick={() => {
									from.value = step;
								}}
							>
								Again from here…
							</button>
						)}
					</li>
				))}
			</ol>
			{from.value && (
				<Again
					plan={plan}
					from={from.value}
					steps={of}
					onClosed={() => {
						from.value = undefined;
					}}
				/>
			)}
		</>
	);
}

interface AgainProps {
	readonly plan: string;
	readonly from: Step;
	readonly steps: readonly Step[];
	onClosed(): void;
}

function Again({ plan, from, steps, onClosed }: AgainProps) {
	const own = useMemo(doing, []);
	const again = steps.filter(({ id }) => from.again.includes(id));
	const over = again.filter(({ tokens }) => tokens !== undefined);
	const tokens = over.reduce((sum, step) => sum + (step.tokens ?? 0), 0);
	return (
		<Dialog title={`Run ${from.id} of plan ${plan} again`} isHeld={own.isDoing.value} onClosed={onClosed}>
			<p>
				{again.length === 1 ? "This step runs again" : `These run again: ${from.again.join(", ")}`}, and what it has
				done outside of this history, it may do again.
			</p>
			<p>
				{over.length > 0
					? `${over.map(({ id }) => id).join(", ")} took ${counted(tokens, "token")} so far; what ${over.length === 1 ? "it takes" : "they take"} now is not known.`
					: "What that takes is not known: none of them was over."}
			</p>
			<p>What they found stays in the history.</p>
			<Wrong of={own} />
			<div class="buttons">
				<button type="button" data-first disabled={own.isDoing.value} onClick={closeDialog}>
					Cancel
				</button>
				<button
					type="button"
					disabled={own.isDoing.value}
					onClick={async () => {
						if (await own.start("plan resume", { id: plan, from: from.id })) closeDialog();
					}}
				>
					{own.isDoing.value ? "Working …" : "Run again"}
				</button>
			</div>
		</Dialog>
	);
}
