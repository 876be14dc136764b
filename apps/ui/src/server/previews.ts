/** What was shown before a person confirms: kept here, so that what is done is what was shown, whatever a page sends. */
import { randomUUID } from "node:crypto";
import type { WorkVerb, WriteVerb } from "@reyn/operator";

type Preview =
	| { readonly kind: "write"; readonly verb: WriteVerb; readonly seen: object }
	| { readonly kind: "work"; readonly verb: WorkVerb; readonly given: Readonly<Record<string, unknown>> };

/** So many are kept; an older one has to be looked at again. */
const MOST = 100;

export class Previews {
	readonly #all = new Map<string, Preview>();

	keep(preview: Preview): string {
		const id = randomUUID();
		this.#all.set(id, preview);
		for (const oldest of this.#all.keys()) if (this.#all.size > MOST) this.#all.delete(oldest);
		return id;
	}

	/** Each is done once. */
	take(id: string): Preview | undefined {
		const found = this.#all.get(id);
		this.#all.delete(id);
		return found;
	}
}
