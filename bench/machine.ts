/** What a figure was measured on, in general words: no names, no paths. */
import { cpus } from "node:os";

export interface Machine {
	readonly node: string;
	readonly platform: string;
	readonly cpus: number;
	readonly cpu: string;
}

export function machine(): Machine {
	const found = cpus();
	return {
		node: process.version,
		platform: `${process.platform} ${process.arch}`,
		cpus: found.length,
		cpu: found[0]?.model.trim() ?? "unknown",
	};
}

export const machineLine = ({ node, platform, cpus: count, cpu }: Machine): string =>
	`node ${node}, ${platform}, ${count} × ${cpu}`;
