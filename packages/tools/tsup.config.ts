import { library } from "../../tsup.base.ts";

// The process of a command is a file of its own, beside the bundle that starts it as `./runner.js`.
export default library({
	index: "src/index.ts",
	text: "src/text.ts",
	shell: "src/shell/index.ts",
	runner: "src/shell/runner.ts",
	fetch: "src/fetch/index.ts",
});
