/** Reads what a project says of itself in package.json, pyproject.toml and their like: fields with the lines that they stand in. */
import type { NumberedLine, Piece } from "./evidence.ts";

/** One field of a manifest. */
export interface Field {
	/** `engines.node` for what lies in an object. */
	readonly key: string;
	readonly value: string;
	readonly path: string;
	readonly line: number;
}

/** The names that such files have. */
export const isManifest = (path: string): boolean =>
	/^(?:package|composer|bower|META)\.json$|^(?:pyproject|cargo)\.toml$|^setup\.(?:cfg|py)$|^(?:PKG-INFO|METADATA|DESCRIPTION|META\.yml)$|\.gemspec$|\.nuspec$|\.cabal$/i.test(
		path,
	);

/** The fields of a manifest, in its order; nested ones with a dot. */
export function fieldsOf(piece: Piece): readonly Field[] {
	if (/\.json$/i.test(piece.path)) return ofJson(piece);
	return ofKeys(piece);
}

function ofJson({ path, lines }: Piece): readonly Field[] {
	let value: unknown;
	try {
		value = JSON.parse(lines.map(({ text }) => text).join("\n"));
	} catch {
		return [];
	}
	return isObject(value) ? flat(value, "", lines, path, 0) : [];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Keys are looked for from the line of the object on, in the order that they have in it. */
function flat(
	object: Readonly<Record<string, unknown>>,
	above: string,
	lines: readonly NumberedLine[],
	path: string,
	from: number,
): readonly Field[] {
	const indent = indentIn(lines, Object.keys(object), from);
	return Object.entries(object).flatMap(([key, value]): readonly Field[] => {
		const at = lines.findIndex(({ text }, index) => index >= from && isKey(text, key, indent));
		const index = at < 0 ? from : at;
		const line = lines[index]?.number ?? 1;
		const name = above === "" ? key : `${above}.${key}`;
		if (isObject(value))
			return above.includes(".") ? [] : flat(value, name, lines, path, index + (lines.length > 1 ? 1 : 0));
		if (Array.isArray(value)) {
			return value.flatMap((each): readonly Field[] =>
				typeof each === "string"
					? [{ key: name, value: each, path, line }]
					: isObject(each) && typeof each.name === "string"
						? [{ key: name, value: each.name, path, line }]
						: [],
			);
		}
		return typeof value === "string" || typeof value === "number"
			? [{ key: name, value: String(value), path, line }]
			: [];
	});
}

const isKey = (text: string, key: string, indent: string | undefined): boolean => {
	const at = text.indexOf(`${JSON.stringify(key)}`);
	return (
		at >= 0 &&
		(indent === undefined || text.slice(0, at) === indent) &&
		/^\s*:/.test(text.slice(at + JSON.stringify(key).length))
	);
};

/** What the first key that begins a line stands behind: the keys of one object stand below each other. */
function indentIn(lines: readonly NumberedLine[], keys: readonly string[], from: number): string | undefined {
	for (const { text } of lines.slice(from)) {
		const [, indent, key] = /^(\s+)"([^"]+)"\s*:/.exec(text) ?? [];
		if (key !== undefined && keys.includes(key)) return indent;
	}
	return undefined;
}

const wanted = /^(?:project|package|workspace\.package|tool\.poetry|tool\.flit\.metadata|metadata|options)?$/;

/** `key = value` and `Key: value`, of the sections that speak of the project. */
function ofKeys({ path, lines }: Piece): readonly Field[] {
	let section = "";
	let open: string | undefined;
	return lines.flatMap(({ text, number: line }): readonly Field[] => {
		const title = /^\[([\w.-]+)\]\s*$/.exec(text)?.[1];
		if (title !== undefined) {
			section = title;
			open = undefined;
			return [];
		}
		if (open !== undefined) {
			const key = open;
			if (/^\s*[\])]/.test(text)) open = undefined;
			return namesIn(text).map((value) => ({ key, value, path, line }));
		}
		const within = section.replace(/^(?:project|package|tool\.poetry)\.(?=dependencies)/, "");
		if (within !== "dependencies" && !wanted.test(section)) return [];
		const [, name = "", rest = ""] =
			/^\s*(?:\w+\.)?["']?([\w-]+)["']?\s*(?:=(?!=)|:(?!:))\s*(.*?),?\s*$/.exec(text) ?? [];
		if (name === "" || rest === "") return [];
		const key = within === "dependencies" ? `dependencies.${name}` : name.toLowerCase();
		if (/^\[\s*$/.test(rest)) {
			open = key;
			return [];
		}
		const values = /^[[{"']/.test(rest) ? namesIn(rest) : /^[\w(]/.test(rest) && !/\(/.test(rest) ? [rest] : [];
		return values.map((value) => ({ key, value, path, line }));
	});
}

/** The strings of a value; of a table its name or text. */
function namesIn(text: string): readonly string[] {
	const named = [...text.matchAll(/\b(?:name|text|file|version)\s*=\s*["']([^"']+)["']/g)].map(([, name = ""]) => name);
	return named.length > 0 ? named : [...text.matchAll(/"([^"]+)"|'([^']+)'/g)].map(([, a, b]) => a ?? b ?? "");
}
