/** HTML as Markdown, by `turndown`, which is loaded when a page is HTML. */
import { ToolError } from "../errors.ts";

/** What says nothing to a reader. */
const left = [
	"title",
	"script",
	"style",
	"noscript",
	"template",
	"iframe",
	"object",
	"embed",
	"svg",
	"canvas",
	"form",
	"button",
	"input",
	"select",
	"textarea",
	"nav",
	"footer",
] as const;

/** @throws ToolError `TOOL_NO_LIBRARY` */
export async function markdownOf(html: string, base: URL): Promise<string> {
	const { default: Turndown } = await import("./turndown.js").catch((cause: unknown) => {
		throw new ToolError(
			"TOOL_NO_LIBRARY",
			"HTML is turned into Markdown by the package turndown, which is not installed here",
			{},
			{ cause },
		);
	});
	const service = new Turndown({
		headingStyle: "atx",
		codeBlockStyle: "fenced",
		bulletListMarker: "-",
	});
	service.remove([...left]);
	// A picture is of no use to who reads text, but for what it is said to show.
	service.addRule("picture", {
		filter: "img",
		replacement: (_, node) => (node.getAttribute("alt") ?? "").trim().slice(0, 200),
	});
	service.addRule("link", {
		filter: (node) => node.nodeName === "A" && node.hasAttribute("href"),
		replacement: (text, node) => {
			const to = URL.parse(node.getAttribute("href") ?? "", base.href);
			const said = text.trim();
			return said === "" || !to || !/^https?:$/.test(to.protocol) ? said : `[${said}](${to.href})`;
		},
	});
	return service.turndown(html).replace(/\n{3,}/g, "\n\n");
}
