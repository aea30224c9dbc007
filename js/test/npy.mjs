// Arrays of NumPy: little-endian doubles in C order, as `{ shape, data }`.
import { readFileSync } from "node:fs";

export function readNpy(path) {
  const file = readFileSync(path);
  const header = file.subarray(10, 10 + file.readUInt16LE(8)).toString("latin1");
  const [kind, order] = [/'descr': *'([^']*)'/.exec(header)?.[1], /'fortran_order': *(\w+)/.exec(header)?.[1]];
  if (file.toString("latin1", 1, 6) !== "NUMPY" || kind !== "<f8" || order !== "False") {
    throw new Error(`${path}: little-endian doubles in C order are expected, not ${kind}, Fortran order ${order}`);
  }
  const shape = /'shape': *\(([^)]*)\)/.exec(header)[1].split(",").filter((part) => part.trim()).map(Number);
  const bytes = Uint8Array.from(file.subarray(10 + file.readUInt16LE(8)));
  const data = new Float64Array(bytes.buffer);
  if (data.length !== shape.reduce((product, size) => product * size, 1)) throw new Error(`${path}: ${data.length} numbers for shape ${shape}`);
  return { shape, data };
}
