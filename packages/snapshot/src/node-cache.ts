/** A weak cache of list nodes, so that states which share a part also share it in memory. */
import type { Node } from "./list-node.ts";

/**
 * The nodes that any view in this process still holds, by chunk: a part that two states share is read once. Items go through a schema
 * when they are read, so each schema has nodes of its own.
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
