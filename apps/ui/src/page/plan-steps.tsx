/** The steps of a plan: what each waits for, what became of it, what it cost, and the way to run it again. */
import { amending } from "./amend.tsx";
import { confirm } from "./confirm.tsx";
import { isOffered } from "./doing.ts";
import { pillOf } from "./pill.ts";
import type { PlanSteps } from "./shapes.ts";
import { Text } from "./text.tsx";
import { counted } from "./words.ts";

type Step = PlanSteps["steps"][number];

interface StepsProps {
	readonly plan: string;
	readonly of: readonly Step[];
	/** Of the plan: one that was given up is neither run again nor amended, and one that has its answer not amended. */
	readonly status: string;
}

export function Steps({ plan, of, status }: StepsProps) {
	if (of.length === 0) return <p class="quiet">The file that has them is gone, or changed.</p>;
	const isInFlight = status === "running" || status === "paused";
	const isAgain = status !== "aborted" && isOffered("plan resume");
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
						{step.status !== "pending" && isAgain && (
							<button
								type="button"
								class="pill-button"
								aria-haspopup="dialog"
								aria-label={`Run ${step.id} of plan ${plan} again`}
								onClick={() => again(plan, step.id)}
							>
								Again from here…
							</button>
						)}
					</li>
				))}
			</ol>
			{isInFlight && of.some((step) => step.status === "pending") && isOffered("plan amend") && (
				<div class="buttons">
					<button
						type="button"
						aria-haspopup="dialog"
						aria-label={`Amend plan ${plan}`}
						onClick={() => {
							amending.value = { plan, steps: of };
						}}
					>
						Amend…
					</button>
				</div>
			)}
		</>
	);
}

/** What would run, and what that took last, is shown before it is begun. */
const again = (plan: string, from: string): void =>
	confirm({
		...{ verb: "plan resume", given: { id: plan, from }, isGoing: false },
		...{ title: `Run ${from} of plan ${plan} again?`, button: "Run again" },
		note: "What they have done outside of this history, they may do again. What they found stays in the history.",
	});
