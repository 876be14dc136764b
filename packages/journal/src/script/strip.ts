/** Removes from the process of an isolated script what Node's permission model leaves in it. */
import { registerHooks } from "node:module";

/** Makes sure that code which escapes the realm finds little to use. Call it when all modules are loaded. */
export function strip(): void {
	// A Node that does not know the permission option would have started without it.
	if (!process.permission || process.permission.has("fs.write") || process.permission.has("child")) process.exit(1);
	registerHooks({
		resolve() {
			throw new Error("nothing more is loaded here");
		},
	});
	const ways: readonly (readonly [object, readonly string[]])[] = [
		[process, ["binding", "_linkedBinding", "dlopen", "getBuiltinModule", "kill", "_kill", "_debugProcess", "execve"]],
		[globalThis, ["fetch", "WebSocket", "EventSource"]],
	];
	for (const [from, names] of ways) for (const name of names) Reflect.deleteProperty(from, name);
}
