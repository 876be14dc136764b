/** A process that changes configuration files and moves, over and over, and says what it has done: to be killed anywhere. */
import { openRuntime } from "../src/index.ts";
import { scripted } from "./project.ts";

const [state = "", seed = "1"] = process.argv.slice(2);
let drawn = Number(seed);
const draw = (below: number): number => {
	drawn = (drawn * 48_271) % 2_147_483_647;
	return drawn % below;
};
const runtime = await openRuntime({ state, model: scripted(() => "so it is"), tools: [] });
console.log("open");
for (;;) {
	const path = `${"ab"[draw(2)]}.yaml`;
	if (draw(3) > 0) {
		const content = draw(5) === 0 ? null : `n: ${draw(1_000_000)}\n`.repeat(1 + draw(3));
		await runtime.config.write(path, content);
		console.log(JSON.stringify({ tip: runtime.wal.tip }));
	} else {
		await runtime.checkout(draw(runtime.wal.tip + 1), "ada");
		console.log(JSON.stringify({ tip: runtime.wal.tip }));
	}
}
