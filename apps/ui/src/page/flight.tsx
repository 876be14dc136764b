/** What runs now, or waits: plans, scripts and skills that are not finished, and how each goes on. */
import { read } from "./api.ts";
import { confirm } from "./confirm.tsx";
import { GoOn } from "./go-on.tsx";
import { pillOf } from "./pill.ts";
import { Steps } from "./plan-steps.tsx";
import { Question } from "./question.tsx";
import { server } from "./session.ts";
import type { Explanation, Plan, PlanSteps, RunView, ScriptRun, SkillRun } from "./shapes.ts";
import { Text } from "./text.tsx";
import { Unfolded } from "./unfolded.tsx";
import { counted } from "./words.ts";
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
	const { open, plans, scripts, skills } = value;
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
			{plans.map((each) => (
				<PlanCard key={each.plan} of={each} />
			))}
			{scripts.map((each) => (
				<ScriptCard key={each.run} of={each} />
			))}
			{skills.map((each) => (
				<SkillCard key={each.run} of={each} />
			))}
		</>
	);
}

function PlanCard({ of: { plan, goal, status, finished, size, tokens } }: { readonly of: Plan }) {
	return (
		<article class="work">
			<h3>
				plan <Text of={plan} /> <span class={pillOf(status)}>{status}</span>
			</h3>
			<p>
				<Text of={goal} />
			</p>
			<progress max={size} value={finished} aria-label={`plan ${plan}: steps finished`} />
			<p class="quiet work-sum">
				<span>
					{finished} of {size} steps
				</span>
				{tokens > 0 && <span>{tokens.toLocaleString("en")} tokens</span>}
			</p>
			<Unfolded
				name="Steps"
				read={(signal) => read<PlanSteps>("plan show", { id: plan }, signal)}
				shown={({ steps }) => <Steps plan={plan} of={steps} />}
			/>
			{status !== "running" && (
				<GoOn verb="plan resume" given={{ id: plan }} name="Go on" label={`Go on with plan ${plan}`} />
			)}
			<Discard verb="plan discard" given={{ id: plan }} what={`plan ${plan}`} />
		</article>
	);
}

function ScriptCard({ of: { run, name, questions } }: { readonly of: ScriptRun }) {
	return (
		<article class="work">
			<h3>
				script <Text of={run} />{" "}
				<span class={pillOf(questions.length > 0 ? "asks" : "open")}>{questions.length > 0 ? "asks" : "open"}</span>
			</h3>
			<p>
				<code>
					<Text of={name} />
				</code>
			</p>
			{questions.map((each) => (
				<Question key={each.seq} run={run} of={each} />
			))}
			<Unfolded
				name="Calls"
				read={(signal) => read<RunView>("script show", { run }, signal)}
				shown={({ calls }) => <Calls of={calls} words={became} />}
			/>
			{server.value?.verbs.includes("script explain") && (
				<Unfolded
					name="What going on would cost"
					read={(signal) => read<Explanation>("script explain", { run }, signal)}
					shown={(explanation) => <Price of={explanation} />}
				/>
			)}
			{questions.length === 0 && server.value?.holder === null && (
				<GoOn verb="script resume" given={{ run }} name="Go on" label={`Go on with script run ${run}`} />
			)}
		</article>
	);
}

type Words = Readonly<Record<string, string>>;

/** What became of a call. */
const became: Words = {
	...{ hit: "recalled", live: "made", calling: "under way", kept: "recorded", in_doubt: "in doubt" },
	retrying: "tried again",
};

/** What would become of one. */
const becomes: Words = { hit: "recalled", live: "to be made", again: "asked again", in_doubt: "in doubt" };

function Calls({ of, words }: { readonly of: RunView["calls"]; readonly words: Words }) {
	if (of.length === 0) return <p class="quiet">It made no call yet.</p>;
	return (
		<ol class="steps-of">
			{of.map(({ lane, at, kind, label, state, tokens }) => (
				<li key={`${lane} ${at}`}>
					{kind} <Text of={label} />{" "}
					<span class={pillOf(state)}>
						{kind === "ask" && (state === "in_doubt" || state === "calling") ? "not answered" : (words[state] ?? state)}
					</span>
					{tokens !== undefined && <span class="quiet"> {tokens.toLocaleString("en")} tokens</span>}
				</li>
			))}
		</ol>
	);
}

function Price({ of: { calls, saved, guessed, toPay, unknown, isWhole, unreached } }: { readonly of: Explanation }) {
	const isLeast = guessed > 0 || !isWhole || unreached.length > 0;
	return (
		<>
			<p>
				{saved.toLocaleString("en")} tokens recalled, {isLeast && "at least "}
				{toPay.toLocaleString("en")} to pay
				{unknown > 0 && `, and ${counted(unknown, "call")} of unknown price`}
			</p>
			<Calls
				words={becomes}
				of={calls.map(({ toPay: tokens, ...call }) => ({ ...call, ...(tokens ? { tokens } : {}) }))}
			/>
			{unreached.length > 0 && (
				<p class="quiet">
					Made before, and not come to here:{" "}
					{unreached
						.slice(0, 5)
						.map(({ seq }) => `#${seq}`)
						.join(", ")}
					{unreached.length > 5 && ` and ${unreached.length - 5} more`}. Where an answer comes otherwise it may be made
					again.
				</p>
			)}
		</>
	);
}

function SkillCard({ of: { run, skill, phase, status } }: { readonly of: SkillRun }) {
	return (
		<article class="work">
			<h3>
				skill <Text of={skill} /> <span class={pillOf(status)}>{status}</span>
			</h3>
			<p class="quiet">
				<Text of={phase === undefined ? run : `${run}, at ${phase}`} />
			</p>
			{status !== "running" && (
				<GoOn verb="skill resume" given={{ run }} name="Go on" label={`Go on with skill run ${run}`} />
			)}
			<Discard verb="skill discard" given={{ run }} what={`skill run ${run}`} />
		</article>
	);
}

function Discard({ verb, given, what }: { verb: string; given: Readonly<Record<string, string>>; what: string }) {
	if (server.value?.readOnly !== null) return null;
	return (
		<div class="buttons">
			<button
				type="button"
				aria-label={`Discard ${what}`}
				onClick={() => {
					confirm({ verb, given, title: `Discard ${what}?`, button: "Discard", isGoing: false });
				}}
			>
				Discard…
			</button>
		</div>
	);
}
