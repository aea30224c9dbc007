// Chromium for the tests of pages, and the list of what is not as it should be.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const PROGRAM = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => path && existsSync(path));
// The flags of tools/screenshot.sh: no sandbox for a root, no calls home, WebGL in software.
const FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

/** Starts Chromium. `modules` is a folder with the npm packages playwright-core and gltf-validator. Result: the browser, and the validator. */
export async function started(modules) {
  const require = createRequire(resolve(modules, "x"));
  const browser = await require("playwright-core").chromium.launch({ executablePath: PROGRAM, args: FLAGS });
  return { browser, validateBytes: require("gltf-validator").validateBytes };
}

/** What was expected and is not so: how often. */
let failures = 0;

/** Names what is not so. */
export function expect(what, isSo) {
  if (isSo) return;
  console.log(`FAILED: ${what}`);
  failures += 1;
}

/** Ends the script: exit 0 if all is as it should be, else 1. */
export function end(praise) {
  console.log(failures ? `${failures} failures` : praise);
  process.exit(failures ? 1 : 0);
}
