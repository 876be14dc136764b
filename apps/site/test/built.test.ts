/** The check of the built site sees what it is for. */
import { expect, test } from "vitest";
import { faultsOf } from "../src/built.ts";

const page = (body: string): string => `<!doctype html><body><h2 id="a-&amp;-b">A</h2>${body}</body>`;
const site = (body: string): ReadonlyMap<string, string> =>
	new Map([
		["index.html", page("")],
		["guides/index.html", page("")],
		["guides/tools.html", page(body)],
		["assets/demo.svg", "<svg/>"],
	]);

test.each([
	'<a href="/">home</a> <a href="/guides/">guides</a> <a class="x" href="../guides/tools.html#a-&amp;-b">self</a> <a href="#">top</a>',
	'<a href="/guides/tools">without its end</a> <a href="/assets/demo.svg">a picture</a> <a href="https://nodejs.org/">elsewhere</a>',
	'<img src="/assets/demo.svg"> <link href="data:,"> <code>&lt;img src="https://x.y/"></code>',
])("a sound page has no fault: %s", (body) => {
	expect(faultsOf(site(body))).toEqual([]);
});

test.each([
	['<a href="/guides/gone.html">', "guides/tools.html links to /guides/gone.html, and nothing is there"],
	['<a href="gone">', "guides/tools.html links to gone, and nothing is there"],
	['<a href="#gone">', "guides/tools.html links to #gone, and nothing is there"],
	['<a title="x" href="/#gone">', "guides/tools.html links to /#gone, and nothing is there"],
	['<img alt="x" src="https://x.y/z.png">', "guides/tools.html asks for https://x.y/z.png"],
	['<link rel="stylesheet" href="//x.y/z.css">', "guides/tools.html asks for //x.y/z.css"],
	["<style>@import url('https://x.y/z.css')</style>", "guides/tools.html asks for https://x.y/z.css"],
	['<style>@import "https://x.y/z.css"</style>', "guides/tools.html asks for https://x.y/z.css"],
])("a fault is named: %s", (body, fault) => {
	expect(faultsOf(site(body))).toEqual([fault]);
});

test("a style sheet and a picture ask no other host either; a script is held by the policy", () => {
	const text = "a { background: url(https://x.y/z.png) }";
	const files = new Map(["a.css", "a.svg", "a.js"].map((name) => [name, text]));
	expect(faultsOf(files)).toEqual(["a.css asks for https://x.y/z.png", "a.svg asks for https://x.y/z.png"]);
});
