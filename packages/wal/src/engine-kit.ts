/** For who writes an engine: `@reyn/wal/engine`. The port itself is in `@reyn/wal`, its contract as tests in `@reyn/wal/testing`. */
export { Bell } from "./bell.ts";
export { checkedBlobName } from "./blob-name.ts";
export { endsEarly, fenced, seqMismatch, truncated } from "./engine-errors.ts";
export { crcOf, storedRecords } from "./stored-records.ts";
export { subscription } from "./subscription.ts";
