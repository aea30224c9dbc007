// Hands damaged files to the engine for browsers: node js/test/hostile.mjs MODULE SEEDS [COUNT]
//
// SEEDS is what `fuzz-seeds` of dermis-fuzz writes: good files of every format. COUNT of them (1000) are damaged, each in its own way and
// every time the same, inspected and converted. No file may take 20 seconds. Each is read, or refused in words, or takes more memory than
// a browser gives; the next one is then read by another engine. Exit 0: so it is; 1: it is not, and the file is named and kept.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { crc32 } from "node:zlib";
import { Engine, EngineEnded, RecipeError } from "../dermis_engine.js";

const LIMIT = 20_000;
/** Formats as their seeds' folders name them, and what a file of theirs is called. */
const FORMATS = { gltf: "glb", npz: "npz", model: "dermis", fbx: "fbx", alembic: "abc", usda: "usda", usdc: "usdc", obj: "obj", bvh: "bvh", point_cache: "pc2", take: "trc", recipe: "json" };
/** Numbers at which readers stumble: ends of types, and what stands beside them. */
const NUMBERS = [0, -0, 1, -1, 0.5, 2, 3, 1e-300, -1e-38, 1e39, -1e39, 1e300, 255, 256, 65535, 65536, 2147483647, 2147483648, 4294967295, 4294967296, 9007199254740992, 1e19, -2147483649, NaN];

if (isMainThread) await main();
else await work();

/** Numbers from 0 to below 1, the same for the same seed: mulberry32. */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A good file, damaged. */
function damaged(good, seed) {
  const next = random(seed);
  const below = (count) => Math.floor(next() * count);
  const odd = () => NUMBERS[below(NUMBERS.length)];
  let bytes = Buffer.from(good);
  for (let edits = 1 + below(2); edits > 0 && bytes.length > 8; edits--) {
    const at = below(bytes.length);
    switch (below(12)) {
      case 0: bytes = bytes.subarray(0, at); break;
      case 1: bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(below(at + 1))]); break;
      case 2: bytes[at] = below(256); break;
      case 3: bytes.writeUInt32LE(Number(BigInt.asUintN(32, BigInt(Math.trunc(Math.min(Math.max(odd() || 0, -1e15), 1e15))))), Math.min(at & ~3, bytes.length - 4)); break;
      case 4: bytes.writeFloatLE(odd(), Math.min(at & ~3, bytes.length - 4)); break;
      case 5: bytes.writeDoubleLE(odd(), Math.min(at & ~7, bytes.length - 8)); break;
      default: bytes = withNumber(bytes, at, [String(odd()), "1e309", "[]", "\"a\"", "99999999999999999999"][below(5)]);
    }
  }
  mendArchive(bytes);
  return bytes;
}

/** Another number, or what is none, in place of the first number in digits behind a place. */
function withNumber(bytes, from, number) {
  const isDigit = (byte) => byte >= 0x30 && byte <= 0x39;
  let at = from;
  while (at < bytes.length && !isDigit(bytes[at])) at += 1;
  let end = at;
  while (end < bytes.length && isDigit(bytes[end])) end += 1;
  // In a file of bytes with lengths before its texts a text of another length damages nothing but the length.
  const text = bytes.readUInt8(0) < 0x20 || bytes.toString("latin1", 0, 4) === "glTF" ? number.padEnd(end - at).slice(0, end - at) : number;
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(text), bytes.subarray(end)]);
}

/** Where members of an archive are not compressed, their checksums are made to fit, so that a reader goes on behind them. */
function mendArchive(bytes) {
  for (let at = bytes.indexOf("PK\x01\x02", 0, "latin1"); at >= 0; at = bytes.indexOf("PK\x01\x02", at + 4, "latin1")) {
    if (at + 46 > bytes.length || bytes.readUInt16LE(at + 10) !== 0) continue;
    const [length, local] = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 42)];
    if (local + 30 > bytes.length) continue;
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    if (start + length > bytes.length) continue;
    const sum = crc32(bytes.subarray(start, start + length));
    bytes.writeUInt32LE(sum, at + 16);
    bytes.writeUInt32LE(sum, local + 14);
  }
}

async function main() {
  const [file, seeds, count = "1000"] = process.argv.slice(2);
  if (!seeds) {
    console.error("usage: node js/test/hostile.mjs MODULE SEEDS [COUNT]");
    process.exit(2);
  }
  const module = await WebAssembly.compile(readFileSync(file));
  const formats = Object.entries(FORMATS).map(([format, extension]) => {
    const names = readdirSync(join(seeds, format)).sort();
    return { format, extension, files: names.map((name) => readFileSync(join(seeds, format, name))) };
  });
  let worker;
  let failures = 0;
  const counts = {};
  const slowest = { ms: 0 };
  for (let at = 0; at < Number(count); at++) {
    const { format, extension, files } = formats[at % formats.length];
    const name = `${format}-${at}.${extension}`;
    const bytes = damaged(files[Math.floor(at / formats.length) % files.length], at + 1);
    worker ??= new Worker(new URL(import.meta.url), { workerData: module });
    const start = performance.now();
    const came = await answered(worker, { name, bytes });
    const ms = performance.now() - start;
    if (ms > slowest.ms) Object.assign(slowest, { ms, name });
    counts[came.what] = (counts[came.what] ?? 0) + 1;
    const said = (came.text ?? "").trim();
    const memory = came.what === "ended" && said.includes("more memory");
    if (["run", "converted", "stopped"].includes(came.what) || (["refused", "inspected"].includes(came.what) && said) || memory) continue;
    failures += 1;
    const kept = join(seeds, "broken");
    mkdirSync(kept, { recursive: true });
    writeFileSync(join(kept, name), bytes);
    console.log(`FAILED: ${join(kept, name)}: ${came.what} ${said}`);
    if (came.what === "hangs") {
      await worker.terminate();
      worker = undefined;
    }
  }
  await worker?.terminate();
  console.log(`${count} damaged files: ${Object.entries(counts).map(([what, many]) => `${many} ${what}`).join(", ")}; the slowest took ${slowest.ms.toFixed(0)} ms (${slowest.name})`);
  console.log(failures ? `${failures} failures` : "the engine stands them all");
  process.exit(failures ? 1 : 0);
}

/** What a worker answers, or that it does not. */
function answered(worker, file) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ what: "hangs" }), LIMIT);
    const done = (came) => {
      clearTimeout(timer);
      worker.removeAllListeners("message").removeAllListeners("error");
      resolve(came);
    };
    worker.once("message", done);
    worker.once("error", (error) => done({ what: "fails", text: String(error) }));
    worker.postMessage(file);
  });
}

async function work() {
  const open = () => Engine.open(workerData, () => performance.now() > end);
  let end = Infinity;
  let engine = await open();
  parentPort.on("message", async ({ name, bytes }) => {
    // A fit that a recipe begins may last: it hears that it shall stop.
    end = performance.now() + LIMIT / 4;
    const came = handle(name, bytes);
    if (came.what === "ended" || engine.memory > 1e9) engine = await open();
    parentPort.postMessage(came);
  });
  function handle(name, bytes) {
    let what = "refused";
    try {
      for (const [file] of engine.files()) engine.take(file);
      if (name.endsWith(".json")) {
        engine.run(new TextDecoder().decode(bytes));
        return { what: "run" };
      }
      engine.put(name, bytes);
      engine.run({ inspect: { files: [{ file: name }] } });
      what = "inspected";
      engine.run({ convert: { inputs: [{ file: name }], out: "out.npz", existing: "replace" } });
      return { what: "converted" };
    } catch (error) {
      if (error instanceof RecipeError) return { what: performance.now() > end ? "stopped" : what, text: error.message };
      return { what: error instanceof EngineEnded ? "ended" : "fails", text: String(error?.message ?? error) };
    }
  }
}
