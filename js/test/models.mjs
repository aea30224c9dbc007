// Model files, compared.

/** Whether two files are the same. */
export const same = (a, b) => a.length === b.length && Buffer.compare(a, b) === 0;

/** The tensors of a model file: its header's length, eight bytes; the header, JSON; their bytes. */
function tensors(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  const { __metadata__: words, ...all } = header;
  const of = ([name, { dtype, data_offsets: [from, to] }]) => ({ name, dtype, bytes: Uint8Array.from(bytes.subarray(start + from, start + to)) });
  return { words, all: Object.entries(all).map(of) };
}

/**
 * Compares two model files, and says how they differ: the same tensors, and numbers that differ by rounding alone. `expect(what, isSo)` takes
 * what is asked of them.
 */
export function compareModels(name, ours, native, expect) {
  const [a, b] = [tensors(ours), tensors(native)];
  expect(`${name} has the tensors of the program's`, `${a.all.map((one) => one.name)}` === `${b.all.map((one) => one.name)}`);
  const differ = a.all.filter((one, at) => !same(one.bytes, b.all[at].bytes));
  console.log(`${name}: ${a.all.length - differ.length} of ${a.all.length} tensors have the same bytes`);
  for (const one of differ) {
    const [numbers, least] = { F32: [Float32Array, 1e-7], F64: [Float64Array, 1e-13] }[one.dtype] ?? [Uint8Array, 0];
    const [x, y] = [one, b.all.find(({ name }) => name === one.name)].map(({ bytes }) => new numbers(bytes.buffer));
    let [apart, largest, count] = [0, 0, 0];
    x.forEach((value, at) => {
      apart = Math.max(apart, Math.abs(value - y[at]));
      largest = Math.max(largest, Math.abs(y[at]));
      count += value !== y[at];
    });
    console.log(`  ${one.name} (${one.dtype}): ${count} of ${x.length} differ, by ${apart} at most; the largest is ${largest}`);
    expect(`${one.name} differs by rounding alone`, apart <= least * largest);
  }
}
