/**
 * The tree below a list: an immutable counted B+tree. Leaves hold items, nodes hold children of one height; every one but
 * those on the two edges is at least half full. A change copies the path to it and shares the rest.
 *
 * Joining and splitting as in Blelloch, Ferizovic, Sun, "Just Join for Parallel Ordered Sets" (2016), by position.
 */

export interface Leaf<T> {
	readonly height: 0;
	readonly count: number;
	readonly items: readonly T[];
	/** The id of the chunk that holds the leaf; set when it is stored or loaded. */
	chunk?: string;
}

export interface Inner<T> {
	readonly height: number;
	/** Items in all leaves below. */
	readonly count: number;
	readonly children: readonly Node<T>[];
	chunk?: string;
}

export type Node<T> = Leaf<T> | Inner<T>;

export const LEAF_ITEMS = 64;
export const NODE_CHILDREN = 32;

export const leaf = <T>(items: readonly T[]): Leaf<T> => ({ height: 0, count: items.length, items });

export function inner<T>(children: readonly Node<T>[]): Inner<T> {
	const height = (children[0] as Node<T>).height + 1;
	return { height, count: children.reduce((sum, { count }) => sum + count, 0), children };
}

export const isLeaf = <T>(node: Node<T>): node is Leaf<T> => node.height === 0;

/** Is a leaf stored and at least half full? Then an append begins a new leaf, so that no item is stored twice. */
const isFrozen = (node: Leaf<unknown>): boolean => node.chunk !== undefined && node.count >= LEAF_ITEMS / 2;

/** A tree of many items at once. */
export function build<T>(items: readonly T[]): Node<T> | undefined {
	let level: Node<T>[] = inGroups(items, LEAF_ITEMS).map(leaf);
	while (level.length > 1) level = inGroups(level, NODE_CHILDREN).map(inner);
	return level[0];
}

export function itemAt<T>(node: Node<T>, index: number): T {
	if (isLeaf(node)) return node.items[index] as T;
	const [child, within] = childAt(node, index);
	return itemAt(node.children[child] as Node<T>, within);
}

export function withItem<T>(node: Node<T>, index: number, item: T): Node<T> {
	if (isLeaf(node)) return leaf(node.items.with(index, item));
	const [child, within] = childAt(node, index);
	return inner(node.children.with(child, withItem(node.children[child] as Node<T>, within, item)));
}

/** One item more at the end. */
export function pushed<T>(root: Node<T>, item: T): Node<T> {
	return grown(push(root, item));
}

/** Both trees as one. */
export function joined<T>(left: Node<T> | undefined, right: Node<T> | undefined): Node<T> | undefined {
	if (!left || !right) return left ?? right;
	return lowered(grown(join(left, right)));
}

/** The items before `index`, and those from it on. */
export function split<T>(node: Node<T>, index: number): [Node<T> | undefined, Node<T> | undefined] {
	const [left, right] = cut(node, index);
	return [left && lowered(left), right && lowered(right)];
}

/** The same items without nodes of one child at the top. */
export function lowered<T>(node: Node<T>): Node<T> {
	return isLeaf(node) || node.children.length > 1 ? node : lowered(node.children[0] as Node<T>);
}

export function* leavesOf<T>(node: Node<T>): Generator<Leaf<T>> {
	if (isLeaf(node)) yield node;
	else for (const child of node.children) yield* leavesOf(child);
}

/** How many items at the beginning lie in nodes that both trees have. */
export function sharedStart<T>(left: Node<T>, right: Node<T>): number {
	if (left === right || (left.chunk !== undefined && left.chunk === right.chunk)) return left.count;
	if (left.height > right.height) return sharedStart((left as Inner<T>).children[0] as Node<T>, right);
	if (left.height < right.height) return sharedStart(left, (right as Inner<T>).children[0] as Node<T>);
	if (isLeaf(left) || isLeaf(right)) return 0;
	let shared = 0;
	for (const [i, child] of left.children.entries()) {
		const other = right.children[i];
		const start = other ? sharedStart(child, other) : 0;
		shared += start;
		if (start < child.count || start < (other?.count ?? 0)) break;
	}
	return shared;
}

/** The node with one more item; if it was full, also a new neighbour of the same height. */
function push<T>(node: Node<T>, item: T): readonly Node<T>[] {
	if (isLeaf(node)) {
		const full = node.count === LEAF_ITEMS || isFrozen(node);
		return full ? [node, leaf([item])] : [leaf([...node.items, item])];
	}
	const [last, more] = push(node.children.at(-1) as Node<T>, item) as [Node<T>, Node<T>?];
	const same = node.children.with(-1, last);
	if (!more) return [inner(same)];
	return same.length < NODE_CHILDREN ? [inner([...same, more])] : [node, inner([more])];
}

/** One or two nodes as high as the higher of both, with all their items. */
function join<T>(left: Node<T>, right: Node<T>): readonly Node<T>[] {
	if (isLeaf(left) && isLeaf(right)) return joinLeaves(left, right);
	const [before, last] = left.height >= right.height ? aside((left as Inner<T>).children, -1) : [[], left];
	const [after, first] = right.height >= left.height ? aside((right as Inner<T>).children, 0) : [[], right];
	const middle = join(last, first);
	const apart = left.height === right.height && !isSmall(left) && !isSmall(right);
	if (apart && middle[0] === last && middle[1] === first) return [left, right];
	return regrouped(before, middle, after);
}

function joinLeaves<T>(left: Leaf<T>, right: Leaf<T>): readonly Leaf<T>[] {
	if (!isSmall(left) && !isSmall(right)) return [left, right];
	const items = [...left.items, ...right.items];
	return halves(items, LEAF_ITEMS).map(leaf);
}

/** The parents of these nodes; an underfull node in the middle is joined with a neighbour first. */
function regrouped<T>(
	before: readonly Node<T>[],
	middle: readonly Node<T>[],
	after: readonly Node<T>[],
): readonly Inner<T>[] {
	const [only] = middle as [Node<T>];
	const small = middle.length === 1 && isSmall(only);
	if (small && before.length > 0) return regrouped(before.slice(0, -1), join(before.at(-1) as Node<T>, only), after);
	if (small && after.length > 0) return regrouped(before, join(only, after[0] as Node<T>), after.slice(1));
	return halves([...before, ...middle, ...after], NODE_CHILDREN).map(inner);
}

function cut<T>(node: Node<T>, index: number): [Node<T> | undefined, Node<T> | undefined] {
	if (index <= 0) return [undefined, node];
	if (index >= node.count) return [node, undefined];
	if (isLeaf(node)) return [leaf(node.items.slice(0, index)), leaf(node.items.slice(index))];
	const [child, within] = childAt(node, index);
	const [left, right] = cut(node.children[child] as Node<T>, within);
	const before = [...node.children.slice(0, child), ...(left ? [left] : [])];
	const after = [...(right ? [right] : []), ...node.children.slice(child + 1)];
	return [inner(before), inner(after)];
}

function childAt<T>({ children }: Inner<T>, index: number): [child: number, within: number] {
	let within = index;
	let child = 0;
	for (; within >= (children[child] as Node<T>).count; child++) within -= (children[child] as Node<T>).count;
	return [child, within];
}

const isSmall = (node: Node<unknown>): boolean =>
	isLeaf(node) ? node.count < LEAF_ITEMS / 2 : node.children.length < NODE_CHILDREN / 2;

const grown = <T>(nodes: readonly Node<T>[]): Node<T> => (nodes.length === 1 ? (nodes[0] as Node<T>) : inner(nodes));

function aside<T>(items: readonly T[], index: 0 | -1): [rest: readonly T[], one: T] {
	return [index === 0 ? items.slice(1) : items.slice(0, -1), items.at(index) as T];
}

/** All of them where they fit, else two halves. */
function halves<T>(items: readonly T[], most: number): readonly (readonly T[])[] {
	if (items.length <= most) return [items];
	const middle = items.length >> 1;
	return [items.slice(0, middle), items.slice(middle)];
}

function inGroups<T>(items: readonly T[], size: number): (readonly T[])[] {
	return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
