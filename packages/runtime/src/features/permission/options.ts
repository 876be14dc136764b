/** The options of permissions, checked: a rule that nobody understands would let pass what it is there to deny. */
import { z } from "zod";
import { RuntimeError } from "../../kernel/errors.ts";
import { permissionModes } from "./decide.ts";
import type { PermissionOptions } from "./permission-host.ts";

const schema = z.strictObject({
	mode: z.enum(permissionModes).optional(),
	rules: z
		.array(
			z.strictObject({
				effect: z.enum(["allow", "ask", "deny"]),
				action: z.string().min(1),
				on: z
					.string()
					.min(1)
					.refine((on) => !on.split("/").includes(".."), "without ..")
					.optional(),
				agent: z.string().min(1).optional(),
			}),
		)
		.optional(),
});

/** @throws RuntimeError `RUNTIME_PERMISSIONS` */
export function assertPermissions(options: PermissionOptions): void {
	const { error } = schema.safeParse(options);
	const [issue] = error?.issues ?? [];
	if (!issue) return;
	const at = ["permissions", ...issue.path].join(".");
	throw new RuntimeError("RUNTIME_PERMISSIONS", `${at}: ${issue.message}; nothing was opened`, { path: issue.path });
}
