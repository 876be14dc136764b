/** What a verb takes, said once: each face reads it in its own way, as arguments of a shell, words behind a slash, or fields of JSON. */
import { z } from "zod";

export interface Param<T = unknown> {
	/** A `word` stands in its place, a `text` is all that is left, an `option` stands behind its name, and a `flag` is its name alone. */
	readonly as: "word" | "text" | "option" | "flag";
	/** What it may be; one that takes `undefined` may be left out. */
	readonly schema: z.ZodType<T>;
	/** What stands for it where the usage is shown: `ref`. */
	readonly value: string;
	/** What it is, in a line. */
	readonly help: string;
	/** All that it may be, where those are a few words. */
	readonly choices?: readonly string[];
	/** What is no text, and is typed as one: a script as the path of its file, a value as JSON. A face reads it. */
	readonly reads?: "script" | "json";
	/** A letter that an option or a flag may be given by as well. */
	readonly short?: string;
	/** What `--no-…` of a flag says, where that is not the same as leaving it out. */
	readonly negated?: string;
	/** An option that may be given several times; it is the list of them. */
	readonly isMany?: true;
}

export type Params = Readonly<Record<string, Param>>;

/** What was given for each param, parsed. */
export type Given<P extends Params> = { readonly [Name in keyof P]: P[Name] extends Param<infer T> ? T : never };

type Of<T> = (value: string, help: string, schema: z.ZodType<T>) => Param<T>;

export const word: <T>(...of: Parameters<Of<T>>) => Param<T> = (value, help, schema) => ({
	...{ as: "word", value, help, schema },
});

export const text: <T>(...of: Parameters<Of<T>>) => Param<T> = (value, help, schema) => ({
	...{ as: "text", value, help, schema },
});

export const option: <T>(...of: Parameters<Of<T>>) => Param<T> = (value, help, schema) => ({
	...{ as: "option", value, help, schema },
});

/** An option that is one of a few words. */
export function choice<T extends string>(value: string, help: string, choices: readonly T[]): Param<T | undefined>;
export function choice<T extends string>(value: string, help: string, choices: readonly T[], byDefault: T): Param<T>;
export function choice<T extends string>(value: string, help: string, choices: readonly T[], byDefault?: T): Param {
	const one = z.enum(choices as readonly [T, ...T[]]);
	return {
		as: "option",
		value,
		help,
		choices,
		schema: byDefault === undefined ? one.optional() : one.default(byDefault as never),
	};
}

export const flag = (help: string, schema: z.ZodType<boolean>, negated?: string): Param<boolean> => ({
	...{ as: "flag", value: "", help, schema },
	...(negated !== undefined && { negated }),
});

/** How its name is typed: `keepDays` is `keep-days`. */
export const typedName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** May it be left out? */
export const isOptional = ({ schema }: Param): boolean => schema.safeParse(undefined).success;
