/** The contract of the log as a suite, its runner injected, and disks that fail on purpose. */
export { type BlobsUnderTest, testBlobs } from "./blob-suite.ts";
export { CrashDisk, type CrashOptions } from "./crash-disk.ts";
export { type Cut, type EngineUnderTest, testEngine } from "./engine-suite.ts";
export { type FaultyOptions, faultyEngine } from "./faulty-engine.ts";
export { type Inode, MemoryDisk } from "./memory-disk.ts";
export { MortalDisk } from "./mortal-disk.ts";
export { type MortalEngine, mortalEngine } from "./mortal-engine.ts";
export type { Runner } from "./runner.ts";
