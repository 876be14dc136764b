/** What a place for snapshots has to hold to, as a suite, the runner injected. */
export { testSnapshotStore } from "./store-suite.ts";
