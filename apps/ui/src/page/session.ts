/** The session of this tab: its key, and what the server says of itself. */
import { computed, signal } from "@preact/signals";
import { connection, openCopy, openSession, readState } from "./api.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import type { ServerState } from "./shapes.ts";

export const server = signal<ServerState | undefined>(undefined);

/** Which session was chosen to be looked at. undefined: that of the server. */
export const chosen = signal<string | undefined>(undefined);

/** The session that is looked at: one that a rewind has taken away is none. */
export const session = computed((): string | undefined => {
	const { session, sessions = [] } = server.value ?? {};
	return chosen.value !== undefined && sessions.includes(chosen.value) ? chosen.value : session;
});

/**
 * Takes the code out of the address at once: it is seen by nobody, and kept by no history.
 *
 * @returns is there a key?
 */
export async function begin(): Promise<boolean> {
	if (await openCopy()) return true;
	const code = /^#k=([^&/]+)/.exec(location.hash)?.[1];
	if (location.hash.startsWith("#k=")) history.replaceState(null, "", location.pathname);
	try {
		if (code !== undefined) {
			await openSession(decodeURIComponent(code));
			return true;
		}
	} catch {
		// Used up, or nobody there: another link is needed either way.
	}
	connection.value = "no key";
	return false;
}

export const refreshState = oneAtATime(async () => {
	server.value = await readState();
	connection.value = "open";
});
