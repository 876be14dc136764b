/** Script runs: what they ask and have called, what going on costs, and those that are over. */
import { read } from "./api.ts";
import { Calls, type Words } from "./calls.tsx";
import { GoOn } from "./go-on.tsx";
import { Meter } from "./meter.tsx";
import { pillOf } from "./pill.ts";
import { server } from "./session.ts";
import type { RunView, ScriptRun } from "./shapes.ts";
import { Text } from "./text.tsx";
import { Newest, Unfolded } from "./unfolded.tsx";

export function ScriptCard({ of: { run, name, status, started, questions } }: { readonly of: ScriptRun }) {
	const now = questions.length > 0 ? "asks" : status;
	return (
		<article class="work">
			<h3>
				script <Text of={run} /> <span class={pillOf(now)}>{now}</span>
			</h3>
			<p>
				<code>
					<Text of={name} />
				</code>
			</p>
			<Unfolded
				name="Calls"
				read={(signal) => read<RunView>("script show", { run }, signal)}
				shown={({ calls }) => <Calls of={calls} words={became} />}
			/>
			{isExplained() && <Meter run={run} started={started} isOver={status !== "open"} />}
			{status !== "completed" && questions.length === 0 && server.value?.holder === null && (
				<GoOn verb="script resume" given={{ run }} name="Go on" label={`Go on with script run ${run}`} />
			)}
		</article>
	);
}

/** Runs that are over: what a crash would have cost, wherever it had come. */
export function OverScripts() {
	if (!isExplained()) return null;
	return (
		<Unfolded
			name="Scripts that are over"
			read={(signal) => read<readonly ScriptRun[]>("script list", {}, signal)}
			shown={(all) => (
				<Newest
					of={all.filter(({ status }) => status !== "open")}
					shown={(each) => <ScriptCard key={each.run} of={each} />}
				/>
			)}
		/>
	);
}

/** A copy of the page, and a page without a process to run scripts ahead in, explain none. */
const isExplained = (): boolean => server.value?.verbs.includes("script explain") ?? false;

/** What became of a call. */
const became: Words = {
	...{ hit: "recalled", live: "made", calling: "under way", kept: "recorded", in_doubt: "in doubt" },
	retrying: "tried again",
};
