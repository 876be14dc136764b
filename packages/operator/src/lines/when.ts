/** A time for people. */
export const when = (ts: number): string => `${new Date(ts).toISOString().slice(0, 16).replace("T", " ")} UTC`;
