/** A tool that runs commands: `@reyn/tools/shell`. */
export { createShellTool, type ShellOptions } from "./shell-tool.ts";
