/** Takes away what builds have left. One from the cache is laid over it, and all that lies there then goes into the packages. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { findPackages } from "../tests/workspace.ts";

for (const { dir } of findPackages()) rmSync(join(dir, "dist"), { recursive: true, force: true });
