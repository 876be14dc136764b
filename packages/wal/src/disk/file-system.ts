/** What lies under a directory, as Linux says it: a disk of this machine, or what promises less. */
import fs from "node:fs";
import type { FileSystem } from "./disk.ts";

/** Undefined for a disk of this machine, and on systems that have no such call. @throws an error of the system */
export function fileSystemOf(path: string): FileSystem | undefined {
	if (process.platform !== "linux") return undefined;
	const found = types.get(fs.statfsSync(path).type);
	if (found?.kind !== "opaque") return found;
	const name = mountedAs(path) ?? found.name;
	return { name, kind: remote.test(name) ? "network" : "opaque" };
}

/** `statfs` magic numbers (linux/magic.h and the modules' own). */
const types: ReadonlyMap<number, FileSystem> = new Map(
	(
		[
			[0x6969, "NFS", "network"],
			[0xff534d42, "CIFS", "network"],
			[0xfe534d42, "SMB2", "network"],
			[0x517b, "SMB", "network"],
			[0x00c36400, "Ceph", "network"],
			[0x5346414f, "AFS", "network"],
			[0x01161970, "GFS2", "network"],
			[0x0bd00bd0, "Lustre", "network"],
			// A program, a host of this virtual machine, or a server far away: the number is the same.
			[0x01021997, "9p", "opaque"],
			[0x65735546, "FUSE", "opaque"],
			[0x01021994, "tmpfs", "memory"],
			[0x858458f6, "ramfs", "memory"],
		] as const
	).map(([type, name, kind]) => [type, { name, kind }]),
);

/** What is known to reach over a network, whatever it says of locks and syncs. */
const remote =
	/^fuse\.(sshfs|s3fs|rclone|gcsfuse|goofys|mount-s3|blobfuse2?|glusterfs|ceph|curlftpfs|davfs2?|smbnetfs)$/;

/** The type by which it was mounted, which says more: `virtiofs`, `fuse.sshfs`. Undefined where the system does not tell. */
function mountedAs(path: string): string | undefined {
	try {
		const { dev } = fs.statSync(path);
		const [major, minor] = [(dev >>> 8) & 0xfff, (dev & 0xff) | ((dev >>> 12) & 0xfff00)];
		const mounts = fs.readFileSync("/proc/self/mountinfo", "utf8").split("\n");
		const mount = mounts.find((line) => line.split(" ")[2] === `${major}:${minor}`);
		return mount && / - (\S+) /.exec(mount)?.[1];
	} catch {
		return undefined;
	}
}
