import { library } from "../../tsup.base.ts";

export default library({ index: "src/server/index.ts" });
