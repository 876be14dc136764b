/** The types of `ctx`, the first argument of a script. */

/**
 * The first argument of a script. Each call that returns a promise is recorded, and a later run of the same script gets the same
 * answer. Invalid arguments throw at once with code `SCRIPT_INVALID`, arguments that are not JSON with `SCRIPT_NOT_JSON`. A call that
 * fails rejects with the `code` and the `detail` of its failure.
 */
export interface ScriptContext {
	/** Lets an agent answer with JSON that fits the schema. */
	agent<T = unknown>(prompt: string, options: AgentOptions & { readonly schema: JsonSchema }): Promise<T>;
	/** Lets an agent work on the prompt until it answers with text. */
	agent(prompt: string, options?: AgentOptions): Promise<string>;
	/** Calls one tool. @param args a JSON object */
	tool(name: string, args?: Readonly<Record<string, unknown>>): Promise<string>;
	/** Asks the person. */
	ask(question: string, options?: AskOptions): Promise<string>;
	/**
	 * Starts all tasks and waits until each is over. The results are in the order of the tasks.
	 *
	 * @throws an error with code `SCRIPT_BRANCH_FAILED` and a {@link BranchesFailed} as `detail` where any failed
	 */
	parallel<T>(tasks: readonly (() => T | Promise<T>)[]): Promise<Awaited<T>[]>;
	/**
	 * Takes each item through all stages, whatever the other items do. The results are in the order of the items.
	 *
	 * @throws as {@link parallel} does
	 */
	pipeline<Item, A>(items: readonly Item[], a: Stage<Item, Item, A>): Promise<Awaited<A>[]>;
	pipeline<Item, A, B>(
		items: readonly Item[],
		a: Stage<Item, Item, A>,
		b: Stage<Awaited<A>, Item, B>,
	): Promise<Awaited<B>[]>;
	pipeline<Item, A, B, C>(
		items: readonly Item[],
		a: Stage<Item, Item, A>,
		b: Stage<Awaited<A>, Item, B>,
		c: Stage<Awaited<B>, Item, C>,
	): Promise<Awaited<C>[]>;
	pipeline<Item>(items: readonly Item[], ...stages: Stage<never, Item, unknown>[]): Promise<unknown[]>;
	/** Names a part of the script: its calls are recorded and shown under the name. Resolves with the result of the body. */
	phase<T>(name: string, body: () => T | Promise<T>): Promise<Awaited<T>>;
	/** Milliseconds since 1970. */
	now(): Promise<number>;
	/** @param ms milliseconds, from 0 */
	sleep(ms: number): Promise<void>;
	/** From 0, below 1; the same at the same place of a later run. */
	random(): number;
	/** In the form of a version 4 UUID; the same at the same place of a later run. */
	uuid(): string;
}

export interface AgentOptions {
	/** A text for lists, in place of the prompt. */
	readonly label?: string | undefined;
	/** The system prompt. */
	readonly system?: string | undefined;
	/** The names of the tools that it may call. */
	readonly tools?: readonly string[] | undefined;
	/** How often the model may answer until it has to be done. */
	readonly maxTurns?: number | undefined;
	/** Tokens that the call is expected to cost, for a preview of what a run has still to pay. */
	readonly estimate?: number | undefined;
}

export interface AskOptions {
	/** The answers to choose from. */
	readonly choices?: readonly string[] | undefined;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/** @param index the position of the item */
export type Stage<Previous, Item, T> = (previous: Previous, item: Item, index: number) => T | Promise<T>;

/** The `detail` of `SCRIPT_BRANCH_FAILED`. */
export interface BranchesFailed {
	/** In order of position. */
	readonly failed: readonly {
		/** From 0. */
		readonly position: number;
		readonly message: string;
		readonly code?: string | undefined;
	}[];
	/** How many there were, these included. */
	readonly branches: number;
}

/** The calls that leave a script, each with the JSON that it carries. */
export interface ScriptCalls {
	readonly agent: AgentOptions & { readonly prompt: string; readonly schema?: JsonSchema };
	readonly tool: { readonly name: string; readonly args: Readonly<Record<string, unknown>> };
	readonly ask: AskOptions & { readonly question: string };
	readonly now: Readonly<Record<string, never>>;
	readonly sleep: { readonly ms: number };
}
