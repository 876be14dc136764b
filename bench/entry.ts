/** The records that are written in every bench: about 300 bytes as a line of the log. */

export const ENTRY_KIND = "entry_put";
export const SCOPE = { agent: "default", session: "main" };

const KEYS = 10_000;
const TEXT = "It reads the log from its first line, checks each against its sum, and goes on where it stopped. ";

export interface Entry {
	readonly key: string;
	readonly text: string;
	readonly version: number;
}

export const entryAt = (i: number): Entry => ({
	key: `entry-${(i * 7919) % KEYS}`,
	text: `${i}: ${TEXT}`,
	version: i,
});

/** All that a line of the log says, for those that are not our log. */
export const recordOf = (data: Entry): object => ({
	v: 1,
	seq: data.version + 1,
	ts: Date.now(),
	kind: ENTRY_KIND,
	scope: SCOPE,
	data,
	dur: data.version,
	prev: "89abcdef",
	crc: "01234567",
});
