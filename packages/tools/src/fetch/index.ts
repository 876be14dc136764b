/** A tool that fetches pages: `@reyn/tools/fetch`. */
export { createFetchTool, type FetchOptions } from "./fetch-tool.ts";
