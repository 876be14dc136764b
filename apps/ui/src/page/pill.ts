/** How a status looks: those that need somebody stand out. */
const calm: readonly string[] = ["running", "completed", "pending", "hit", "live", "calling", "kept", "again"];

export const pillOf = (status: string): string => (calm.includes(status) ? "pill" : "pill pill-warn");
