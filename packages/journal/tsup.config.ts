import { library } from "../../tsup.base.ts";

// The process of a script is a file of its own, beside the bundle that starts it as `./child.js`.
export default library({
	index: "src/index.ts",
	internal: "src/internal.ts",
	script: "src/script/index.ts",
	child: "src/script/child.ts",
	"testing/index": "src/testing/index.ts",
});
