/** How lines and paths are judged and shown, for who reads what the tools answer. */
export { type Definition, definitionIn, explains, isComment, isImport, type PathKind, pathKind } from "./line-kind.ts";
export { excerpt, showCount } from "./text-file.ts";
export { placeOf, type Strength, strengthOf } from "./word-match.ts";
