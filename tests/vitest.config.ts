/** The tests of the repository as a whole. */
import { defineConfig } from "vitest/config";
import base from "../vitest.base.ts";

// Spread, not mergeConfig: merging concatenates `include`, and the base's pattern would stay in force.
export default defineConfig({ ...base, test: { ...base.test, include: ["**/*.test.ts"] } });
