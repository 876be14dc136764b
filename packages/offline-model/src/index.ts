/** A model without a model: it searches, reads and quotes a directory. No key, no network, the same answer every time. */
export { approximateTokens, type OfflineModelOptions, offlineModel } from "./offline-model.ts";
export { tracedModel } from "./traced-model.ts";
