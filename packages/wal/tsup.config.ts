import { library } from "../../tsup.base.ts";

// The worker is a file of its own, beside the bundle that opens it as `./worker.js`.
export default library({
	index: "src/index.ts",
	worker: "src/file/worker.ts",
	"engine/index": "src/engine/index.ts",
	internal: "src/internal.ts",
	tools: "src/tools.ts",
	"sqlite/index": "src/sqlite/index.ts",
	"testing/index": "src/testing/index.ts",
});
