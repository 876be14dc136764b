/** Writes of a plan, which wait while the disk is full. */
import { type Using, whenSpace } from "@reyn/journal";
import { systemTimers } from "@reyn/wal";

/** Writes, and waits while the disk is full. @throws the signal's reason, and other errors of `write` */
export function patiently<T>(
	lane: string,
	{ observe, timers = systemTimers, signal }: Using,
	write: () => T | Promise<T>,
): Promise<T> {
	const waiting = ({ code, message }: Error & { readonly code: string }): void =>
		observe?.({ type: "no_space", lane, kind: "plan_step", name: lane, code, reason: message });
	return whenSpace(write, waiting, timers, signal);
}
