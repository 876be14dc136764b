/** How a person says a verb where they are. */

/**
 * Writes a verb with its words as it can be typed there: say`plan resume ${id}` is a command in a shell, and
 * `/plan resume p12` in a chat. The texts are ours, the words between them are anybody's: a face quotes them.
 */
export type Say = (texts: TemplateStringsArray | readonly string[], ...words: readonly string[]) => string;
