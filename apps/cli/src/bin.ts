#!/usr/bin/env node
// Refused before anything is loaded: what is loaded needs a newer Node, and fails there with a stack trace.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
	console.error(`reyn needs Node.js 22.18 or newer; this is ${process.version}.`);
	process.exit(1);
}
const [flag = "", ...more] = process.argv.slice(2);
const isAtOnce = more.length === 0 && /^(-V|--version|-h|--help)$/.test(flag);
if (!isAtOnce || !(await import("./at-once.ts")).answerAtOnce(flag)) {
	const { keepCompiled } = await import("./compiled.ts");
	keepCompiled();
	const { end, heedReaders, main, reportUncaught } = await import("./main.ts");
	heedReaders();
	process.on("uncaughtException", (error) => process.exit(reportUncaught(error)));
	await end(await main(process.argv));
}

export {};
