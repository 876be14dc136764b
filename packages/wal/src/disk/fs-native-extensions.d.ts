/** The one function that we use of a package without types. */
declare module "fs-native-extensions" {
	/** Takes an exclusive lock on bytes of an open file (OFD lock or LockFileEx; flock takes all); false when another holds it. */
	export function tryLock(fd: number, offset: number, length: number): boolean;
}
