/** Whether git tracks a state, as git itself has written it down, and as somebody may have who wants it unsaid. */
import { execFileSync } from "node:child_process";
import {
	appendFileSync,
	cpSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pointsOf } from "../../../tests/sample.ts";
import { indexSays, trackedByGit } from "../src/git-tracked.ts";

let root: string;
/** With a state that is tracked, and files before and behind it. */
let repository: string;

const git = (cwd: string, ...args: string[]): string =>
	execFileSync("git", args, {
		cwd,
		encoding: "utf8",
		stdio: ["ignore", "pipe", "ignore"],
		env: { PATH: process.env.PATH, HOME: root, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: join(root, "config") },
	});

const hasGit = (() => {
	try {
		return execFileSync("git", ["--version"], { stdio: "pipe" }).length > 0;
	} catch {
		return false;
	}
})();

const put = (path: string, text = "x"): void => {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text);
};

/** A repository with these files, all tracked. */
function made(name: string, files: readonly string[], ...how: string[]): string {
	const place = join(root, name);
	mkdirSync(place);
	git(place, "init", "-q", ...how);
	for (const file of files) put(join(place, file));
	git(place, "add", "-f", ".");
	git(place, "commit", "-qm", "x");
	return place;
}

function copied(name: string): string {
	cpSync(repository, join(root, name), { recursive: true });
	git(join(root, name), "update-index", "-q", "--refresh");
	return join(root, name);
}

const stateIn = (place: string): string => join(place, ".reyn", "state");
const FILES = [".reyn/state/wal.jsonl", "a.md", "deep/er/b.md", ".reyn/statement.md", ...many()];

function many(): string[] {
	return Array.from({ length: 300 }, (_, i) => `docs/some-chapter-${"x".repeat(i)}`.slice(0, 200) + i);
}

describe.skipIf(!hasGit || process.platform === "win32")("a state in a repository", () => {
	beforeAll(() => {
		root = mkdtempSync(join(tmpdir(), "reyn-git-"));
		writeFileSync(
			join(root, "config"),
			'[user]\n\tname = a\n\temail = a@example.org\n[protocol "file"]\n\tallow = always\n',
		);
		repository = made("plain", FILES);
	});
	afterAll(() => rmSync(root, { recursive: true, force: true }));

	const told: Record<string, () => string> = {
		"as git writes it": () => stateIn(repository),
		"with an index of version 4": () => {
			const place = copied("v4");
			git(place, "update-index", "--index-version", "4");
			return stateIn(place);
		},
		"with flags that version 2 has no room for": () => {
			const place = copied("v3");
			git(place, "update-index", "--skip-worktree", "a.md", "docs/some-chapter-0");
			expect(readFileSync(join(place, ".git/index")).readUInt32BE(4)).toBe(3);
			return stateIn(place);
		},
		"whose index is split": () => {
			const place = copied("split");
			git(place, "update-index", "--split-index");
			return stateIn(place);
		},
		"whose index is split, with more since then": () => {
			const place = copied("split-more");
			git(place, "rm", "-q", "--cached", ".reyn/state/wal.jsonl");
			git(place, "update-index", "--split-index");
			git(place, "add", "-f", ".reyn");
			return stateIn(place);
		},
		"in a worktree": () => {
			git(copied("wt"), "worktree", "add", "-q", join(root, "wt2"));
			return stateIn(join(root, "wt2"));
		},
		"in a submodule": () => {
			const place = made("super", ["c.md"]);
			git(place, "submodule", "-q", "add", repository, "sub");
			return stateIn(join(place, "sub"));
		},
		"whose .git is a link": () => {
			const place = copied("linked");
			renameSync(join(place, ".git"), join(place, ".g"));
			symlinkSync(".g", join(place, ".git"));
			return stateIn(place);
		},
		"that is reached through a link": () => {
			symlinkSync(join(repository, ".reyn"), join(root, "elsewhere"));
			return join(root, "elsewhere", "state");
		},
		"of SHA-256": () => stateIn(made("sha256", FILES, "--object-format=sha256")),
		"of SHA-256, with an index of version 4": () => {
			git(join(root, "sha256"), "update-index", "--index-version", "4");
			return stateIn(join(root, "sha256"));
		},
		"that is gone": () => {
			rmSync(stateIn(copied("gone")), { recursive: true });
			return stateIn(join(root, "gone"));
		},
		"below a directory that is no repository": () => {
			const place = copied("empty");
			mkdirSync(join(place, ".reyn", ".git"));
			return stateIn(place);
		},
	};
	test.each(Object.entries(told))("%s", async (_, make) => {
		expect(await trackedByGit(make())).toBe("yes");
	});

	test("one that is not tracked is not, whatever is called alike, and where there is no repository", async () => {
		const place = copied("ignored");
		git(place, "rm", "-q", "--cached", ".reyn/state/wal.jsonl");
		for (const version of ["4", "2"]) {
			git(place, "update-index", "--index-version", version);
			expect([version, await trackedByGit(stateIn(place))]).toEqual([version, "no"]);
		}
		git(place, "update-index", "--split-index");
		expect(await trackedByGit(stateIn(place))).toBe("no");
		const fresh = join(root, "fresh");
		put(join(stateIn(fresh), "wal.jsonl"));
		expect(await trackedByGit(stateIn(fresh))).toBe("no");
		rmSync(stateIn(fresh), { recursive: true });
		expect(await trackedByGit(stateIn(fresh))).toBe("no");
		git(fresh, "init", "-q");
		expect(await trackedByGit(stateIn(fresh))).toBe("no");
		// A repository that the environment names may have it all the same.
		for (const name of ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"])
			expect([name, await trackedByGit(stateIn(fresh), { [name]: "/elsewhere" })]).toEqual([name, "unknown"]);
	});

	test("what is no repository to git is none, and a state that is one itself is not known", async () => {
		const place = copied("planted");
		put(join(place, ".reyn", ".git", "HEAD"), "ref: refs/heads/main\n");
		expect(await trackedByGit(stateIn(place))).toBe("yes");
		put(join(stateIn(place), ".git"), "gitdir: ../../.git/modules/state\n");
		expect(await trackedByGit(stateIn(place))).toBe("unknown");
	});

	const unknown: Record<string, (place: string) => void> = {
		"an index of a version that is not known": (place) => {
			const path = join(place, ".git/index");
			const bytes = readFileSync(path);
			bytes.writeUInt32BE(5, 4);
			writeFileSync(path, bytes);
		},
		"an index of gigabytes of nothing": (place) => truncateSync(join(place, ".git/index"), 8 * 1024 ** 3),
		"an index that is a pipe": (place) => {
			rmSync(join(place, ".git/index"));
			execFileSync("mkfifo", [join(place, ".git/index")]);
		},
		"an index with something behind it": (place) => appendFileSync(join(place, ".git/index"), "more"),
		"a .git that is a pipe": (place) => {
			rmSync(join(place, ".git"), { recursive: true });
			execFileSync("mkfifo", [join(place, ".git")]);
		},
		"a .git that says nothing": (place) => {
			rmSync(join(place, ".git"), { recursive: true });
			writeFileSync(join(place, ".git"), "gitdir:\n");
		},
		"a .git that leads to itself": (place) => {
			rmSync(join(place, ".git"), { recursive: true });
			symlinkSync(".git", join(place, ".git"));
		},
		"a split index of which one entry was taken out": (place) => {
			// As git writes it, by hand: it writes whole ones anew where one is a moment old.
			const index = join(place, ".git/index");
			const name = "ab".repeat(20);
			renameSync(index, join(place, `.git/sharedindex.${name}`));
			const link = Buffer.from(`${name}00000002`, "hex");
			const header = Buffer.from("4449524300000002000000006c696e6b00000018", "hex");
			writeFileSync(index, Buffer.concat([header, link, Buffer.alloc(20)]));
		},
		"a split index whose shared one is gone": (place) => {
			git(place, "update-index", "--split-index");
			execFileSync("sh", ["-c", "rm .git/sharedindex.*"], { cwd: place });
		},
		"a sparse index, with no files of directories that are not checked out": (place) => {
			git(place, "sparse-checkout", "set", "--cone", "--sparse-index", "docs");
			put(join(stateIn(place), "wal.jsonl"));
		},
	};
	test.each(Object.entries(unknown))("%s: it is not known", async (name, change) => {
		const place = copied(name.replaceAll(/\W/g, "-"));
		change(place);
		expect(await trackedByGit(stateIn(place))).toBe("unknown");
	});

	test("an index that is cut, or changed in any byte, is read without a failure, and one of a million names too", () => {
		const bytes = readFileSync(join(copied("changed"), ".git/index"));
		for (const version of ["2", "4"]) {
			git(join(root, "changed"), "update-index", "--index-version", version);
			const whole = readFileSync(join(root, "changed", ".git/index"));
			expect(indexSays(whole, ".reyn/state")).toEqual({ tracked: "yes" });
			for (const at of pointsOf(0, whole.length - 1, 5, 7)) {
				// What is cut within the hash at its end is one with an entry less at most.
				expect(["yes", "unknown"]).toContain(indexSays(whole.subarray(0, at), ".reyn/state").tracked);
				const changed = Buffer.from(whole);
				changed[at] = (changed[at] as number) ^ 0xff;
				indexSays(changed, ".reyn/state");
			}
		}
		// As many entries as there is room for, each with as long a name as there may be.
		const entry = Buffer.alloc(62 + 2);
		entry.writeUInt32BE(0o100644, 24);
		const first = Buffer.concat([entry.subarray(0, 62), Buffer.from([0]), Buffer.alloc(4000, "x"), Buffer.from([0])]);
		const count = 1_000_000;
		const header = Buffer.from([...Buffer.from("DIRC"), 0, 0, 0, 4, 0, 0, 0, 0]);
		header.writeUInt32BE(count + 1, 8);
		const many = Buffer.concat([header, first, Buffer.alloc(64 * count, entry), Buffer.alloc(20)]);
		expect(indexSays(many, "x")).toEqual({ tracked: "no" });
		expect(bytes.length).toBeGreaterThan(10_000);
	});
});
