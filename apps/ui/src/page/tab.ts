/** One more tab of the page: each has the key in its own memory, so it is given a code for it. */
import { codeForTab } from "./api.ts";
import { tell } from "./toast.tsx";

export async function openTab(): Promise<void> {
	try {
		open(`/#k=${await codeForTab()}`, "_blank", "noopener");
	} catch (error) {
		tell([error instanceof Error ? error.message : String(error)]);
	}
}
