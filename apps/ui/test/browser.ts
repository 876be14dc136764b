/** The browser that the tests of the page use: one of this machine, or the one that npm has, so that a machine without any runs them too. */
import { existsSync, rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";

interface Found {
	readonly path: string;
	readonly env?: Readonly<Record<string, string>>;
}

/** A browser, which whoever asked for it closes. */
export async function openBrowser(switches: readonly string[] = []): Promise<Browser> {
	const found = installed() ?? (await unpacked());
	return chromium.launch({
		executablePath: found.path,
		// Its own switches are not taken over from a package that turns the web's security off.
		args: ["--no-sandbox", ...switches],
		...(found.env && { env: { ...process.env, ...found.env } }),
	});
}

function installed(): Found | undefined {
	const paths = [process.env.REYN_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome", "/opt/google/chrome/chrome"];
	const path = paths.find((each) => each !== undefined && existsSync(each));
	return path === undefined ? undefined : { path };
}

/** Chromium for Linux on x64, with the libraries that it needs beside those of C, in a directory of its own: what lies half unpacked is not taken for it. */
async function unpacked(): Promise<Found> {
	const { inflate } = await import("@sparticuz/chromium");
	const bin = join(fileURLToPath(import.meta.resolve("@sparticuz/chromium")), "../../bin");
	const { TMPDIR } = process.env;
	process.env.TMPDIR = await mkdtemp(join(tmpdir(), "reyn-chromium-"));
	const [path = "", libraries = "", fonts = ""] = await Promise.all(
		["chromium.br", "al2023.tar.br", "fonts.tar.br"].map((name) => inflate(join(bin, name))),
	);
	const place = process.env.TMPDIR;
	process.on("exit", () => rmSync(place, { recursive: true, force: true }));
	if (TMPDIR === undefined) delete process.env.TMPDIR;
	else process.env.TMPDIR = TMPDIR;
	// Its own configuration looks for them at one fixed place, where there may be none: then no text has a size.
	const configuration = join(fonts, "reyn.conf");
	await writeFile(
		configuration,
		`<fontconfig><dir>${fonts}</dir><dir>/usr/share/fonts</dir><cachedir>${fonts}/cache</cachedir></fontconfig>`,
	);
	return { path, env: { LD_LIBRARY_PATH: join(libraries, "lib"), FONTCONFIG_FILE: configuration } };
}
