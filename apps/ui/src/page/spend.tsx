/** What all that happened has cost: a sum in the header, and where it went. */
import { signal } from "@preact/signals";
import * as asks from "../server/asks.ts";
import { read } from "./api.ts";
import { Close, Dialog } from "./dialog.tsx";
import { isRead, tip } from "./log.ts";
import { reading } from "./reading.ts";
import type { Spend, Total } from "./shapes.ts";
import { Text } from "./text.tsx";
import { counted, dollars } from "./words.ts";

export const isSpendOpen = signal(false);

const spend = reading<Spend>(() =>
	isRead.value
		? { key: String(tip.value), read: (signal) => read<Spend>(asks.spend.verb, asks.spend.given, signal) }
		: undefined,
);

const tokensIn = ({ inputTokens, outputTokens }: Total): number => inputTokens + outputTokens;

export function SpendPill() {
	const { value, error } = spend.value;
	if (error !== undefined) return <span class="pill pill-warn">paid: unknown</span>;
	if (!value) return null;
	return (
		<button
			type="button"
			class="pill-button"
			aria-haspopup="dialog"
			onClick={() => {
				isSpendOpen.value = true;
			}}
		>
			{counted(tokensIn(value.paid), "token")} paid{value.paid.cost.usd !== "0" && `, ${dollars(value.paid.cost)}`}{" "}
			<span class="key" aria-hidden="true">
				$
			</span>
		</button>
	);
}

export function SpendDialog() {
	const { value, error } = spend.value;
	return (
		<Dialog
			title="What was paid for"
			onClosed={() => {
				isSpendOpen.value = false;
			}}
		>
			{error !== undefined && <p class="refused">{error}</p>}
			{value && <Sums of={value} />}
			{!value && error === undefined && <p class="quiet waiting">reading …</p>}
			<Close />
		</Dialog>
	);
}

function Sums({ of: { since, paid, left, recalled, failed, by } }: { readonly of: Spend }) {
	return (
		<>
			<table class="sums">
				<thead>
					<tr>
						<th scope="col">what</th>
						<th scope="col">calls</th>
						<th scope="col">tokens in</th>
						<th scope="col">tokens out</th>
						<th scope="col">cost</th>
					</tr>
				</thead>
				<tbody>
					<Row what="all that was paid for" of={paid} />
					{left.calls > 0 && <Row what="of that, on lines that were left" of={left} />}
					{recalled.calls > 0 && <Row what="taken over from another line, not paid again" of={recalled} />}
					{by.map(({ kind, name, paid: own }) => (
						<Row key={`${kind} ${name}`} what={`${kind} ${name}`} of={own} />
					))}
				</tbody>
			</table>
			{failed > 0 && <p class="quiet">What {counted(failed, "call")} that failed cost is not known.</p>}
			{since > 1 && <p class="quiet">Since #{since}. What came before was taken away by gc, and is not known.</p>}
		</>
	);
}

function Row({ what, of }: { readonly what: string; readonly of: Total }) {
	return (
		<tr>
			<th scope="row">
				<Text of={what} />
			</th>
			{[of.calls, of.inputTokens, of.outputTokens].map((count, column) => (
				<td key={String(column)}>{count.toLocaleString("en")}</td>
			))}
			<td>{dollars(of.cost)}</td>
		</tr>
	);
}
