/** Random programs over several lives: nothing that is recorded is paid twice, no effect is doubled, and answers keep their order. */
import { test } from "vitest";
import { sample } from "../../../../tests/sample.ts";
import { tellHistories } from "./histories.ts";
import { journals } from "./journal-form.ts";
import { scripts } from "./script-form.ts";

const LONG = 3_600_000;

test("scripts", () => tellHistories(scripts, sample(2, 16)), LONG);

test("programs of steps", () => tellHistories(journals, sample(8, 60)), LONG);
