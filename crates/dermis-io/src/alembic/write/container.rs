//! The container as it is written: samples as they come, everything that names them at the end.
//!
//! Equal samples are stored once, wherever they occur in the archive. A property stores none before its first change but the first
//! sample, and none after its last. The headers of objects end with hashes of what is below them, by which programs find equal
//! objects: they compare them and nothing else, so they need not be computed as the Alembic library does (SpookyHash), and are not.

use super::super::archive::pod;
use super::super::ogawa::BLOCK;
use super::hash::hash;
use std::collections::HashMap;
use std::io::{self, Seek, SeekFrom, Write};

/// Version of the Alembic library whose files these are like: 1.8.
const LIKE: i32 = 10800;

/// What a sample is known by: its hash and its bytes' number.
type Key = ([u8; 16], usize);

/// An archive that is under way.
pub(super) struct Container<'a, W> {
    out: &'a mut W,
    /// Bytes written.
    at: u64,
    /// Where samples stand.
    known: HashMap<Key, u64>,
    /// Texts that headers refer to by number, from one.
    metadata: Vec<String>,
}

/// Whether a property holds one value per sample, or a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Scalar,
    Array,
}

/// A property that takes samples.
pub(super) struct Samples {
    kind: Kind,
    pod: u8,
    /// Numbers per element.
    pub extent: u8,
    /// Number of its time sampling.
    sampling: u32,
    count: u32,
    first_changed: u32,
    last_changed: u32,
    /// Where stored samples stand.
    stored: Vec<u64>,
    last: Option<(Key, u64)>,
    /// Bytes of every sample, if they are as many in each.
    size: Option<usize>,
    /// Of all samples.
    digest: [u8; 16],
}

/// A property with its name and what the format says of it.
pub(super) struct Property {
    name: String,
    metadata: String,
    value: Value,
}

enum Value {
    Compound(Vec<Property>),
    Samples(Samples),
}

/// An object with its properties and the objects below it.
pub(super) struct Object {
    pub name: String,
    pub metadata: String,
    pub properties: Vec<Property>,
    pub children: Vec<Object>,
}

impl Samples {
    pub fn new(kind: Kind, pod: u8, extent: u8, sampling: u32) -> Self {
        let (count, first_changed, last_changed) = (0, 0, 0);
        let (stored, last, size, digest) = (Vec::new(), None, None, [0; 16]);
        Self { kind, pod, extent, sampling, count, first_changed, last_changed, stored, last, size, digest }
    }

    /// Adds a sample: little-endian numbers.
    pub fn add<W: Write + Seek>(&mut self, bytes: &[u8], container: &mut Container<'_, W>) -> io::Result<()> {
        let key = (hash(bytes), bytes.len());
        if self.last.is_none_or(|(last, _)| last != key) {
            // What was held meanwhile is named once more for each sample.
            if let Some((_, held)) = self.last.filter(|_| self.first_changed > 0) {
                (self.last_changed + 1..self.count).for_each(|_| self.store(held));
            }
            let at = container.sample(key, bytes)?;
            self.store(at);
            self.last = Some((key, at));
            self.first_changed = if self.first_changed == 0 { self.count } else { self.first_changed };
            self.last_changed = self.count;
            self.size = if self.count == 0 { Some(bytes.len()) } else { self.size.filter(|size| *size == bytes.len()) };
        }
        self.digest = hash(&[self.digest, key.0].concat());
        self.count += 1;
        Ok(())
    }

    fn store(&mut self, at: u64) {
        self.stored.push(at);
        if self.kind == Kind::Array {
            self.stored.push(BLOCK); // its dimensions, which follow from its bytes
        }
    }

    /// Whether every sample is one element.
    fn is_single(&self) -> bool {
        let number = match self.pod {
            pod::F64 => 8,
            pod::I32 | pod::U32 | pod::F32 => 4,
            _ => 1,
        };
        self.size == Some(number * usize::from(self.extent))
    }

    /// The property of this name.
    pub fn named(self, name: impl Into<String>, metadata: impl Into<String>) -> Property {
        Property { name: name.into(), metadata: metadata.into(), value: Value::Samples(self) }
    }
}

impl Property {
    /// Properties below a name.
    pub fn compound(name: impl Into<String>, metadata: impl Into<String>, below: Vec<Property>) -> Self {
        Self { name: name.into(), metadata: metadata.into(), value: Value::Compound(below) }
    }
}

impl<'a, W: Write + Seek> Container<'a, W> {
    /// Begins a file, which is one only once it is [finished](Self::finish).
    pub fn new(out: &'a mut W) -> io::Result<Self> {
        out.write_all(b"Ogawa\0\0\x01\0\0\0\0\0\0\0\0")?;
        Ok(Self { out, at: 16, known: HashMap::new(), metadata: Vec::new() })
    }

    /// Writes a property of one sample.
    pub fn constant(&mut self, mut property: Samples, bytes: &[u8]) -> io::Result<Samples> {
        property.add(bytes, self)?;
        Ok(property)
    }

    /// Writes what names the samples, and the head.
    ///
    /// - `about`: what the archive says of itself
    /// - `samplings`: seconds per cycle, times stored, and the most samples of a property; the first is that of properties
    ///   without times
    pub fn finish(mut self, top: &Object, about: &str, samplings: &[(f64, Vec<f64>, u32)]) -> io::Result<()> {
        let version = self.block(&0i32.to_le_bytes())?;
        let like = self.block(&LIKE.to_le_bytes())?;
        let (objects, _) = self.object(top)?;
        let about = self.block(about.as_bytes())?;
        let mut times = Vec::new();
        for (cycle, stored, samples) in samplings {
            times.extend(samples.to_le_bytes());
            times.extend(cycle.to_le_bytes());
            times.extend((stored.len() as u32).to_le_bytes());
            times.extend(stored.iter().flat_map(|time| time.to_le_bytes()));
        }
        let times = self.block(&times)?;
        let texts = std::mem::take(&mut self.metadata);
        let texts: Vec<u8> = texts.iter().flat_map(|text| [&[text.len() as u8], text.as_bytes()].concat()).collect();
        let texts = self.block(&texts)?;
        let root = self.group(&[version, like, objects, about, times, texts])?;
        self.out.seek(SeekFrom::Start(8))?;
        self.out.write_all(&root.to_le_bytes())?;
        self.out.seek(SeekFrom::Start(5))?;
        self.out.write_all(&[0xff])?;
        self.out.seek(SeekFrom::End(0))?;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn block(&mut self, bytes: &[u8]) -> io::Result<u64> {
        if bytes.is_empty() {
            return Ok(BLOCK);
        }
        let at = self.at;
        self.put(&(bytes.len() as u64).to_le_bytes())?;
        self.put(bytes)?;
        Ok(at | BLOCK)
    }

    fn group(&mut self, children: &[u64]) -> io::Result<u64> {
        if children.is_empty() {
            return Ok(0);
        }
        let at = self.at;
        self.put(&(children.len() as u64).to_le_bytes())?;
        let bytes: Vec<u8> = children.iter().flat_map(|child| child.to_le_bytes()).collect();
        self.put(&bytes)?;
        Ok(at)
    }

    fn sample(&mut self, key: Key, bytes: &[u8]) -> io::Result<u64> {
        if bytes.is_empty() {
            return Ok(BLOCK);
        }
        if let Some(at) = self.known.get(&key) {
            return Ok(*at);
        }
        let at = self.at;
        self.put(&(16 + bytes.len() as u64).to_le_bytes())?;
        self.put(&key.0)?;
        self.put(bytes)?;
        self.known.insert(key, at | BLOCK);
        Ok(at | BLOCK)
    }

    /// The number that stands for a text; 255 if the text follows.
    fn metadata(&mut self, text: &str) -> u8 {
        if text.is_empty() {
            return 0;
        }
        let room = text.len() < 256 && self.metadata.len() < 254;
        let known = self.metadata.iter().position(|known| known == text);
        let at = known.or_else(|| {
            room.then(|| {
                self.metadata.push(text.to_owned());
                self.metadata.len() - 1
            })
        });
        at.map_or(255, |at| at as u8 + 1)
    }

    /// Writes an object and all below it. Result: where, and its hash.
    fn object(&mut self, object: &Object) -> io::Result<(u64, [u8; 16])> {
        let (properties, own) = self.properties(&object.properties)?;
        let (mut children, mut headers, mut hashes) = (vec![properties], Vec::new(), Vec::new());
        for child in &object.children {
            let (at, hash) = self.object(child)?;
            children.push(at);
            hashes.extend(hash);
            headers.extend((child.name.len() as u32).to_le_bytes());
            headers.extend(child.name.as_bytes());
            let number = self.metadata(&child.metadata);
            headers.push(number);
            if number == 255 {
                headers.extend((child.metadata.len() as u32).to_le_bytes());
                headers.extend(child.metadata.as_bytes());
            }
        }
        let below = if hashes.is_empty() { [0; 16] } else { hash(&hashes) };
        headers.extend([own, below].concat());
        children.push(self.block(&headers)?);
        let all = [&own[..], &below, object.metadata.as_bytes(), object.name.as_bytes()].concat();
        Ok((self.group(&children)?, hash(&all)))
    }

    /// Writes properties. Result: where, and their hash.
    fn properties(&mut self, list: &[Property]) -> io::Result<(u64, [u8; 16])> {
        let (mut children, mut headers, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
        for property in list {
            let number = self.metadata(&property.metadata);
            let start = headers.len();
            let digest = match &property.value {
                Value::Compound(below) => {
                    let (at, digest) = self.properties(below)?;
                    children.push(at);
                    property.header(None, number, &mut headers);
                    digest
                }
                Value::Samples(samples) => {
                    children.push(self.group(&samples.stored)?);
                    property.header(Some(samples), number, &mut headers);
                    samples.digest
                }
            };
            hashes.extend(hash(&[&headers[start..], &digest].concat()));
        }
        if !list.is_empty() {
            children.push(self.block(&headers)?);
        }
        Ok((self.group(&children)?, hash(&hashes)))
    }
}

impl Property {
    /// Adds the header: what the property is, in bits, and its name.
    fn header(&self, samples: Option<&Samples>, metadata: u8, out: &mut Vec<u8>) {
        let (counted, sampling) = samples.map_or((0, 0), |s| (s.count as usize, s.sampling as usize));
        let longest = self.name.len().max(self.metadata.len()).max(counted).max(sampling);
        // Numbers of one, two or four bytes.
        let width: u32 = match longest {
            0..256 => 0,
            256..65536 => 1,
            _ => 2,
        };
        let number = |value: u32, out: &mut Vec<u8>| out.extend(&value.to_le_bytes()[..1 << width]);
        let mut info = width << 2 | u32::from(metadata) << 20;
        if let Some(s) = samples {
            let held = s.last_changed == 0;
            let every = s.first_changed == 1 && s.last_changed + 1 == s.count;
            info |= if s.kind == Kind::Scalar { 1 } else { 2 | u32::from(s.is_single()) };
            info |= u32::from(s.pod) << 4 | u32::from(s.extent) << 12 | u32::from(s.sampling > 0) << 8;
            info |= u32::from(!held && !every) << 9 | u32::from(s.size.is_some()) << 10 | u32::from(held) << 11;
            out.extend(info.to_le_bytes());
            number(s.count, out);
            if !held && !every {
                number(s.first_changed, out);
                number(s.last_changed, out);
            }
            if s.sampling > 0 {
                number(s.sampling, out);
            }
        } else {
            out.extend(info.to_le_bytes());
        }
        number(self.name.len() as u32, out);
        out.extend(self.name.as_bytes());
        if metadata == 255 {
            number(self.metadata.len() as u32, out);
            out.extend(self.metadata.as_bytes());
        }
    }
}
