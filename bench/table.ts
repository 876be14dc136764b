/** A table as people read it in a terminal and in a document. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
	return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** As many digits as say something: 0.134, 1.96, 24.5, 1966. */
export function short(value: number): string {
	const size = Math.abs(value);
	return value.toFixed(size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0);
}
