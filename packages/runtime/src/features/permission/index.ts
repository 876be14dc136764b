/** Permissions: which calls of tools are made, which are not, and about which a person is asked. */
import type { Feature } from "../../kernel/feature.ts";
import { asker } from "../../kernel/services.ts";
import { auditPermission } from "./audit.ts";
import { grants } from "./grants.ts";
import { assertPermissions } from "./options.ts";
import { PermissionHost, type PermissionOptions } from "./permission-host.ts";
import { permissionRecords } from "./records.ts";

/** @param options absent: every call is made @throws RuntimeError `RUNTIME_PERMISSIONS` */
export function permissionFeature(options?: PermissionOptions): Feature<PermissionHost> {
	if (options) assertPermissions(options);
	return feature(options);
}

const feature = (options?: PermissionOptions): Feature<PermissionHost> => ({
	name: "permission",
	records: { outside: permissionRecords },
	keeps: permissionRecords,
	projections: [grants],
	needs: [asker],
	audit: auditPermission,
	start: (kernel) => new PermissionHost(kernel, options),
});
