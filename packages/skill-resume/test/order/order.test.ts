/** Random programs in a phase of a skill, over several lives: nothing that is recorded is paid twice, no effect is doubled. */
import { test } from "vitest";
import { sample } from "../../../../tests/sample.ts";
import { tellHistories } from "../../../journal/test/order/histories.ts";
import { skills } from "./skill-form.ts";

test("phases", () => tellHistories(skills, sample(6, 30)));
