/** What is used of turndown. */
interface Node {
	readonly nodeName: string;
	getAttribute(name: string): string | null;
	hasAttribute(name: string): boolean;
}

interface Rule {
	readonly filter: string | ((node: Node) => boolean);
	replacement(content: string, node: Node): string;
}

export default class TurndownService {
	constructor(options: Readonly<Record<string, string>>);
	remove(names: string[]): void;
	addRule(name: string, rule: Rule): void;
	turndown(html: string): string;
}
