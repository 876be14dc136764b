/** Where the page begins. */
import { effect } from "@preact/signals";
import { render } from "preact";
import { isCopy } from "./api.ts";
import { beginKeys } from "./keys.ts";
import { beginLive } from "./live.ts";
import { refreshHistory } from "./log.ts";
import { beginSelection, selected } from "./selection.ts";
import { begin, refreshState } from "./session.ts";
import { Shell } from "./shell.tsx";
import { reveal } from "./tree.ts";

const at = document.getElementById("page");
const key = begin();
if (at) {
	at.replaceChildren();
	render(<Shell />, at);
}
if (await key) {
	beginSelection();
	effect(() => {
		if (selected.value !== undefined) reveal(selected.value);
	});
	beginKeys();
	if (isCopy()) await refreshState().then(refreshHistory);
	else beginLive();
}
