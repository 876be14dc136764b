/** What an install of Reyn brings along, and how it is released. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { installScripts, thirdParties, thirdPartyPage, thirdPartyPath } from "../tools/third-party.ts";
import { findPackages, isPublished, root } from "./workspace.ts";

/** Licences that ask for no more than to be named. */
const allowed = ["MIT", "ISC", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD"];

describe("an install", () => {
	test("brings at most 19 packages of others along, each under a licence that allows it, and runs none of their code", () => {
		const all = thirdParties();
		expect(all.length).toBeGreaterThan(0);
		expect(all.length).toBeLessThanOrEqual(19);
		expect(all.filter(({ license }) => !allowed.includes(license))).toEqual([]);
		expect(all.filter(({ installs }) => installs.length > 0)).toEqual([]);
	});

	test("is listed with its licences as it is", async () => {
		expect(await readFile(thirdPartyPath, "utf8"), "run: pnpm exec node tools/third-party.ts").toBe(thirdPartyPage());
	});

	test("runs none of our code, and what we publish says its licence", () => {
		const published = findPackages().filter(isPublished);
		expect(published.length).toBeGreaterThan(0);
		for (const { manifest } of published) {
			expect(installScripts(manifest), manifest.name).toEqual([]);
			expect(manifest, manifest.name).toMatchObject({ license: "MIT" });
		}
	});
});

const workflows = join(root, ".github/workflows");

describe.each(readdirSync(workflows))("the workflow %s", (name) => {
	test("uses no action that somebody could change, and may do no more than it has to", async () => {
		const text = await readFile(join(workflows, name), "utf8");
		const uses = [...text.matchAll(/uses: (.*)/g)].map(([, each]) => each);
		expect(uses.length).toBeGreaterThan(0);
		for (const each of uses) expect(each).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
		expect(text).toMatch(/^permissions: \{\}$/m);
		expect(text).not.toMatch(/\$\{\{ *(github\.event|inputs|secrets)/);
		expect(text).not.toContain("pull_request_target");
		// Only who publishes signs, or writes.
		const publish = text.indexOf("\n  publish:\n");
		const writes = [...text.matchAll(/: *write/g)].filter(({ index }) => publish < 0 || index < publish);
		expect(writes).toEqual([]);
	});

	test("ends, is not run beside itself, and checks what `.ci/run` does", async () => {
		const text = await readFile(join(workflows, name), "utf8");
		expect(text).toMatch(/^concurrency:/m);
		expect(text.match(/^ +timeout-minutes: \d+$/gm)).toHaveLength(text.match(/^ +runs-on: /gm)?.length ?? 0);
		expect(text).toContain("- run: .ci/run");
	});
});

describe("the release", () => {
	test("packs with pnpm alone: another packer is stopped in each package", () => {
		for (const { dir, manifest } of findPackages().filter(isPublished)) {
			const [command = "", ...args] = manifest.scripts?.prepack?.split(" ") ?? [];
			const packedBy = (agent: string) =>
				spawnSync(command, args, { cwd: dir, encoding: "utf8", env: { ...process.env, npm_config_user_agent: agent } });
			expect(packedBy("pnpm/12.21.0 npm/? node/v24.21.0").status, manifest.name).toBe(0);
			expect(packedBy("npm/11.19.1 node/v24.21.0"), manifest.name).toMatchObject({
				status: 1,
				stderr: expect.stringContaining("Pack with pnpm"),
			});
		}
	});

	test("proves where it comes from, verifies what it is made of, and lists it", async () => {
		const text = await readFile(join(root, ".github/workflows/release.yml"), "utf8");
		for (const part of ["id-token: write", "NPM_CONFIG_PROVENANCE", "audit signatures", "sbom", "--frozen-lockfile"])
			expect(text).toContain(part);
		const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
		expect(text).toContain("pnpm@12.21.0 release");
		expect(scripts.release).toContain("changeset publish");
	});
});
