/** A phase that a model works on: a bounded loop of model and tools, whose answer is checked, and says where the work goes. */
import type { Lane, Model } from "@reyn/journal";
import { converse, type Read, readJson, withSchema } from "@reyn/journal/internal";
import type { StandardSchemaV1 } from "@reyn/wal";
import { z } from "zod";
import { done, type ModelPhase, next, type Transition } from "./define-skill.ts";
import { END, waysOf } from "./graph.ts";
import { fit, jsonSchemaOf } from "./json-schema.ts";
import { type PhaseAt, toolNamed } from "./phase-context.ts";

const MAX_ROUNDS = 12;

/** Of several ways the model says which. */
const chosen = z.strictObject({ next: z.string(), output: z.unknown() });

/**
 * @param input of the run
 * @param before what the phase before gave; undefined: it is the first
 * @throws JournalError `AGENT_ANSWER` for an answer that does not fit, asked twice, `AGENT_TURNS`; SkillError `SKILL_CALL`
 */
export async function runModelPhase(
	lane: Lane,
	{ instructions, tools = [], output, next: ways, maxRounds = MAX_ROUNDS }: ModelPhase,
	{ input, before }: { readonly input: unknown; readonly before: unknown },
	at: Pick<PhaseAt, "skill" | "phase" | "tools">,
	model: Model,
): Promise<Transition> {
	const places = waysOf(ways === undefined ? {} : { next: ways });
	const [only = END] = places;
	const isChosen = places.length > 1;
	const asked = [
		`What it is given:\n${JSON.stringify(input ?? null)}`,
		...(before === undefined ? [] : [`What the phase before gave:\n${JSON.stringify(before)}`]),
	].join("\n\n");
	const read = (text: string): Read<Transition> => {
		if (isChosen) return readJson(text, (json) => readChoice(json, places, output));
		const found: Read<unknown> = output ? readJson(text, (json) => fit(output, json)) : { kind: "fits", value: text };
		return found.kind === "fits" ? { kind: "fits", value: leading(only, found.value) } : found;
	};
	const shape = shapeOf(isChosen ? places : undefined, output);
	const found = await converse(
		lane,
		model,
		{ system: instructions, text: shape ? withSchema(asked, shape) : asked, maxRounds },
		tools.map((name) => toolNamed(at, name)),
		read,
	);
	return found.value;
}

const leading = (place: string, output: unknown): Transition => (place === END ? done(output) : next(place, output));

function readChoice(json: unknown, places: readonly string[], output?: StandardSchemaV1): Read<Transition> {
	const { next: place, output: given } = chosen.parse(json);
	if (!places.includes(place))
		return { kind: "not", why: `next is "${place}", and has to be one of ${places.join(", ")}` };
	const found: Read<unknown> = output ? fit(output, given) : { kind: "fits", value: given };
	return found.kind === "fits" ? { kind: "fits", value: leading(place, found.value) } : found;
}

/** What the model is shown of how to answer; undefined: with a text. */
function shapeOf(places: readonly string[] | undefined, output: StandardSchemaV1 | undefined): unknown {
	const own = output && (jsonSchemaOf(output) ?? {});
	if (!places) return own;
	const properties = {
		next: { description: `where the work goes from here; "${END}" ends it`, enum: places },
		output: own ?? { type: "string" },
	};
	return { type: "object", properties, required: ["next", "output"], additionalProperties: false };
}
