"use strict";
// The viewer: the character from the text of the page, which viewer/pack.rs wrote.

const PACKED_KINDS = { 5120: Int8Array, 5121: Uint8Array, 5122: Int16Array, 5123: Uint16Array, 5125: Uint32Array, 5126: Float32Array };
const PACKED_SIZES = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 };

/// The code of a number that is not finite.
const PACKED_NOT_FINITE = 2 ** 30;

/// The bytes of a text of the page, inflated if they are those of zlib. Rejects with an Error if they are damaged.
async function inflate(text) {
  const bytes = decodeBytes(text);
  if (bytes[0] !== 0x78) return bytes;
  if (!globalThis.DecompressionStream) throw new Error("this browser is too old: it has no DecompressionStream");
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

/// Returns the character, as `readGlb` does. Rejects with an Error that begins with "GLB" if the text is damaged.
async function readCharacter(text) {
  let unpacked = null;
  try {
    const bytes = await inflate(text);
    // A GLB that could not be packed is there as it is.
    if (bytes[0] === 0x67) return Dermis.readGlb(bytes);
    unpacked = unpack(bytes);
  } catch (error) {
    throw new Error(`GLB: the page cannot be read: ${error.message ?? error}`);
  }
  return Dermis.readGltf(unpacked.json, unpacked.binary);
}

/// Returns the true skins of the frames, three numbers per vertex; null for a frame without one.
async function readSkins(text, packed, vertices) {
  const take = takerOf(await inflate(text), 0);
  return packed.map((skin) => {
    if (!skin) return null;
    const points = new Float32Array(3 * vertices);
    undoDifferences(take, points, 3, skin.planes, (code) => (code === PACKED_NOT_FINITE ? NaN : code * skin.step));
    return points;
  });
}

/// Returns the springs of the page; null without any.
async function readSprings(text) {
  if (!text) return null;
  const { buffer, byteOffset } = await inflate(text), view = new DataView(buffer, byteOffset);
  const [coupling, vertices, entries] = [view.getFloat64(0, true), view.getUint32(8, true), view.getUint32(12, true)];
  const numbers = Float64Array.from({ length: 4 * vertices }, (_, i) => view.getFloat64(16 + 8 * i, true));
  const whole = (count, from) => Uint32Array.from({ length: count }, (_, i) => view.getUint32(from + 4 * i, true));
  const counts = whole(vertices, 16 + 32 * vertices), starts = new Uint32Array(vertices + 1);
  counts.forEach((count, v) => { starts[v + 1] = starts[v] + count; });
  return new Dermis.Springs({ vertices: numbers, starts, neighbours: whole(entries, 16 + 36 * vertices), coupling });
}

/// Takes bytes one after the other.
function takerOf(bytes, from) {
  return (count) => {
    if (from + count > bytes.length) throw new Error("it ends early");
    from += count;
    return bytes.subarray(from - count, from);
  };
}

/// Fills `out` from the differences between its codes; `valueOf` turns a code into a number.
function undoDifferences(take, out, components, planes, valueOf) {
  const each = out.length / components;
  for (let c = 0; c < components; c++) {
    const lists = Array.from({ length: planes }, () => take(each));
    for (let i = 0, code = 0; i < each; i++) {
      let change = 0;
      for (let plane = 0; plane < planes; plane++) change |= lists[plane][i] << (8 * plane);
      code = (code + ((change >>> 1) ^ -(change & 1))) | 0;
      out[components * i + c] = valueOf(code);
    }
  }
}

/// The glTF and its buffer from the inflated bytes.
function unpack(bytes) {
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const json = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const take = takerOf(bytes, 4 + length);
  const arrays = json.accessors.map(({ componentType, type, count, packing: { components, planes, step } }) => {
    const Kind = PACKED_KINDS[componentType], numbers = count * PACKED_SIZES[type], width = Kind.BYTES_PER_ELEMENT;
    if (planes === null) {
      const [raw, out] = [take(numbers * width), new Uint8Array(numbers * width)];
      for (let plane = 0, at = 0; plane < width; plane++) for (let i = 0; i < numbers; i++) out[width * i + plane] = raw[at++];
      return out;
    }
    const out = new Kind(numbers), scale = step ?? 1;
    undoDifferences(take, out, components, planes, (code) => code * scale);
    return new Uint8Array(out.buffer);
  });
  // One view to an accessor, at multiples of four bytes.
  let end = 0;
  json.bufferViews = arrays.map((array) => {
    const byteOffset = end;
    end += Math.ceil(array.length / 4) * 4;
    return { buffer: 0, byteOffset, byteLength: array.length };
  });
  json.accessors.forEach((accessor, i) => { accessor.bufferView = i; });
  const binary = new Uint8Array(end);
  arrays.forEach((array, i) => binary.set(array, json.bufferViews[i].byteOffset));
  return { json, binary };
}
