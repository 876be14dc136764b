/** Puts the declarations of all features together, and checks them before anything is opened. */
import { journal, journalRecords, spilledResults } from "@reyn/journal";
import { attachedNames } from "@reyn/journal/internal";
import { type Facets, facetsOf, rewindNote, rewindRecords } from "@reyn/rewind-modes";
import type { AnyProjection } from "@reyn/snapshot";
import { isOutside, timetravelRecords, type UndoRules } from "@reyn/timetravel";
import { isMeta } from "@reyn/timetravel/internal";
import type { AnyRecordKind } from "@reyn/wal";
import { RuntimeError } from "./errors.ts";
import type { Facet, Feature } from "./feature.ts";
import { sessionOpened } from "./records.ts";
import { amongFiles, amongResults, type BlobArea } from "./store.ts";
import { kindsOf } from "./work.ts";

export interface Composition {
	/** Every kind of record that may be appended. */
	readonly records: readonly AnyRecordKind[];
	/** Which kinds of record are talk and which are work. */
	readonly facets: Facets;
	readonly projections: readonly AnyProjection[];
	/** Kinds whose records outlive `gc`. */
	readonly keeps: readonly string[];
	/** Kinds that begin something, or set it going again: a new one makes a preview stale. All other kinds are progress. */
	readonly begins: readonly string[];
	readonly undo: UndoRules;
	/** The areas of blobs beside the log, and which records and states refer to them. */
	readonly areas: readonly BlobArea[];
}

/** The kernel's own declarations: sessions, steps, rewinds. */
const own = {
	records: { conversation: [rewindNote], code: [sessionOpened, ...journalRecords] },
	keeps: [sessionOpened, rewindNote],
	undo: { [rewindNote.kind]: ({ scope }) => ({ takenBackBy: { scope, drop: [rewindNote.kind] } }) },
	blobs: [
		amongResults({
			ofRecord: spilledResults.ofRecord,
			ofView: (view) => spilledResults.ofState(view.get(journal)),
		}),
		amongFiles({
			ofRecord: attachedNames.ofRecord,
			ofView: (view) => attachedNames.ofState(view.get(journal)),
		}),
	],
} as const satisfies Pick<Feature, "records" | "keeps" | "undo" | "blobs">;

/** @throws RuntimeError `RUNTIME_FEATURES` */
export function compose(features: readonly Feature[]): Composition {
	check(features);
	const all = [own, ...features];
	const ofFacet = (facet: Facet): readonly AnyRecordKind[] =>
		all.flatMap(({ records }) => (records as Feature["records"])?.[facet] ?? []);
	return {
		records: [...recordsOf(features), sessionOpened, ...journalRecords, ...rewindRecords, ...timetravelRecords],
		facets: facetsOf({ conversation: ofFacet("conversation"), code: ofFacet("code") }),
		projections: [journal, ...features.flatMap(({ projections = [] }) => projections)],
		keeps: all.flatMap(({ keeps = [] }) => kindsOf(keeps)),
		begins: [sessionOpened.kind, ...features.flatMap(({ begins = [] }) => kindsOf(begins))],
		undo: Object.assign({}, ...all.map(({ undo = {} }) => undo)),
		areas: all.flatMap(({ blobs = [] }) => blobs),
	};
}

const recordsOf = (features: readonly Feature[]): readonly AnyRecordKind[] =>
	features.flatMap(({ records = {} }) => Object.values(records).flat());

/** The areas of stored states. */
const stored = ["snapshots", "kept"];

function check(features: readonly Feature[]): void {
	const taken = new Map<string, string>();
	const take = (what: string, name: string, by: string): void => {
		const key = `${what} ${name}`;
		const other = taken.get(key);
		if (other !== undefined) throw wrong(`${key} is of the features ${other} and ${by}; rename one`, by);
		taken.set(key, by);
	};
	for (const { kind } of [sessionOpened, ...journalRecords, ...rewindRecords, ...timetravelRecords])
		take("the kind of record", kind, "(runtime)");
	take("the projection", journal.name, "(runtime)");
	const provided = new Set<string>();
	for (const feature of features) {
		const {
			name,
			projections = [],
			needs = [],
			provides = [],
			keeps = [],
			begins = [],
			undo = {},
			blobs = [],
		} = feature;
		take("the feature", name, name);
		for (const [facet, records] of Object.entries(feature.records ?? {}))
			for (const { kind } of records) {
				if (isMeta(kind)) throw wrong(`the kind of record ${kind} of the feature ${name} is reserved; rename it`, name);
				if (isOutside(kind) !== (facet === "outside"))
					throw wrong(
						`the kind of record ${kind} of the feature ${name} is said to be ${facet}: what lies outside, and that alone, is named fact_…; rename it, or say so`,
						name,
					);
				take("the kind of record", kind, name);
			}
		for (const projection of projections) {
			take("the projection", projection.name, name);
			const { follows, level = "session" } = projection;
			if (follows === "line" && level !== "session")
				throw wrong(
					`the projection ${projection.name} of the feature ${name} is of a line and of level ${level}, and the runtime has lines of sessions alone; have it follow the log, or say session`,
					name,
				);
		}
		const known = kindsOf(recordsOf([feature]));
		for (const kind of [...kindsOf([...keeps, ...begins]), ...Object.keys(undo)])
			if (!known.includes(kind))
				throw wrong(
					`the feature ${name} says something of ${kind}, which is not among its records; add it there`,
					name,
				);
		const undone = Object.keys(undo).find(isOutside);
		if (undone)
			throw wrong(
				`the feature ${name} has an undo rule of ${undone}: no move takes back a fact. Take the rule away, or record that in a kind that is none`,
				name,
			);
		const begun = kindsOf(begins).find(isOutside);
		if (begun)
			throw wrong(
				`the feature ${name} says that ${begun} begins something: no fact makes a preview stale. Take it out of \`begins\`, or begin with a kind that is none`,
				name,
			);
		for (const { area } of blobs)
			if (!/^[a-z]{1,9}$/.test(area) || stored.includes(area))
				throw wrong(
					`the feature ${name} has blobs in the area ${area}; it takes 1 to 9 lower-case letters, and not ${stored.join(" or ")}`,
					name,
				);
		const missing = needs.find(({ service }) => !provided.has(service));
		if (missing)
			throw wrong(
				`the feature ${name} needs the service ${missing.service}, which no feature before it provides; put one that does before it`,
				name,
			);
		for (const { service } of provides) {
			take("the service", service, name);
			provided.add(service);
		}
	}
}

const wrong = (why: string, feature: string): RuntimeError =>
	new RuntimeError("RUNTIME_FEATURES", `${why}. Nothing was opened`, { feature });
