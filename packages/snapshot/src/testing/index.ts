/** The contract of a snapshot store as a suite, the runner injected. */
export { type StoreRunner, testSnapshotStore } from "./store-suite.ts";
