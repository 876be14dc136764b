/** Takes a directory from some files to others, tells each change that this asks of the file system, and is killed (`kill -9`) before the n-th. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [directory = "", action, fatal, states = ""] = process.argv.slice(2);
const [from, to] = JSON.parse(states) as [Record<string, string>, Record<string, string>];

let changes = 0;
function change(name: string, path: unknown): void {
	if (++changes === Number(fatal)) process.kill(process.pid, "SIGKILL");
	fs.writeSync(1, `${name} ${String(path).slice(directory.length + 1)}\n`);
}

/** Has the methods of an object tell what they are called on before they do it. */
function watch(owner: object, names: readonly string[], pathOf: (self: object, first: unknown) => unknown): void {
	for (const name of names) {
		const method = Reflect.get(owner, name) as (...args: unknown[]) => unknown;
		Reflect.set(owner, name, function (this: object, ...args: unknown[]) {
			change(name, pathOf(this, args[0]));
			return method.apply(this, args);
		});
	}
}

const paths = new WeakMap<object, unknown>();
const { open } = fs.promises;
const file = await open(import.meta.filename);
watch(Object.getPrototypeOf(file), ["write", "sync", "datasync"], (self) => paths.get(self));
await file.close();
watch(fs.promises, ["mkdir", "rename", "rmdir", "unlink"], (_, path) => path);
fs.promises.open = async (...args) => {
	if (args[1] === "wx") change("create", args[0]);
	const opened = await open(...args);
	paths.set(opened, args[0]);
	return opened;
};
// What imports from "node:fs/promises" by name gets these too.
syncBuiltinESMExports();

const { fileGenerations } = await import("../src/files/index.ts");
const { viewOf } = await import("./files-view.ts");
const generations = fileGenerations({ directory, tracks: () => true });
if (action === "restore") await generations.restore(viewOf(from), viewOf(to));
if (action === "write") {
	const log = {
		append: ({ kind, data }: { kind: string; data: unknown }) => {
			const record = { seq: 1, ts: 0, kind, scope: {}, data, crc: "00000000" };
			// Durable when it is waited for, and not before.
			const durable = async (): Promise<void> => change("durable", `${directory}/log`);
			return {
				seq: 1,
				record,
				get durable() {
					return durable();
				},
			};
		},
	};
	for (const [path, content] of Object.entries(to)) await generations.write(log, viewOf(from), path, content);
}
