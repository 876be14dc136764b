#!/usr/bin/env node
// Refused before anything is loaded: what is loaded needs a newer Node, and fails there with a stack trace.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
	console.error(`reyn needs Node.js 22.18 or newer; this is ${process.version}.`);
	process.exit(1);
}
// Whoever read our output has gone: there is nobody left to tell.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
	if (error.code === "EPIPE") process.exit(0);
	// The terminal has gone. A signal says so too, and what is under way is closed by that.
	if (error.code === "EIO") return;
	throw error;
});
const { main } = await import("./main.ts");
process.exitCode = await main(process.argv);

export {};
