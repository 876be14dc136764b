/** Every fault, the most important first. */
import { fault as captures } from "./captures.ts";
import { fault as clock } from "./clock.ts";
import { fault as defects } from "./defects.ts";
import { fault as errors } from "./errors.ts";
import type { Fault } from "./fault.ts";
import { fault as full } from "./full-disk.ts";
import { fault as generations } from "./generations.ts";
import { fault as golden } from "./golden.ts";
import { fault as head } from "./head.ts";
import { fault as hostile } from "./hostile.ts";
import { fault as inDoubt } from "./in-doubt.ts";
import { fault as kill } from "./kill.ts";
import { fault as large } from "./large.ts";
import { fault as moved } from "./moved.ts";
import { fault as mutate } from "./mutate.ts";
import { fault as paste } from "./paste.ts";
import { fault as powercut } from "./power-cut.ts";
import { fault as recut } from "./recut.ts";
import { fault as rotten } from "./rotten.ts";
import { fault as signals } from "./signals.ts";
import { fault as slow } from "./slow.ts";
import { fault as snapshots } from "./snapshots.ts";
import { fault as syscalls } from "./syscalls.ts";
import { fault as torn } from "./torn.ts";
import { fault as tree } from "./tree.ts";
import { fault as truncation } from "./truncation.ts";
import { fault as writeback } from "./write-back.ts";
import { fault as writers } from "./writers.ts";

export const faults: readonly Fault[] = [
	kill,
	mutate,
	rotten,
	torn,
	recut,
	syscalls,
	errors,
	inDoubt,
	captures,
	truncation,
	snapshots,
	generations,
	powercut,
	writeback,
	writers,
	tree,
	signals,
	paste,
	full,
	slow,
	moved,
	head,
	hostile,
	clock,
	golden,
	large,
	defects,
];
