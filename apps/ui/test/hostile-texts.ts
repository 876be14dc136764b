/** What a log may hold that would act in a page which makes elements of its texts. Each would call `hit()`. */
const calls = ["hit()", "window.hit()", "top.hit()", "hit`1`", "self['hit']()"];

const shapes: readonly ((call: string) => string)[] = [
	(call) => `<script>${call}</script>`,
	(call) => `<img src=x onerror="${call}">`,
	(call) => `<svg onload="${call}">`,
	(call) => `<svg><script>${call}</script></svg>`,
	(call) => `<iframe srcdoc="<script>parent.${call}</script>"></iframe>`,
	(call) => `<a href="javascript:${call}">x</a>`,
	(call) => `[x](javascript:${call})`,
	(call) => `<details open ontoggle="${call}">`,
	(call) => `<input autofocus onfocus="${call}">`,
	(call) => `<math><mtext><style><img src=x onerror="${call}"></style></mtext></math>`,
	(call) => `"><img src=x onerror=${call}>`,
	(call) => `'-${call}-'`,
	(call) => `\${${call}}`,
	(call) => `{{${call}}}`,
	(call) => `</title><script>${call}</script>`,
	(call) => `</textarea><script>${call}</script>`,
	(call) => `<style>@import "data:text/css,*{}";</style><script>${call}</script>`,
	(call) => `<base href="http://evil.test/"><script>${call}</script>`,
	(call) => `<meta http-equiv="refresh" content="0;url=javascript:${call}">`,
	(call) => `<object data="javascript:${call}"></object>`,
	(call) => `<embed src="javascript:${call}">`,
	(call) => `<form action="javascript:${call}"><button>x</button></form>`,
];

export const hostileTexts: readonly string[] = shapes.flatMap((shape) => calls.map(shape));
