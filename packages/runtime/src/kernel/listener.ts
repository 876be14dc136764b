/** Guards listeners of the embedder: an error of one ends neither the events nor the process. */
import { reasonOf } from "@reyn/journal/internal";

type Listen = <Event extends { readonly type: string }>(event: Event) => void;

/** Wraps a listener. What it throws or rejects with becomes a warning of the process, once for each type of event. */
export function undaunted(listen: Listen): Listen {
	const warned = new Set<string>();
	const warn = (type: string, error: unknown): void => {
		if (warned.has(type)) return;
		warned.add(type);
		const text = `onEvent threw when it was told of ${type}, and is told of what comes all the same: ${reasonOf(error).message}`;
		const { stack: detail } = (error ?? {}) as { stack?: unknown };
		process.emitWarning(text, { code: "REYN_LISTENER", ...(typeof detail === "string" && { detail }) });
	};
	return (event) => {
		try {
			const heard: unknown = listen(event);
			if (heard instanceof Promise) heard.catch((error: unknown) => warn(event.type, error));
		} catch (error) {
			warn(event.type, error);
		}
	};
}
