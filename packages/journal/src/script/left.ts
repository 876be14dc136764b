/**
 * What was made before, and no call of a preview stands for: where an answer comes otherwise than the preview assumes, the script may come
 * to it, and make it again. Bookkeeping over seqs: all that was made, less what the calls of the preview recall, go on with or replace.
 */
import type { Seq } from "@reyn/wal";
import type { Identity } from "../entry.ts";

/** What a call of the script has made in one revision. */
export interface Made {
	/** The key of the call. */
	readonly call: string;
	/** The call itself, where it has a record of its own: one that was cut may have none. */
	readonly whole?: Part;
	/** All of it, the call and what is inside, by the seq under which it was made first. */
	readonly parts: ReadonlyMap<Seq, Part>;
}

interface Part {
	readonly seq: Seq;
	readonly id: Identity;
}

/** A call that the preview has come to. */
export interface AskedCall {
	readonly id: Identity;
	/** What it recalls, or goes on with. */
	readonly uses: readonly Made[];
}

export interface Left extends Part {
	/** The call that the preview has in its place. */
	readonly instead: Identity | undefined;
}

export interface Preview {
	/** By key. */
	readonly asked: ReadonlyMap<string, AskedCall>;
	/** What was recalled inside calls. */
	readonly recalled: Iterable<Seq>;
	/** What is told in another way. */
	readonly named: ReadonlySet<Seq | undefined>;
	/** Are these two calls equal, wherever they stand? By their keys. */
	isLike(a: string, b: string): boolean;
	/** What has the same place as another call, and could be an edit of it. */
	standingOf(id: Identity): string;
	/** The key of the call that a part is inside of; undefined: it is none's part. */
	outerOf(id: Identity): string | undefined;
}

/** @param all of all revisions, the oldest first */
export function leftOf(all: readonly Made[], preview: Preview): readonly Left[] {
	const { asked, recalled, named, isLike, standingOf, outerOf } = preview;
	const told = new Set(recalled);
	const stand = ({ parts }: Made): void => {
		for (const seq of parts.keys()) told.add(seq);
	};
	for (const { uses } of asked.values()) for (const each of uses) stand(each);
	// What is recalled as a whole is not made in parts either.
	for (const each of all) if (each.whole && told.has(each.whole.seq)) stand(each);

	const left = all.filter(({ parts }) => parts.keys().some((seq) => !told.has(seq))).reverse();
	const had = new Set(all.map(({ call }) => call));
	for (const [call, { id, uses }] of asked) {
		if (uses.length > 0) continue;
		// A call that uses nothing stands for one of its own; where it has none, for an equal one, which it was moved from.
		const own = left.filter((each) => (had.has(call) ? each.call === call : isLike(each.call, call)));
		const isNamed = ({ parts }: Made): boolean => parts.keys().some((seq) => named.has(seq));
		const isHere = ({ whole }: Made): boolean => whole?.id.place?.at === id.place?.at;
		const one = own.find(isNamed) ?? own.find(isHere) ?? own[0];
		if (!one) continue;
		left.splice(left.indexOf(one), 1);
		stand(one);
	}

	const places = new Map([...asked.values()].map(({ id }) => [standingOf(id), id]));
	const insteadOf = (id: Identity): Identity | undefined => {
		const outer = outerOf(id);
		return outer === undefined ? places.get(standingOf(id)) : asked.get(outer)?.id;
	};
	// A call that is left as a whole says all that is inside.
	const parts = left.flatMap(({ whole, parts }) => (whole && !told.has(whole.seq) ? [whole] : [...parts.values()]));
	const once = new Map(parts.map((each) => [each.seq, each]));
	return [...once.values()]
		.filter(({ seq }) => !told.has(seq) && !named.has(seq))
		.map(({ seq, id }) => ({ seq, id, instead: insteadOf(id) }));
}
