/** A PostgreSQL of one's own, for as long as the parent is there: `postgres.ts postgres <directory>`. Tells it the address. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, globSync, mkdirSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Start } from "../rival.ts";

/** What it answers, whatever it is asked. */
export interface Served {
	/** With a slash and the name of a database it is the URL of that. */
	readonly address: string;
}

/** The server refuses to be root. */
const NOBODY = 65_534;

const [, , , directory = ""] = process.argv;

let stop = (): void => process.exit();
process.on("disconnect", () => stop());

const programs = [
	...(process.env.PATH ?? "").split(delimiter),
	...globSync("/usr/lib/postgresql/*/bin").sort().reverse(),
].find((path) => path !== "" && existsSync(join(path, "initdb")) && existsSync(join(path, "postgres")));
if (programs) await serve(programs);
else process.send?.({ skipped: "PostgreSQL is not installed" } satisfies Start);

async function serve(programs: string): Promise<void> {
	mkdirSync(directory);
	const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined;
	if (user) {
		chownSync(directory, user.uid, user.gid);
		// The way to it, and nothing that lies beside it.
		chmodSync(dirname(directory), 0o711);
	}
	const data = join(directory, "data");
	const create = ["--pgdata", data, "--username=bench", "--auth=trust", "--encoding=UTF8", "--no-locale"];
	execFileSync(join(programs, "initdb"), create, { ...user, stdio: "ignore" });
	const port = await freePort();
	const settings = ["fsync=on", "synchronous_commit=on", "unix_socket_directories="];
	const server = spawn(
		join(programs, "postgres"),
		["-D", data, "-h", "127.0.0.1", "-p", String(port), ...settings.flatMap((each) => ["-c", each])],
		{ ...user, stdio: ["ignore", "ignore", "pipe"] },
	);
	server.on("exit", () => process.exit());
	// Without waiting for those who are connected.
	stop = () => server.kill("SIGINT");
	for await (const line of createInterface(server.stderr)) if (line.includes("ready to accept connections")) break;
	server.stderr.resume();
	process.on("message", () => process.send?.({ address: `postgresql://bench@127.0.0.1:${port}` } satisfies Served));
	process.send?.({ ready: true } satisfies Start);
}

async function freePort(): Promise<number> {
	const server = createServer().listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	server.close();
	await once(server, "close");
	return port;
}
