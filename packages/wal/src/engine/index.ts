/** For who writes an engine: `@reyn/wal/engine`. The port itself is in `@reyn/wal`, its contract as tests in `@reyn/wal/testing`. */

export { crcOf, storedRecords } from "../record/stored-records.ts";
export { Bell } from "./bell.ts";
export { checkedBlobName } from "./blob-name.ts";
export { endsEarly, fenced, seqMismatch, truncated } from "./engine-errors.ts";
export { Poller } from "./poller.ts";
export { subscription } from "./subscription.ts";
