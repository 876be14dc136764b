declare module "fs-native-extensions" {
	/** Takes an exclusive lock on an open file (OFD lock, flock or LockFileEx); false when another holds it. */
	export function tryLock(fd: number): boolean;
}
