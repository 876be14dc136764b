import { library } from "../../tsup.base.ts";

export default library([
	"src/index.ts",
	"src/internal.ts",
	"src/script/index.ts",
	"src/script/child.ts",
	"src/testing/index.ts",
]);
