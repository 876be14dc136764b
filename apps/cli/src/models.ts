/** The model that answers, by the name that was chosen; by default the one without a key. A provider's package is loaded when it is to answer, and only that. */
import type { AiSdkModel, AiSdkSettings } from "@reyn/ai-sdk";
import type { Model, Prices } from "@reyn/journal";
import { offlineModel } from "@reyn/offline-model";
import { codeOf } from "@reyn/wal";
import type { Setting } from "./config/settings.ts";
import { CliError } from "./exit-code.ts";
import { reyn } from "./suggest.ts";

type Env = Readonly<Record<string, string | undefined>>;

interface Provider {
	/** Its user installs it, beside this program. */
	readonly package: string;
	/** The variables that may have its key; the first one that is set counts. None: it needs no key. */
	readonly keys: readonly string[];
	/** What each of its present models reads at least in a request, in tokens. Absent: nobody knows. */
	reads?(env: Env, answer: number): number | undefined;
	/** The media types of files that its models take, or some of them. */
	readonly accepts: readonly string[];
	/** How a model is made of what the package has. */
	make(provided: Readonly<Record<string, Create>>, model: string, env: Env): AiSdkModel | undefined;
}

type Create = ((settings: object) => ModelsOf) | undefined;
type ModelsOf = ((model: string) => AiSdkModel) & { readonly chat?: (model: string) => AiSdkModel };

const images = ["image/png", "image/jpeg", "image/webp"];
const PDF = "application/pdf";

const providers: Readonly<Record<string, Provider>> = {
	anthropic: {
		package: "@ai-sdk/anthropic",
		keys: ["ANTHROPIC_API_KEY"],
		// Its answer counts too.
		accepts: [...images, "image/gif", PDF],
		reads: (_, answer) => (answer < 200_000 ? 200_000 - answer : undefined),
		make: ({ createAnthropic }, model) => createAnthropic?.({})(model),
	},
	google: {
		package: "@ai-sdk/google",
		keys: ["GOOGLE_GENERATIVE_AI_API_KEY"],
		accepts: [...images, PDF],
		reads: () => 1_000_000,
		make: ({ createGoogleGenerativeAI }, model) => createGoogleGenerativeAI?.({})(model),
	},
	ollama: {
		package: "@ai-sdk/openai-compatible",
		keys: [],
		accepts: images,
		reads: ({ OLLAMA_CONTEXT_LENGTH: length = "" }) => (/^[1-9]\d{0,8}$/.test(length) ? Number(length) : undefined),
		make: ({ createOpenAICompatible }, model, { OLLAMA_HOST: host = "127.0.0.1:11434" }) => {
			const at = /^https?:/.test(host) ? host : `http://${host}`;
			return createOpenAICompatible?.({
				...{ name: "ollama", baseURL: `${at.replace(/\/$/, "")}/v1`, includeUsage: true },
			})(model);
		},
	},
	openai: {
		package: "@ai-sdk/openai",
		keys: ["OPENAI_API_KEY"],
		accepts: [...images, "image/gif", PDF],
		reads: ({ OPENAI_BASE_URL: at }, answer) => (at === undefined ? 128_000 - Math.min(answer, 16_000) : undefined),
		// Other servers at that address speak the older of its two languages.
		make: ({ createOpenAI }, model, { OPENAI_BASE_URL: at }) => {
			const models = createOpenAI?.({});
			return at === undefined ? models?.(model) : models?.chat?.(model);
		},
	},
};

/** The name of the model without a key. */
export const OFFLINE = "offline";

/** It computes here, and nobody is paid for it. */
export const freeModels: Prices = { [OFFLINE]: { input: 0, output: 0 } };

const forms = `${OFFLINE}, or <provider>/<model> of ${Object.keys(providers).join(", ")}`;

/** The name of the model that was chosen. @param key where in a file it was @throws CliError `CLI_USAGE` */
export function modelName(
	{ value: name, source }: Setting = { value: OFFLINE, source: "default" },
	key = "model",
): string {
	if (typeof name === "string" && isModel(name)) return name;
	const where = source === "--model" || source.startsWith("REYN_") ? source : `${source}: ${key}`;
	throw new CliError("CLI_USAGE", `${where} takes ${forms}; found "${name}"`);
}

/** Is it the name of a model that may be chosen? */
export const isModel = (name: string): boolean => name === OFFLINE || partsOf(name) !== undefined;

function partsOf(name: string): { readonly provider: Provider; readonly model: string } | undefined {
	const [of = "", ...rest] = name.split("/");
	const provider = Object.hasOwn(providers, of) ? providers[of] : undefined;
	const model = rest.join("/");
	return provider && model !== "" ? { provider, model } : undefined;
}

/** The model that was chosen, which is loaded when it is first asked: many commands ask none. */
export function chosenModel(name: string, env: Env, paceMs: number, settings: AiSdkSettings): Model {
	const { maxInputTokens = readsOf(name, env, settings), ...rest } = settings;
	const accepts = partsOf(name)?.provider.accepts;
	const offline = offlineModel({ paceMs });
	let loaded: Promise<Model> | undefined;
	return {
		...(name === OFFLINE ? offline : { id: name, accepts, generate }),
		maxInputTokens,
	};

	async function* generate(...asked: Parameters<Model["generate"]>) {
		loaded ??= loadModel(name, env, rest);
		yield* (await loaded).generate(...asked);
	}
}

const readsOf = (name: string, env: Env, { maxOutputTokens = 64_000 }: AiSdkSettings): number | undefined =>
	partsOf(name)?.provider.reads?.(env, maxOutputTokens);

/** Can it be asked? @throws CliError `CLI_MODEL` where its package or its key is missing */
export async function assertModel(name: string, env: Env): Promise<void> {
	if (name !== OFFLINE) await loadModel(name, env);
}

async function loadModel(name: string, env: Env, settings: AiSdkSettings = {}): Promise<Model> {
	const { provider, model } = partsOf(name) as NonNullable<ReturnType<typeof partsOf>>;
	const { package: from, keys } = provider;
	if (keys.length > 0 && !keys.some((key) => env[key]))
		throw new CliError(
			"CLI_MODEL",
			`${name} needs a key: set ${keys.join(" or ")}. Without one there is --model ${OFFLINE}`,
		);
	const made = provider.make(await imported(name, from), model, env);
	if (!made)
		throw new CliError("CLI_MODEL", `${from} is of another version than ${name} needs: npm install -g ${from}@latest`);
	const { fromAiSdk } = await import("@reyn/ai-sdk");
	return fromAiSdk(made, settings);
}

async function imported(name: string, from: string): Promise<Readonly<Record<string, Create>>> {
	try {
		return await import(from);
	} catch (error) {
		if (codeOf(error) !== "ERR_MODULE_NOT_FOUND") throw error;
		throw new CliError(
			"CLI_MODEL",
			`${name} needs the package ${from}, which is not installed beside reyn: npm install -g ${from}`,
		);
	}
}

/** Who answers where nobody has chosen a model, and how one is chosen; undefined: somebody has. */
export function unchosen(
	{ value: name, source }: Setting = { value: OFFLINE, source: "default" },
	env: Env,
): string | undefined {
	if (name !== OFFLINE) return undefined;
	for (const [of, { keys }] of Object.entries(providers)) {
		const key = keys.find((each) => env[each]);
		if (key !== undefined)
			return `${key} is set and not used: the offline model answers. To use it: --model ${of}/<model>`;
	}
	if (source !== "default") return undefined;
	return `no model is chosen, so the offline one answers: it stands in for one, and only finds and quotes. ${howToChoose()}`;
}

/** How one chooses a model, in a sentence. */
export const howToChoose = (): string =>
	`Choose a model with --model <provider>/<model>, REYN_MODEL, or model in your own configuration (${reyn`config path`})`;
