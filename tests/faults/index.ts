/** Every fault, the most important first. */
import { fault as clock } from "./clock.ts";
import { fault as defects } from "./defects.ts";
import { fault as errors } from "./errors.ts";
import type { Fault } from "./fault.ts";
import { fault as hostile } from "./hostile.ts";
import { fault as kill } from "./kill.ts";
import { fault as moved } from "./moved.ts";
import { fault as mutate } from "./mutate.ts";
import { fault as powercut } from "./power-cut.ts";
import { fault as recut } from "./recut.ts";
import { fault as slow } from "./slow.ts";
import { fault as syscalls } from "./syscalls.ts";
import { fault as torn } from "./torn.ts";
import { fault as writers } from "./writers.ts";

export const faults: readonly Fault[] = [
	kill,
	mutate,
	torn,
	recut,
	syscalls,
	errors,
	powercut,
	writers,
	slow,
	moved,
	hostile,
	clock,
	defects,
];
