// Shows what three.js makes of GLB files, for corpus_round.py: node tools/corpus_three.mjs THREE
// THREE is the folder of the npm package three. Takes one request per line of the standard input:
// {"file": PATH, "moments": [[CLIP or null, SECONDS]], "out": PATH}. Writes the positions of the vertices of all triangles at all moments as 64-bit
// numbers, moment after moment. Answers with a line: "ok", or what went wrong.
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Three, read } from "./three_file.mjs";

const three = await Three.from(process.argv[2]);

async function answer({ file, moments, out }) {
  const loaded = await three.load(read(file));
  const frames = moments.map(([clip, seconds]) => {
    if (clip === null) return three.positions(loaded.scene, false);
    const mixer = three.player(loaded, loaded.animations[clip]);
    mixer.setTime(seconds);
    const shown = three.positions(loaded.scene, false);
    mixer.stopAllAction();
    return shown;
  });
  writeFileSync(out, Float64Array.from(frames.flat()));
}

for await (const line of createInterface({ input: process.stdin })) {
  let said = "ok";
  try {
    await answer(JSON.parse(line));
  } catch (error) {
    said = `${error}`.replaceAll(/\s+/g, " ");
  }
  console.log(said);
}
