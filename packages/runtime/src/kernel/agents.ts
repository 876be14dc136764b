/** Who works in a session: of each agent what it has of its own, and the rest as all have it. */
import type { Model, Tool, ToolSource } from "@reyn/journal";
import { assertPurity } from "@reyn/journal/internal";
import { RuntimeError } from "./errors.ts";
import type { Agent } from "./feature.ts";

export interface AgentOptions {
	readonly model: Model;
	/** What turns and plan steps may use. Of a source, what it has when they begin. */
	readonly tools: readonly Tool[] | ToolSource;
	/** What the model is told before each conversation. */
	readonly instructions: string;
}

export class Agents {
	readonly #all: AgentOptions;
	readonly #own: Readonly<Record<string, Partial<AgentOptions>>>;

	/**
	 * @param own by agent: what it has in place of what all have
	 * @throws RuntimeError `RUNTIME_TOOLS` of a source that gives no tools; JournalError `STEP_PURITY` of a tool
	 */
	constructor(all: AgentOptions, own: Readonly<Record<string, Partial<AgentOptions>>>) {
		this.#all = all;
		this.#own = own;
		for (const source of this.#sources) toolsOf(source);
	}

	/** @throws RuntimeError `RUNTIME_TOOLS`; JournalError `STEP_PURITY` of a tool that has come since */
	of(agent: string): Agent {
		const { tools, ...rest } = { ...this.#all, ...(Object.hasOwn(this.#own, agent) ? this.#own[agent] : {}) };
		return { ...rest, tools: toolsOf(tools) };
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
