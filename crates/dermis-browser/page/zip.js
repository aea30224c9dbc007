// Archives: a session is saved as one file, and opened again.

const CRC = new Uint32Array(256).map((_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function crcOf(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** An archive of files as they are: [[name, Uint8Array], …]. Models and bundles are compressed already. */
function zipped(files) {
  const parts = [], entries = [];
  let at = 0;
  for (const [name, bytes] of files) {
    const text = new TextEncoder().encode(name);
    // Version 2.0, names in UTF-8, stored, 1 January 1980, checksum, both lengths, length of the name.
    const head = new DataView(new ArrayBuffer(26));
    [[0, 20], [2, 0x0800], [4, 0], [6, 0], [8, 33]].forEach(([place, value]) => head.setUint16(place, value, true));
    [[10, crcOf(bytes)], [14, bytes.length], [18, bytes.length]].forEach(([place, value]) => head.setUint32(place, value, true));
    head.setUint16(22, text.length, true);
    parts.push(new Uint8Array([80, 75, 3, 4]), new Uint8Array(head.buffer), text, bytes);
    const tail = new DataView(new ArrayBuffer(14));
    tail.setUint32(10, at, true);
    entries.push(new Uint8Array([80, 75, 1, 2, 20, 0]), new Uint8Array(head.buffer), new Uint8Array(tail.buffer), text);
    at += 30 + text.length + bytes.length;
  }
  const size = entries.reduce((sum, entry) => sum + entry.length, 0);
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  [8, 10].forEach((place) => end.setUint16(place, files.length, true));
  end.setUint32(12, size, true);
  end.setUint32(16, at, true);
  return new Blob([...parts, ...entries, new Uint8Array(end.buffer)]);
}

/** The files of an archive that is stored or deflated: [[name, Uint8Array], …]. */
async function unzipped(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const lacking = () => new Lacking("this archive cannot be read", "unpack it, and drop the folder");
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw lacking();
  const files = [];
  let at = view.getUint32(end + 16, true);
  for (let count = view.getUint16(end + 10, true); count > 0; count--) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== 0x02014b50) throw lacking();
    const [method, packed, length] = [view.getUint16(at + 10, true), view.getUint32(at + 20, true), view.getUint32(at + 24, true)];
    const [nameLength, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    const local = view.getUint32(at + 42, true);
    if (local + 30 > bytes.length) throw lacking();
    const from = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const raw = bytes.slice(from, from + packed);
    at += 46 + nameLength + extra + comment;
    if (name.endsWith("/")) continue;
    if (method !== 0 && method !== 8) throw lacking();
    const content = method === 0 ? raw : await inflated(raw, length);
    if (content?.length !== length) throw lacking();
    files.push([name, content]);
  }
  return files;
}

/** What was deflated; null where it is longer than it claims to be, before that takes memory. */
async function inflated(raw, length) {
  const [parts, reader] = [[], new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader()];
  for (let found = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    found += value.length;
    if (found > length) return null;
    parts.push(value);
  }
}
