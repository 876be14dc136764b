/** Every fault, the most important first. */

import { fault as defects } from "./defects.ts";
import { fault as errors } from "./disk/errors.ts";
import { fault as full } from "./disk/full.ts";
import { fault as powercut } from "./disk/powercut.ts";
import { fault as slow } from "./disk/slow.ts";
import { fault as writeback } from "./disk/writeback.ts";
import type { Fault } from "./fault.ts";
import { fault as clock } from "./log/clock.ts";
import { fault as golden } from "./log/golden.ts";
import { fault as head } from "./log/head.ts";
import { fault as hostile } from "./log/hostile.ts";
import { fault as large } from "./log/large.ts";
import { fault as moved } from "./log/moved.ts";
import { fault as mutate } from "./log/mutate.ts";
import { fault as recut } from "./log/recut.ts";
import { fault as torn } from "./log/torn.ts";
import { fault as kill } from "./process/kill.ts";
import { fault as paste } from "./process/paste.ts";
import { fault as signals } from "./process/signals.ts";
import { fault as syscalls } from "./process/syscalls.ts";
import { fault as tree } from "./process/tree.ts";
import { fault as writers } from "./process/writers.ts";
import { fault as captures } from "./snapshots/captures.ts";
import { fault as generations } from "./snapshots/generations.ts";
import { fault as rotten } from "./snapshots/rotten.ts";
import { fault as snapshots } from "./snapshots/snapshots.ts";
import { fault as truncation } from "./snapshots/truncation.ts";
import { fault as inDoubt } from "./steps/in-doubt.ts";

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
