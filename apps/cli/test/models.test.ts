/** How much the chosen model reads at once, by what was said, else by its provider. */
import { expect, test } from "vitest";
import { chosenModel } from "../src/models.ts";

test.each([
	["offline", {}, {}, undefined],
	["offline", {}, { maxInputTokens: 5000 }, 5000],
	["anthropic/claude-sonnet-4-5", {}, {}, 136_000],
	["anthropic/claude-sonnet-4-5", {}, { maxOutputTokens: 8000 }, 192_000],
	["anthropic/claude-sonnet-4-5", {}, { maxOutputTokens: 300_000 }, undefined],
	["anthropic/claude-sonnet-4-5", {}, { maxInputTokens: 900_000 }, 900_000],
	["openai/gpt-5", {}, {}, 112_000],
	["openai/gpt-5", { OPENAI_BASE_URL: "http://127.0.0.1:8080/v1" }, {}, undefined],
	["ollama/qwen3", {}, {}, undefined],
	["ollama/qwen3", { OLLAMA_CONTEXT_LENGTH: "32768" }, {}, 32_768],
	["ollama/qwen3", { OLLAMA_CONTEXT_LENGTH: "much" }, {}, undefined],
])("%s with %j and %j reads %s tokens", (name, env, settings, most) => {
	expect(chosenModel(name, env, 0, settings)).toMatchObject({ id: name, maxInputTokens: most });
});
