/** Configuration: files beside the log that people and commands change, and that follow rewinds. */
import { fileChanged, files } from "@reyn/snapshot/files";
import type { Feature } from "../../kernel/feature.ts";
import { auditConfig } from "./audit.ts";
import { ConfigFiles } from "./config-files.ts";
import { configSettled, openChange } from "./records.ts";

export const configFeature = (): Feature<ConfigFiles> => ({
	name: "config",
	records: { code: [fileChanged, configSettled] },
	projections: [files, openChange],
	audit: auditConfig,
	start: (kernel) => new ConfigFiles(kernel),
});
