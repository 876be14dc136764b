/** Makes a model of the port of any language model of the AI SDK. */
import type { Model } from "@reyn/journal";
import { attachable } from "@reyn/journal/internal";
import { type Clock, systemClock } from "@reyn/wal";
import type { AiSdkModel, AiSdkSettings } from "./ai-sdk-model.ts";
import { answerOf } from "./answer.ts";
import { AiSdkError } from "./errors.ts";
import { promptOf } from "./prompt.ts";
import { providerError } from "./provider-error.ts";

const VERSIONS = ["v3", "v4"];

/**
 * A model of any provider of the AI SDK, as specification V3 (`ai` 6) or V4 (`ai` 7). Its id is that of the provider and the model:
 * `anthropic/claude-sonnet-4-5`. A failure that may pass is thrown with `retryable: true`, and `retryAfterMs` if the provider says
 * when. What a provider does not count is 0, and `uncounted`.
 *
 * @throws AiSdkError `AI_SDK_VERSION`
 */
export function fromAiSdk(
	model: AiSdkModel,
	{ maxInputTokens, accepts = attachable, ...settings }: AiSdkSettings = {},
	clock: Clock = systemClock,
): Model {
	const { specificationVersion: version, provider, modelId } = model;
	if (!VERSIONS.includes(version))
		throw new AiSdkError(
			"AI_SDK_VERSION",
			`expected a model of specification v3 or v4, found ${version}: install a provider of ai 6 or 7`,
			{ expected: VERSIONS, found: version },
		);
	const id = `${provider.split(".")[0]}/${modelId}`;
	const now = (): number => clock.now();
	return {
		id,
		...{ maxInputTokens, accepts },
		async *generate(request, { signal }) {
			signal.throwIfAborted();
			const tools = request.tools.map(({ name, description, parameters }) => ({
				...{ type: "function" as const, name, description, inputSchema: parameters as Record<string, unknown> },
			}));
			const prompt = promptOf(request, id, model);
			try {
				const { stream } = await model.doStream({
					...settings,
					prompt,
					...(tools.length > 0 && { tools }),
					abortSignal: signal,
				});
				yield* answerOf(stream, signal, now, prompt);
			} catch (error) {
				signal.throwIfAborted();
				throw error instanceof Error && "retryable" in error ? error : providerError(error, now());
			}
		},
	};
}
