/** The page of a process of `reyn ui`, asked as a browser does. */
import type { Killable } from "./killable.ts";

export interface Page {
	readonly process: Killable;
	/** As the page asks. */
	// biome-ignore lint/suspicious/noExplicitAny: what a test looks into is told by what it expects
	ask(path: string, body?: object): Promise<{ readonly status: number; readonly body: any }>;
}

export async function pageOf(process: Killable): Promise<Page> {
	const address = new URL(await process.line("http://127.0.0.1:"));
	let token = "";
	const ask: Page["ask"] = async (path, body) => {
		const response = await fetch(new URL(path, address), {
			headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
			...(body && { method: "POST", body: JSON.stringify(body) }),
		});
		return { status: response.status, body: await response.json() };
	};
	token = (await ask("/api/session", { code: address.hash.slice("#k=".length) })).body.token;
	return { process, ask };
}
