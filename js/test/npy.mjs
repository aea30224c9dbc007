// Arrays of NumPy: little-endian doubles in C order, as `{ shape, data }`.

/** Takes the bytes of a file; `name` is what an Error calls it. */
export function parseNpy(bytes, name) {
  const length = bytes[8] + 256 * bytes[9];
  const header = String.fromCharCode(...bytes.subarray(10, 10 + length));
  const [kind, order] = [/'descr': *'([^']*)'/.exec(header)?.[1], /'fortran_order': *(\w+)/.exec(header)?.[1]];
  if (String.fromCharCode(...bytes.subarray(1, 6)) !== "NUMPY" || kind !== "<f8" || order !== "False") {
    throw new Error(`${name}: little-endian doubles in C order are expected, not ${kind}, Fortran order ${order}`);
  }
  const shape = /'shape': *\(([^)]*)\)/.exec(header)[1].split(",").filter((part) => part.trim()).map(Number);
  const data = new Float64Array(bytes.slice(10 + length).buffer);
  if (data.length !== shape.reduce((product, size) => product * size, 1)) throw new Error(`${name}: ${data.length} numbers for shape ${shape}`);
  return { shape, data };
}
