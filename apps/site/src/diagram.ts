/** A diagram in Mermaid's words as a picture: drawn by the build, in the colours of the page that it stands on (`theme/style.css`). */
import { renderMermaidSVG } from "beautiful-mermaid";

export function diagramOf(text: string): string {
	const svg = renderMermaidSVG(text, { transparent: true, padding: 8, nodeSpacing: 40, layerSpacing: 32 });
	// Its own style asks another host for letters, and an empty line would end the picture.
	return `<figure v-pre class="diagram">${svg.replace(/<style>.*?<\/style>/s, "").replace(/\n\s*/g, "")}</figure>\n`;
}
