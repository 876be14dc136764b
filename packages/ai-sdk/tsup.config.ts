import { library } from "../../tsup.base.ts";

export default library();
