/** The Standard Schema interface (standardschema.dev, v1), copied as its authors advise, so that zod, valibot and arktype all fit. */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
	readonly "~standard": {
		readonly version: 1;
		readonly vendor: string;
		readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
		readonly types?: { readonly input: Input; readonly output: Output } | undefined;
	};
}

export type StandardResult<Output> =
	| { readonly value: Output; readonly issues?: undefined }
	| { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
	readonly message: string;
	readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The issue as one line: `steps.2.id: expected string`. */
export function issueText(issue: StandardIssue): string {
	const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
	return path ? `${path}: ${issue.message}` : String(issue.message);
}
