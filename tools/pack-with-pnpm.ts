/** Stops `npm pack` and `npm publish`: only pnpm puts versions in the place of `catalog:` and `workspace:`, and the licence beside them. */
const by = process.env.npm_config_user_agent?.split(" ")[0] ?? "nobody";
if (!by.startsWith("pnpm/")) {
	console.error(
		`${process.cwd()} is packed by ${by}, which would make a broken package. Pack with pnpm: \`pnpm pack\``,
	);
	process.exitCode = 1;
}
