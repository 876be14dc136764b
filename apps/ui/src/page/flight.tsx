/** What runs now, or waits: plans, scripts and skills that are not finished, and how each goes on. */
import { read } from "./api.ts";
import { confirm } from "./confirm.tsx";
import { isOffered } from "./doing.ts";
import { GoOn } from "./go-on.tsx";
import { pillOf } from "./pill.ts";
import { Steps } from "./plan-steps.tsx";
import { Question } from "./question.tsx";
import { OverScripts, ScriptCard } from "./scripts.tsx";
import { server } from "./session.ts";
import type { Plan, PlanSteps, SkillRun } from "./shapes.ts";
import { Text } from "./text.tsx";
import { Newest, Unfolded } from "./unfolded.tsx";
import { work } from "./work.ts";

export function Flight() {
	return (
		<section class="card" aria-labelledby="flight">
			<h2 id="flight">In flight</h2>
			<All />
		</section>
	);
}

function All() {
	const { value, error } = work.value;
	if (error !== undefined) return <p class="refused">{error}</p>;
	if (!value) return <p class="quiet waiting">reading …</p>;
	const { open, plans, scripts, skills, questions } = value;
	const isIdle = open.length + plans.length + scripts.length + skills.length === 0;
	// A process that hears nobody is not known.
	const isLeft = server.value?.holder === null && [...plans, ...skills].some(({ status }) => status === "running");
	return (
		<>
			{isIdle && <p class="quiet">Nothing runs, and nothing waits.</p>}
			{isLeft && (
				<>
					<p class="quiet">Nobody is known to work on what is running. What is recorded of it is not paid again.</p>
					<GoOn verb="resume" name="Go on" label="Go on with all that was cut" />
				</>
			)}
			{questions.map((each) => (
				<Question key={each.seq} of={each} />
			))}
			{plans.map((each) => (
				<PlanCard key={each.plan} of={each} />
			))}
			{scripts.map((each) => (
				<ScriptCard key={each.run} of={each} />
			))}
			{skills.map((each) => (
				<SkillCard key={each.run} of={each} />
			))}
			<OverPlans />
			<OverScripts />
		</>
	);
}

function PlanCard({ of: { plan, goal, status, why, finished, failed, size, tokens } }: { readonly of: Plan }) {
	return (
		<article class="work">
			<h3>
				plan <Text of={plan} /> <span class={pillOf(status)}>{status}</span>
			</h3>
			<p>
				<Text of={goal} />
			</p>
			{why !== undefined && (
				<p class="quiet">
					<Text of={why} />
				</p>
			)}
			<progress max={size} value={finished} aria-label={`plan ${plan}: steps finished`} />
			<p class="quiet work-sum">
				<span>
					{finished} of {size} steps{failed > 0 && `, ${failed} failed`}
				</span>
				{tokens > 0 && <span>{tokens.toLocaleString("en")} tokens</span>}
			</p>
			{status !== "rewound" && (
				<Unfolded
					name="Steps"
					read={(signal) => read<PlanSteps>("plan show", { id: plan }, signal)}
					shown={({ steps }) => <Steps plan={plan} of={steps} status={status} />}
				/>
			)}
			{status === "paused" && (
				<Confirmed verb="plan resume" name="Go on" given={{ id: plan }} what={`with plan ${plan}`} />
			)}
			{status === "running" && <Confirmed verb="plan pause" name="Pause" given={{ id: plan }} what={`plan ${plan}`} />}
			{!isOver(status) && <Confirmed verb="plan discard" name="Discard" given={{ id: plan }} what={`plan ${plan}`} />}
		</article>
	);
}

/** Those that have their answer can run again from a step; those that were given up, or left by a move, are there again by undo. */
function OverPlans() {
	if (!isOffered("plan list")) return null;
	return (
		<Unfolded
			name="Plans that are over"
			read={(signal) => read<readonly Plan[]>("plan list", { all: true }, signal)}
			shown={(all) => (
				<Newest
					of={all.filter(({ status }) => isOver(status)).toReversed()}
					shown={(each) => <PlanCard key={each.plan} of={each} />}
				/>
			)}
		/>
	);
}

const isOver = (status: string): boolean => status !== "running" && status !== "paused";

function SkillCard({ of: { run, skill, phase, status, why, parent } }: { readonly of: SkillRun }) {
	return (
		<article class="work">
			<h3>
				skill <Text of={skill} /> <span class={pillOf(status)}>{status}</span>
			</h3>
			<p class="quiet">
				<Text of={phase === undefined ? run : `${run}, at ${phase}`} />
				{parent && (
					<Text
						of={`, of ${parent.kind === "skill" ? "phase" : "step"} ${parent.step} of ${parent.kind} ${parent.id}`}
					/>
				)}
				{why !== undefined && <Text of={`, paused: ${why}`} />}
			</p>
			{status !== "running" && (
				<GoOn verb="skill resume" given={{ run }} name="Go on" label={`Go on with skill run ${run}`} />
			)}
			{!parent && <Confirmed verb="skill discard" name="Discard" given={{ run }} what={`skill run ${run}`} />}
		</article>
	);
}

interface ConfirmedProps {
	readonly verb: string;
	readonly name: string;
	readonly given: Readonly<Record<string, string>>;
	readonly what: string;
}

/** A button for what is shown before it is done. */
function Confirmed({ verb, name, given, what }: ConfirmedProps) {
	if (!isOffered(verb)) return null;
	return (
		<div class="buttons">
			<button
				type="button"
				aria-label={`${name} ${what}`}
				onClick={() => {
					confirm({ verb, given, title: `${name} ${what}?`, button: name, isGoing: false });
				}}
			>
				{name}…
			</button>
		</div>
	);
}
