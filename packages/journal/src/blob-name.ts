/** The name of a blob that lies beside the log under its hash: results, texts, images and files alike. */
export const nameOf = (sha256: string): string => `${sha256.slice(0, 2)}/${sha256}`;
