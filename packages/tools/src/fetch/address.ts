/** Which addresses a page may come from: those of the public internet, and none of this machine or the networks around it. */
import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { ToolError } from "../errors.ts";

/** By the registries of special addresses of IANA. What is not global is not asked. */
const special = {
	ipv4: [
		...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
		...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
		...["224.0.0.0/4", "240.0.0.0/4"],
	],
	// Of these, those that lead to an address of the fourth version are closed as a whole: 6to4, NAT64, Teredo, mapped ones.
	ipv6: [
		...[
			"::/96",
			"::ffff:0:0/96",
			"64:ff9b::/96",
			"64:ff9b:1::/48",
			"100::/64",
			"2001::/23",
			"2001:db8::/32",
			"2002::/16",
		],
		...["3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"],
	],
} as const;

/** One for each version: to a list of both, an address of the fourth is one of the sixth as well. */
const closed = { ipv4: listOf("ipv4"), ipv6: listOf("ipv6") };

function listOf(version: keyof typeof special): BlockList {
	const list = new BlockList();
	for (const net of special[version]) {
		const [address = "", bits] = net.split("/");
		list.addSubnet(address, Number(bits), version);
	}
	return list;
}

/** Does an address belong to the public internet? */
export function isPublic(address: string): boolean {
	const family = isIP(address);
	const version = family === 4 ? "ipv4" : "ipv6";
	return family !== 0 && !closed[version].check(address, version);
}

/** @param isAllowed is an address one that may be asked? */
export const guardedLookup =
	(isAllowed: (address: string) => boolean, lookup: typeof systemLookup = systemLookup): LookupFunction =>
	(host, options, done) => {
		lookup(host, { ...options, all: true }, (error, found) => {
			if (error) return done(error, "", 0);
			const addresses = found as unknown as readonly { readonly address: string; readonly family: number }[];
			// The connection is made to what was looked at here, so that no second answer leads elsewhere.
			const refused = addresses.find(({ address }) => !isAllowed(address));
			const [first] = addresses;
			if (refused || !first) return done(closedTo(host, refused?.address ?? "nowhere"), "", 0);
			if (options.all) return done(null, [...addresses]);
			done(null, first.address, first.family);
		});
	};

export const closedTo = (host: string, address: string): ToolError =>
	new ToolError(
		"TOOL_CLOSED_ADDRESS",
		`${host} leads to ${address}, and only addresses of the public internet are fetched`,
	);
