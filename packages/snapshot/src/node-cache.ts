import type { Node } from "./list-node.ts";

/**
 * Nodes that some view in this process still has, by their chunk: what two states share is read once, and is the same in
 * memory. Items that are read go through a schema, so each schema has its own.
 */
export class NodeCache {
	readonly #bySchema = new WeakMap<object, Map<string, WeakRef<Node<unknown>>>>();
	readonly #gone = new FinalizationRegistry<{ nodes: Map<string, WeakRef<Node<unknown>>>; chunk: string }>(
		({ nodes, chunk }) => {
			if (nodes.get(chunk)?.deref() === undefined) nodes.delete(chunk);
		},
	);

	get(schema: object, chunk: string): Node<unknown> | undefined {
		return this.#bySchema.get(schema)?.get(chunk)?.deref();
	}

	set(schema: object, chunk: string, node: Node<unknown>): void {
		const nodes = this.#bySchema.get(schema) ?? new Map<string, WeakRef<Node<unknown>>>();
		this.#bySchema.set(schema, nodes.set(chunk, new WeakRef(node)));
		this.#gone.register(node, { nodes, chunk });
	}
}
