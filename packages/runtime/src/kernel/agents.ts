/** The agents: each has its own model, tools and instructions where they are given, and the common ones otherwise. */
import type { Model, Tool, ToolSource } from "@reyn/journal";
import { assertPurity } from "@reyn/journal/internal";
import { RuntimeError } from "./errors.ts";
import type { Agent } from "./feature.ts";

export interface AgentOptions {
	readonly model: Model;
	/** The tools of turns and plan steps; from a source, the tools that it has when they begin. */
	readonly tools: readonly Tool[] | ToolSource;
	/** The instructions that the model gets before each conversation; a function is asked when a turn begins or goes on. */
	readonly instructions: string | (() => string | Promise<string>);
}

/** Finds a model by its id; undefined: it is not to be had. */
export type FindModel = (id: string) => Model | undefined;

export class Agents {
	readonly #all: AgentOptions;
	readonly #own: Readonly<Record<string, Partial<AgentOptions>>>;
	readonly #find: FindModel;

	/**
	 * @param own by agent: what replaces the common options
	 * @param find finds a model that work was begun with
	 * @throws RuntimeError `RUNTIME_TOOLS` for a source that gives no tools; JournalError `STEP_PURITY` for a tool
	 */
	constructor(
		all: AgentOptions,
		own: Readonly<Record<string, Partial<AgentOptions>>>,
		find: FindModel = () => undefined,
	) {
		this.#all = all;
		this.#own = own;
		this.#find = find;
		for (const source of this.#sources) toolsOf(source);
	}

	/**
	 * The agent as it is now, with the model that a work was begun with, where that is found.
	 *
	 * @throws RuntimeError `RUNTIME_TOOLS`; JournalError `STEP_PURITY` for a tool that its source has added
	 */
	of(agent: string, begunWith?: string): Agent {
		const { model, tools, instructions } = {
			...this.#all,
			...(Object.hasOwn(this.#own, agent) ? this.#own[agent] : {}),
		};
		const begun = begunWith === undefined || begunWith === model.id ? undefined : this.#find(begunWith);
		return { model: begun ?? model, tools: toolsOf(tools), instructions: () => told(instructions) };
	}

	/** Closes the sources of tools. */
	async close(): Promise<void> {
		await Promise.all(this.#sources.map((source) => ("close" in source ? source.close() : undefined)));
	}

	get #sources(): readonly AgentOptions["tools"][] {
		const all = [this.#all, ...Object.values(this.#own)].map(({ tools }) => tools);
		return [...new Set(all)].filter((tools) => tools !== undefined);
	}
}

async function told(instructions: AgentOptions["instructions"]): Promise<string> {
	const text: unknown = typeof instructions === "function" ? await instructions() : instructions;
	if (typeof text !== "string") throw new TypeError(`the instructions of an agent are a text, not ${typeof text}`);
	return text;
}

function toolsOf(source: AgentOptions["tools"]): readonly Tool[] {
	const tools = "tools" in source ? given(source) : source;
	for (const tool of tools) assertPurity(tool);
	return tools;
}

function given(source: ToolSource): readonly Tool[] {
	try {
		return source.tools();
	} catch (cause) {
		throw new RuntimeError(
			"RUNTIME_TOOLS",
			`a source of tools gives none: ${(cause as Error).message}. See to it that it can be asked before it is given`,
			{},
			{ cause },
		);
	}
}
