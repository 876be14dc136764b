/** Takes out of the process of a script what the permission model of Node leaves in it. */
import { registerHooks } from "node:module";

/** Whoever got out of the realm would find little to go on with. To be called when all is loaded. */
export function strip(): void {
	// A Node that does not know the option that keeps it in would have started all the same.
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
