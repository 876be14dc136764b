/** Middle and outer values of many figures. */

export const median = (values: Iterable<number>): number => quantile(values, 0.5);

/** The value below which a share of all lies; between two neighbours, in proportion. NaN for none. */
export function quantile(values: Iterable<number>, share: number): number {
	const sorted = Float64Array.from(values).sort();
	const place = (sorted.length - 1) * share;
	const below = sorted[Math.floor(place)] ?? Number.NaN;
	const above = sorted[Math.ceil(place)] ?? below;
	return below + (above - below) * (place % 1);
}
