/** What Node has made of the sources is kept for the next command, which then starts faster. */
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Kept below this user's own directory: who can write there decides what runs. `NODE_COMPILE_CACHE` names another, `NODE_DISABLE_COMPILE_CACHE` none. */
export function keepCompiled(): void {
	const above = cacheDirectory();
	if (isAbsolute(above)) enableCompileCache(join(above, "reyn", "compiled"));
}

function cacheDirectory(): string {
	const { XDG_CACHE_HOME = "", LOCALAPPDATA = "" } = process.env;
	if (isAbsolute(XDG_CACHE_HOME)) return XDG_CACHE_HOME;
	if (process.platform === "win32" && isAbsolute(LOCALAPPDATA)) return LOCALAPPDATA;
	try {
		return join(homedir(), ".cache");
	} catch {
		// A user whom the system does not know has no home: nothing is kept.
		return "";
	}
}
