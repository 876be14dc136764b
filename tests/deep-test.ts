/** Tests of the deep run alone, in a file whose other tests are the sample of `pnpm test`. */
import { test } from "vitest";
import { isDeep } from "./sample.ts";

const nothing = (): void => {};
const left = Object.assign(nothing, { each: () => nothing, skipIf: () => nothing });

/** `test` in `pnpm test:deep`; in the fast run there is no such test. */
export const deepTest = isDeep ? test : (left as unknown as typeof test);
