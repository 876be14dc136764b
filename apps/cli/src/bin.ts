#!/usr/bin/env node
// Refused before anything is loaded: what is loaded needs a newer Node, and fails there with a stack trace.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
	console.error(`reyn needs Node.js 22.18 or newer; this is ${process.version}.`);
	process.exit(1);
}
const [only, ...more] = process.argv.slice(2);
if (more.length === 0 && (only === "--version" || only === "-V")) {
	// Scripts ask this, and need nothing else of what there is to load.
	const [{ version }, { out }] = await Promise.all([import("./version.ts"), import("./print.ts")]);
	out.line(version());
} else {
	const { keepCompiled } = await import("./compiled.ts");
	keepCompiled();
	const { heedReaders } = await import("./stop.ts");
	heedReaders();
	const { main, reportUncaught } = await import("./main.ts");
	process.on("uncaughtException", (error) => process.exit(reportUncaught(error)));
	const exitCode = await main(process.argv);
	// Set already where nobody has read the last that was said.
	process.exitCode ??= exitCode;
}

export {};
