/** A state with a history, and the page of it: the server as it runs, over a log on a disk. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { offlineModel } from "@reyn/offline-model";
import { givenFor } from "@reyn/operator";
import { layoutOf, mainSession, openRuntime, type Runtime, type RuntimeOptions } from "@reyn/runtime";
import { type Served, type Subject, serve } from "../src/server/index.ts";

const app = join(import.meta.dirname, "..");

/** Where nothing was built yet, the page is: it takes a moment. */
export function buildPage(): void {
	if (existsSync(join(app, "dist/page/page.js"))) return;
	execFileSync(process.execPath, [join(app, "../../node_modules/rolldown/bin/cli.mjs"), "-c"], { cwd: app });
}

export interface Answer {
	readonly status: number;
	readonly headers: Headers;
	// biome-ignore lint/suspicious/noExplicitAny: what a test looks into is told by what it expects
	readonly body: any;
}

export interface House extends AsyncDisposable {
	readonly state: string;
	readonly writer: Runtime;
	readonly served: Served;
	readonly subject: Subject;
	/** The key that the page has. */
	readonly token: string;
	/** As the page asks. */
	ask(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
	/** What the server says to these bytes, until it or this end closes. `HOST` stands for its own address. */
	raw(bytes: string): Promise<string>;
}

/** @param own what its writer has besides: with a model of its own it has said nothing yet */
export async function openHouse(more: Partial<Subject> = {}, own: Partial<RuntimeOptions> = {}): Promise<House> {
	buildPage();
	const state = await mkdtemp(join(tmpdir(), "reyn-ui-"));
	const options = { state, model: offlineModel(), tools: [], ...own };
	const writer = await openRuntime(options);
	if (!own.model) {
		await writer.prompt("Who keeps the lighthouse?");
		await writer.idle();
		await writer.prompt("What does a fox do by day?");
		await writer.idle();
	}
	const subject: Subject = {
		...{ name: "/work", session: mainSession, log: layoutOf(state).wal },
		open: () => openRuntime({ ...options, readOnly: true }),
		act: (verb, seen) => verb.act(writer, seen, "page"),
		...more,
	};
	const page = await openPage(subject);
	const { served, token, ask } = page;
	return {
		...{ state, writer, served, subject, token, ask },
		async raw(bytes) {
			const socket = connect(served.port, "127.0.0.1");
			socket.on("error", () => {});
			socket.write(bytes.replaceAll("HOST", `127.0.0.1:${served.port}`).replaceAll("TOKEN", token));
			return text(socket).catch(() => "");
		},
		async [Symbol.asyncDispose]() {
			await served.close();
			await writer.close();
			await rm(state, { recursive: true });
		},
	};
}

export interface Page extends AsyncDisposable, Pick<House, "served" | "token" | "ask"> {}

/** A page that has its key. */
export async function openPage(subject: Subject): Promise<Page> {
	const served = await serve(subject);
	const at = `http://127.0.0.1:${served.port}`;
	const ask = async (path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> => {
		const response = await fetch(at + path, {
			headers: {
				authorization: `Bearer ${token}`,
				...(body !== undefined && { "content-type": "application/json" }),
				...headers,
			},
			...(body !== undefined && { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) }),
		});
		const said = await response.text();
		const isJson = response.headers.get("content-type")?.startsWith("application/json");
		return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(said) : said };
	};
	let token = "";
	token = (await ask("/api/session", { code: codeOf(served) })).body.token;
	return { served, token, ask, [Symbol.asyncDispose]: () => served.close() };
}

/** Work that a page begins is begun by the writer of its house. */
export const beginsBy = (writer: Runtime): Pick<Subject, "begin" | "holder"> => ({
	begin: async (verb, given) => ({
		begun: verb.begun.parse(await verb.begin(writer, givenFor(verb, given))) as object,
		pid: 7,
	}),
	holder: async () => 7,
});

/** A script run that asks one thing with choices and one without. */
export async function askIn(writer: Runtime, [which = "", choice = "", why = ""]: readonly string[]): Promise<string> {
	const source = `export default (ctx, [which, choice, why]) => ctx.parallel([
		() => ctx.ask(which, { choices: ["this", choice] }), () => ctx.ask(why)]);`;
	const { run, end } = await writer.scripts.start({ name: "asks.ts", source }, [which, choice, why]);
	await end;
	return run;
}

export const codeOf = ({ address }: Served): string => address.slice(address.indexOf("#k=") + 3);
