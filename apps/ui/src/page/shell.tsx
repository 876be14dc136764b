/** The page as a whole: its header, its three columns, and what lies above them. */
import { AmendDialog, amending } from "./amend.tsx";
import { connection, isCopy } from "./api.ts";
import { Confirm, task } from "./confirm.tsx";
import { Flight } from "./flight.tsx";
import { Going } from "./going.tsx";
import { KeySheet } from "./key-sheet.tsx";
import { isSheetOpen } from "./keys.ts";
import { LabelDialog, naming } from "./label-dialog.tsx";
import { retryIn, trouble } from "./live.ts";
import { tip } from "./log.ts";
import { Moment } from "./moment.tsx";
import { Moves } from "./moves.tsx";
import { chosen, server, session } from "./session.ts";
import { isSpendOpen, SpendDialog, SpendPill } from "./spend.tsx";
import { openTab } from "./tab.ts";
import { plain, Text } from "./text.tsx";
import { Timeline } from "./timeline.tsx";
import { Toast } from "./toast.tsx";
import { counted } from "./words.ts";

export function Shell() {
	if (connection.value === "no key") return <NoKey />;
	return (
		<div class={`shell${connection.value === "gone" ? " shell-gone" : ""}`}>
			<Header />
			<Banner />
			<div class="columns">
				<Timeline />
				<Moment />
				<aside class="pane now" aria-label="Now">
					<Going />
					<Flight />
					<Moves />
				</aside>
			</div>
			<Toast />
			{task.value && <Confirm key={task.value.id} of={task.value} />}
			{naming.value !== undefined && <LabelDialog seq={naming.value} />}
			{amending.value && <AmendDialog of={amending.value} />}
			{isSheetOpen.value && <KeySheet />}
			{isSpendOpen.value && <SpendDialog />}
		</div>
	);
}

function NoKey() {
	return (
		<main class="alone">
			<h1>This page has no key</h1>
			<p>
				A link opens one page, once, and reloading it forgets the key. Run <code>reyn ui</code> again for another link.
			</p>
		</main>
	);
}

function Header() {
	const state = server.value;
	return (
		<header class="head">
			<b class="brand">reyn</b>
			{state && (
				<>
					<span class="directory" title={state.directory}>
						<Text of={state.directory} />
					</span>
					<Sessions />
					<span class="space" />
					<SpendPill />
					<span class="pill">tip #{tip.value}</span>
					<Writer />
					{state.wal.torn !== null && <span class="pill pill-warn">torn tail: {counted(state.wal.torn, "byte")}</span>}
					{state.readOnly !== null && (
						<span class="pill pill-warn read-only" title={state.readOnly}>
							read-only: <Text of={state.readOnly} />
						</span>
					)}
				</>
			)}
			{!isCopy() && (
				<button type="button" class="pill-button" onClick={() => void openTab()}>
					New tab{" "}
					<span class="key" aria-hidden="true">
						t
					</span>
				</button>
			)}
			<button
				type="button"
				class="pill-button"
				aria-haspopup="dialog"
				onClick={() => {
					isSheetOpen.value = true;
				}}
			>
				Keys{" "}
				<span class="key" aria-hidden="true">
					?
				</span>
			</button>
		</header>
	);
}

/** Whose conversation and state is looked at; the timeline is of all. */
function Sessions() {
	const { sessions = [] } = server.value ?? {};
	if (sessions.length < 2)
		return (
			<span class="pill">
				<Text of={session.value ?? ""} />
			</span>
		);
	return (
		<select
			aria-label="Session"
			value={session.value}
			onChange={({ currentTarget }) => {
				chosen.value = currentTarget.value;
			}}
		>
			{sessions.map((each) => (
				<option key={each} value={each}>
					{plain(each)}
				</option>
			))}
		</select>
	);
}

/** Who has the log: it is written by one process at a time. */
function Writer() {
	const { holder } = server.value ?? {};
	if (holder === undefined) return null;
	if (holder === null) return <span class="pill">no process known to write</span>;
	return <span class="pill">{holder.isHere ? "this page writes" : `process ${holder.pid} writes`}</span>;
}

function Banner() {
	const isGone = connection.value === "gone";
	const again = retryIn.value > 0 ? `Trying again in ${retryIn.value} s.` : "Trying again.";
	return (
		<>
			<div class="banners" role="alert">
				{isGone && <p class="banner">The server is gone. What you see is as of #{tip.value}.</p>}
				{server.value?.waiting && (
					<p class="banner">
						{server.value.waiting.for === "space"
							? "The disk is full: what is worked on here waits until there is space. What is recorded is safe. "
							: "The log cannot be reached: what is worked on here waits for it. What is recorded is safe. "}
						<Text of={server.value.waiting.text} />
					</p>
				)}
				{server.value?.failed !== undefined && (
					<p class="banner">
						What was begun here could not go on: <Text of={server.value.failed} />
					</p>
				)}
				{trouble.value !== "" && (
					<p class="banner">
						<Text of={trouble.value} />
					</p>
				)}
			</div>
			{/* Read out once, and not each second. */}
			{isGone && (
				<p class="banner banner-again" aria-hidden="true">
					Is <code>reyn ui</code> still running? {again}
				</p>
			)}
		</>
	);
}
