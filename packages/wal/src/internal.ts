/** What other packages of Reyn need of this one, and nobody else: `@reyn/wal/internal`. It may change in any version. */
export { atomicWrite, removeFiles } from "./disk/atomic-write.ts";
export { isTemporaryName } from "./disk/durable-files.ts";
export { isFull } from "./disk/full.ts";
export {
	appendOwn,
	assertNoDirectory,
	assertOwnDirectory,
	hashOwnFile,
	readOwnFile,
	readOwnPart,
} from "./disk/own-files.ts";
export { blobsBelow } from "./engine/blobs-below.ts";
export { type LogIdentity, logIdentityIn } from "./file/log-identity.ts";
export { assertJson, lackOf } from "./record/json.ts";
export { parseData } from "./record/record.ts";
export { type Unparsed, unparsed } from "./wal.ts";
