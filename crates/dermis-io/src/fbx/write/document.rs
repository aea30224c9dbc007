//! The binary form of a document: records within records, each with a list of properties.
//!
//! A record is its end, the number and the bytes of its properties, its name, the properties, and the records within it, closed by an
//! empty one. Ends and sizes have 32 bits in version 7.4 and 64 in version 7.5. Source: Blender Foundation, "FBX binary file format
//! specification", 2013, and the exporter of Blender for what it leaves open: which records have an empty one within, and the last bytes.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};

/// Arrays of fewer bytes stand as they are: packed they would not be smaller.
const PACKED: usize = 128;

/// The sign at the beginning of a file.
const HEAD: &[u8; 23] = b"Kaydara FBX Binary  \0\x1a\0";

/// Time and number of the file, and what the format computes from them for its last bytes: the same for every file, since a file
/// says nothing of when it was written.
pub(super) const TIME: &str = "1970-01-01 10:00:00:000";
pub(super) const FILE_ID: [u8; 16] = *b"\x28\xb3\x2a\xeb\xb6\x24\xcc\xc2\xbf\xc8\xb0\x2a\xa9\x2b\xfc\xf1";
const FOOT: [u8; 16] = *b"\xfa\xbc\xab\x09\xd0\xc8\xd4\x66\xb1\x76\xfb\x83\x1c\xf7\x26\x7e";
const TAIL: [u8; 16] = *b"\xf8\x5a\x8c\x6a\xde\xf5\xd9\x7e\xec\xe9\x0c\xe3\x75\x8f\x29\x0b";

/// A version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// 7.4, of 2014: files of up to four gigabytes.
    V7400,
    /// 7.5, of 2016: larger ones.
    V7500,
}

impl Version {
    pub(super) fn number(self) -> u32 {
        match self {
            Self::V7400 => 7400,
            Self::V7500 => 7500,
        }
    }

    /// Bytes of an end or a size.
    fn width(self) -> u64 {
        match self {
            Self::V7400 => 4,
            Self::V7500 => 8,
        }
    }

    /// Bytes of an empty record.
    fn empty(self) -> u64 {
        3 * self.width() + 1
    }
}

/// A record.
#[derive(Debug)]
pub(super) struct Node {
    name: &'static str,
    count: u64,
    properties: Vec<u8>,
    children: Vec<Node>,
}

/// The value of a property.
pub(super) trait Value {
    fn put(self, bytes: &mut Vec<u8>);
}

macro_rules! number {
    ($type:ty, $sign:literal) => {
        impl Value for $type {
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.push($sign);
                bytes.extend(self.to_le_bytes());
            }
        }
    };
}
number!(i32, b'I');
number!(i64, b'L');
number!(f64, b'D');

impl Value for bool {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend([b'C', u8::from(self)]);
    }
}

impl Value for &str {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(b'S');
        sized(self.as_bytes(), bytes);
    }
}

/// Bytes as they are.
pub(super) struct Raw<'a>(pub(super) &'a [u8]);

impl Value for Raw<'_> {
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(b'R');
        sized(self.0, bytes);
    }
}

macro_rules! array {
    ($type:ty, $sign:literal) => {
        impl Value for &[$type] {
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.push($sign);
                let plain: Vec<u8> = self.iter().flat_map(|x| x.to_le_bytes()).collect();
                packed(self.len(), &plain, bytes);
            }
        }
    };
}
array!(i32, b'i');
array!(i64, b'l');
array!(f32, b'f');
array!(f64, b'd');

/// The format counts bytes with 32 bits. What is longer is cut, which [`Node::is_too_long`] tells before.
fn sized(content: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend((content.len() as u32).to_le_bytes());
    bytes.extend(content);
}

fn packed(count: usize, plain: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend((count as u32).to_le_bytes());
    let pack = || {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain)?;
        encoder.finish()
    };
    // Into memory nothing fails; if it did, the array would stand as it is.
    let deflated = if plain.len() >= PACKED { pack().ok() } else { None };
    bytes.extend(u32::from(deflated.is_some()).to_le_bytes());
    sized(deflated.as_deref().unwrap_or(plain), bytes);
}

impl Node {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, count: 0, properties: Vec::new(), children: Vec::new() }
    }

    /// A record with one property.
    pub(super) fn of(name: &'static str, value: impl Value) -> Self {
        Self::new(name).with(value)
    }

    /// Adds a property.
    pub(super) fn with(mut self, value: impl Value) -> Self {
        value.put(&mut self.properties);
        self.count += 1;
        self
    }

    /// Adds a record within.
    pub(super) fn push(&mut self, child: Node) {
        self.children.push(child);
    }

    /// Adds a record within.
    pub(super) fn holding(mut self, child: Node) -> Self {
        self.push(child);
        self
    }

    /// Adds a record within for each of `children`.
    pub(super) fn holding_all(mut self, children: impl IntoIterator<Item = Node>) -> Self {
        self.children.extend(children);
        self
    }

    /// Bytes of the record.
    fn size(&self, version: Version) -> u64 {
        let own = version.empty() + self.name.len() as u64 + self.properties.len() as u64;
        own + self.inner(version)
    }

    fn inner(&self, version: Version) -> u64 {
        let children: u64 = self.children.iter().map(|child| child.size(version)).sum();
        children + if self.is_closed() { version.empty() } else { 0 }
    }

    /// Whether an empty record stands at the end of those within.
    fn is_closed(&self) -> bool {
        // The kits of the format expect one in these, and in what has nothing at all.
        !self.children.is_empty() || self.count == 0 || matches!(self.name, "AnimationStack" | "AnimationLayer")
    }

    fn write(&self, version: Version, at: &mut u64, out: &mut dyn Write) -> io::Result<()> {
        let mut number = |x: u64| match version {
            Version::V7400 => out.write_all(&(x as u32).to_le_bytes()),
            Version::V7500 => out.write_all(&x.to_le_bytes()),
        };
        number(*at + self.size(version))?;
        number(self.count)?;
        number(self.properties.len() as u64)?;
        out.write_all(&[self.name.len() as u8])?;
        out.write_all(self.name.as_bytes())?;
        out.write_all(&self.properties)?;
        *at += version.empty() + self.name.len() as u64 + self.properties.len() as u64;
        for child in &self.children {
            child.write(version, at, out)?;
        }
        if self.is_closed() {
            out.write_all(&vec![0; version.empty() as usize])?;
            *at += version.empty();
        }
        Ok(())
    }
}

/// The lowest version that holds records of so many bytes as these.
pub(super) fn version_of(records: &[Node]) -> Version {
    let size: u64 = records.iter().map(|record| record.size(Version::V7400)).sum();
    // Room for the first and the last bytes.
    if size < u64::from(u32::MAX) - 4096 { Version::V7400 } else { Version::V7500 }
}

/// Writes a document.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(records: &[Node], version: Version, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(HEAD)?;
    out.write_all(&version.number().to_le_bytes())?;
    let mut at = HEAD.len() as u64 + 4;
    for record in records {
        record.write(version, &mut at, out)?;
    }
    out.write_all(&vec![0; version.empty() as usize])?;
    out.write_all(&FOOT)?;
    out.write_all(&[0; 4])?;
    at += version.empty() + 20;
    out.write_all(&vec![0; 16 - (at % 16) as usize])?;
    out.write_all(&version.number().to_le_bytes())?;
    out.write_all(&[0; 120])?;
    out.write_all(&TAIL)
}

/// Properties by name, as objects have them.
#[derive(Default)]
pub(super) struct Properties(Vec<Node>);

/// The letter of a property that a take may key.
const KEYED: &str = "A";

impl Properties {
    fn put(mut self, name: &str, kinds: [&str; 3], values: impl FnOnce(Node) -> Node) -> Self {
        let [kind, label, flags] = kinds;
        self.0.push(values(Node::of("P", name).with(kind).with(label).with(flags)));
        self
    }

    pub(super) fn integer(self, name: &str, value: i32) -> Self {
        self.put(name, ["int", "Integer", ""], |p| p.with(value))
    }

    pub(super) fn choice(self, name: &str, value: i32) -> Self {
        self.put(name, ["enum", "", ""], |p| p.with(value))
    }

    pub(super) fn double(self, name: &str, value: f64) -> Self {
        self.put(name, ["double", "Number", ""], |p| p.with(value))
    }

    /// A number that a take may key.
    pub(super) fn number(self, name: &str, value: f64) -> Self {
        self.put(name, ["Number", "", KEYED], |p| p.with(value))
    }

    /// Ticks.
    pub(super) fn time(self, name: &str, value: i64) -> Self {
        self.put(name, ["KTime", "Time", ""], |p| p.with(value))
    }

    pub(super) fn text(self, name: &str, value: &str) -> Self {
        self.put(name, ["KString", "", ""], |p| p.with(value))
    }

    pub(super) fn color(self, name: &str, [r, g, b]: [f64; 3]) -> Self {
        self.put(name, ["Color", "", KEYED], |p| p.with(r).with(g).with(b))
    }

    pub(super) fn vector(self, name: &str, [x, y, z]: [f64; 3]) -> Self {
        self.put(name, ["Vector3D", "Vector", ""], |p| p.with(x).with(y).with(z))
    }

    /// "Lcl Translation", "Lcl Rotation" or "Lcl Scaling": its own kind.
    pub(super) fn place(self, name: &str, [x, y, z]: [f64; 3]) -> Self {
        self.put(name, [name, "", KEYED], |p| p.with(x).with(y).with(z))
    }

    pub(super) fn visibility(self, visible: bool) -> Self {
        let value = if visible { 1.0 } else { 0.0 };
        self.put("Visibility", ["Visibility", "", KEYED], |p| p.with(value))
    }

    /// The record.
    pub(super) fn node(self) -> Node {
        Node::new("Properties70").holding_all(self.0)
    }
}

#[cfg(all(test, feature = "fbx"))]
mod tests {
    use super::*;

    /// Of both versions, by the C library that reads them.
    #[test]
    fn both_versions_are_read() {
        let numbers: Vec<f64> = (0..300).map(f64::from).collect();
        let records = || {
            let geometry = Node::of("Geometry", 7i64).with("net\0\u{1}Geometry").with("Mesh");
            let geometry = geometry.holding(Node::of("Vertices", &numbers[..]));
            let geometry = geometry.holding(Node::of("PolygonVertexIndex", &[0, 1, !2][..]));
            [Node::new("References"), Node::new("Objects").holding(geometry)]
        };
        for version in [Version::V7400, Version::V7500] {
            let mut bytes = Vec::new();
            write(&records(), version, &mut bytes).unwrap();
            let scene = ufbx::load_memory(&bytes, ufbx::LoadOpts::default());
            let scene = scene.unwrap_or_else(|e| panic!("{version:?}: {}", e.description));
            assert_eq!(scene.metadata.version, version.number());
            let mesh = &scene.meshes[0];
            assert_eq!((&*mesh.element.name, mesh.num_faces), ("net", 1));
            let read: Vec<f64> = mesh.vertices.iter().flat_map(|v| [v.x, v.y, v.z]).collect();
            assert_eq!(read, numbers);
        }
    }
}
