//! What is kept in the container: objects with properties, and properties with samples over time.

use super::ogawa::{Group, damaged, number};
use crate::contents::ReadError;
use std::borrow::Cow;
use std::cell::Cell;

/// An open archive.
pub(super) struct Archive<'a> {
    root: Group<'a>,
    samplings: Vec<Sampling>,
    /// Texts that headers refer to by number; the first is empty.
    metadata: Vec<Cow<'a, str>>,
    /// Bytes of headers that may still be read: every header of an honest file is read once, so groups that contain
    /// each other run out.
    budget: Cell<usize>,
    /// Bytes that may still be made of the file's: blocks may be shared by many samples, which is honest, and by all too
    /// many, which is not.
    allowance: Cell<usize>,
}

/// What may be decoded from a file of so many bytes: a pose that is held for thousands of frames is stored once.
pub(super) fn allowance(file: usize) -> usize {
    file.saturating_mul(256).saturating_add(64 << 20)
}

/// An object of the scene.
#[derive(Clone)]
pub(super) struct Object<'a> {
    pub name: String,
    pub metadata: Cow<'a, str>,
    group: Group<'a>,
}

/// A property of an object.
pub(super) struct Property<'a> {
    pub name: Cow<'a, str>,
    /// What the format says of it: "KEY=VALUE;…".
    pub metadata: Cow<'a, str>,
    pub value: Value<'a>,
}

pub(super) enum Value<'a> {
    /// Properties below it.
    Compound(Group<'a>),
    Samples(Samples<'a>),
}

/// The samples of a scalar or array property. Samples before the first change and after the last are stored once.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    group: Group<'a>,
    array: bool,
    pub pod: u8,
    /// Numbers per element.
    pub extent: usize,
    pub count: usize,
    first_changed: usize,
    last_changed: usize,
    pub sampling: usize,
}

/// When samples were taken, seconds: `stored` repeats every `cycle`.
pub(super) struct Sampling {
    cycle: f64,
    stored: Vec<f64>,
}

/// Plain types of numbers, by their code in a header.
pub(super) mod pod {
    pub const BOOL: u8 = 0;
    pub const U8: u8 = 1;
    pub const I8: u8 = 2;
    pub const U32: u8 = 5;
    pub const I32: u8 = 6;
    pub const F32: u8 = 10;
    pub const F64: u8 = 11;
}

impl<'a> Archive<'a> {
    pub fn open(file: &'a [u8]) -> Result<Self, ReadError> {
        let root = Group::root(file)?;
        if root.len() < 6 {
            return Err(damaged(format!("the root group has {} children, not 6", root.len())));
        }
        let mut metadata = vec![Cow::Borrowed("")];
        let mut texts = Cursor { bytes: root.block(5)?, at: 0 };
        while !texts.is_empty() {
            let length = texts.number(1)? as usize;
            metadata.push(texts.text(length)?);
        }
        let mut samplings = Vec::new();
        let mut times = Cursor { bytes: root.block(4)?, at: 0 };
        while !times.is_empty() {
            times.number(4)?; // the most samples of any property that uses it
            let cycle = f64::from_bits(times.number(8)?);
            let count = times.number(4)? as usize;
            let stored = times.take(count.saturating_mul(8))?;
            let stored: Vec<f64> = stored.as_chunks::<8>().0.iter().map(|word| f64::from_le_bytes(*word)).collect();
            if stored.is_empty() || !cycle.is_finite() || stored.iter().any(|time| !time.is_finite()) {
                return Err(damaged(format!("time sampling {} has no finite times", samplings.len())));
            }
            samplings.push(Sampling { cycle, stored });
        }
        let allowance = Cell::new(allowance(file.len()));
        Ok(Self { root, samplings, metadata, budget: Cell::new(file.len()), allowance })
    }

    /// The object that holds all others.
    pub fn top(&self) -> Result<Object<'a>, ReadError> {
        Ok(Object { name: String::new(), metadata: Cow::Borrowed(""), group: self.root.group(2)? })
    }

    /// Accounts for so many bytes that are about to be decoded.
    pub fn charge(&self, bytes: usize) -> Result<(), ReadError> {
        let left = self.allowance.get().checked_sub(bytes);
        self.allowance.set(left.ok_or_else(|| damaged("it asks for far more than its bytes can hold"))?);
        Ok(())
    }

    fn spend(&self, headers: &[u8]) -> Result<(), ReadError> {
        let left = self.budget.get().checked_sub(headers.len() + 8);
        self.budget.set(left.ok_or_else(|| damaged("its groups contain each other"))?);
        Ok(())
    }

    fn metadata(&self, index: u64, cursor: &mut Cursor<'a>, size: usize) -> Result<Cow<'a, str>, ReadError> {
        if index == 0xff {
            let length = cursor.number(size)? as usize;
            return cursor.text(length);
        }
        let known = self.metadata.get(index as usize).cloned();
        known.ok_or_else(|| damaged(format!("metadata {index} of {}", self.metadata.len())))
    }

    /// Objects below an object, in file order.
    pub fn children(&self, object: &Object<'a>) -> Result<Vec<Object<'a>>, ReadError> {
        if object.group.len() < 2 {
            return Ok(Vec::new()); // nothing but properties, if that
        }
        let headers = object.group.last_block()?;
        self.spend(headers)?;
        // Two hashes of sixteen bytes end the list.
        let mut cursor = Cursor { bytes: &headers[..headers.len().saturating_sub(32)], at: 0 };
        let mut children = Vec::new();
        while !cursor.is_empty() {
            let length = cursor.number(4)? as usize;
            let name = cursor.text(length)?.into_owned();
            let index = cursor.number(1)?;
            let metadata = self.metadata(index, &mut cursor, 4)?;
            children.push(Object { name, metadata, group: object.group.group(children.len() + 1)? });
        }
        Ok(children)
    }

    /// The properties of an object.
    pub fn properties(&self, object: &Object<'a>) -> Result<Vec<Property<'a>>, ReadError> {
        match object.group.len() {
            0 => Ok(Vec::new()),
            _ => self.properties_of(object.group.group(0)?),
        }
    }

    /// The properties of a compound property.
    pub fn properties_of(&self, group: Group<'a>) -> Result<Vec<Property<'a>>, ReadError> {
        if group.len() == 0 {
            return Ok(Vec::new());
        }
        let headers = group.last_block()?;
        self.spend(headers)?;
        let mut cursor = Cursor { bytes: headers, at: 0 };
        let mut properties = Vec::new();
        while !cursor.is_empty() {
            // Bits 0-1 kind, 2-3 width of the counts, 4-7 type of number, 8 has a sampling, 9 has the first and last
            // change, 11 never changes, 12-19 numbers per element, 20-27 metadata.
            let info = cursor.number(4)?;
            let size = match info >> 2 & 3 {
                0 => 1,
                1 => 2,
                2 => 4,
                _ => return Err(damaged("a property header of unknown width")),
            };
            let child = group.group(properties.len())?;
            let value = match info & 3 {
                0 => Value::Compound(child),
                kind => {
                    let count = cursor.number(size)? as usize;
                    let (first_changed, last_changed) = match (info & 0x200 != 0, info & 0x800 != 0) {
                        (true, _) => (cursor.number(size)? as usize, cursor.number(size)? as usize),
                        (false, true) => (0, 0),
                        (false, false) => (1, count.saturating_sub(1)),
                    };
                    let sampling = if info & 0x100 != 0 { cursor.number(size)? as usize } else { 0 };
                    Value::Samples(Samples {
                        group: child,
                        array: kind >= 2,
                        pod: (info >> 4 & 15) as u8,
                        extent: (info >> 12 & 255) as usize,
                        count,
                        first_changed,
                        last_changed,
                        sampling,
                    })
                }
            };
            let length = cursor.number(size)? as usize;
            let name = cursor.text(length)?;
            let metadata = self.metadata(info >> 20 & 255, &mut cursor, size)?;
            properties.push(Property { name, metadata, value });
        }
        Ok(properties)
    }

    /// The time of sample `at` under a sampling, seconds.
    pub fn time(&self, sampling: usize, at: usize) -> Result<f64, ReadError> {
        let known = self.samplings.get(sampling);
        let known = known.ok_or_else(|| damaged(format!("time sampling {sampling} of {}", self.samplings.len())))?;
        let time = match known.is_acyclic() {
            true => known.stored.get(at).copied(),
            false => Some(known.stored[at % known.stored.len()] + (at / known.stored.len()) as f64 * known.cycle),
        };
        time.ok_or_else(|| damaged(format!("sample {at} has no time: {} are stored", known.stored.len())))
    }

    /// The samples before and after a time, and how far between them it lies: 0 at a sample, and beyond the ends.
    pub fn around(&self, samples: &Samples, time: f64) -> Result<(usize, usize, f64), ReadError> {
        /// Seconds; far below any frame, far above what sums of frame lengths lose.
        const SAME: f64 = 1e-6;
        let last = samples.count.saturating_sub(1);
        if last == 0 {
            return Ok((0, 0, 0.0));
        }
        let (mut low, mut high) = (0, last); // times ascend
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.time(samples.sampling, middle)? <= time + SAME {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let (before, next) = (self.time(samples.sampling, low)?, (low + 1).min(last));
        let after = self.time(samples.sampling, next)?;
        match time - before > SAME && after > before {
            true => Ok((low, next, ((time - before) / (after - before)).clamp(0.0, 1.0))),
            false => Ok((low, low, 0.0)),
        }
    }

    /// Samples per second, if they are taken at one rate.
    pub fn rate(&self, sampling: usize) -> Option<f64> {
        let known = self.samplings.get(sampling).filter(|s| s.stored.len() == 1 && !s.is_acyclic() && s.cycle > 0.0)?;
        Some(1.0 / known.cycle)
    }
}

impl Sampling {
    /// The library marks times without a rule by a cycle beyond all measure.
    fn is_acyclic(&self) -> bool {
        self.cycle > 1e300
    }
}

/// The samples of the property of this name.
pub(super) fn samples<'a>(properties: &[Property<'a>], name: &str) -> Option<Samples<'a>> {
    properties.iter().find(|p| p.name == name).and_then(|p| match p.value {
        Value::Samples(samples) => Some(samples),
        Value::Compound(_) => None,
    })
}

impl<'a> Samples<'a> {
    /// Where sample `at` is stored: equal numbers are equal samples.
    pub fn stored(&self, at: usize) -> usize {
        match (self.first_changed, self.last_changed) {
            (0, 0) => 0,
            (first, last) if at < first || last < first => 0,
            (first, last) => at.min(last) - first + 1,
        }
    }

    /// The bytes of sample `at`, without the hash before them.
    pub fn bytes(&self, at: usize) -> Result<&'a [u8], ReadError> {
        self.bytes_stored(self.stored(at))
    }

    /// The bytes of what is stored as number `stored`.
    pub fn bytes_stored(&self, stored: usize) -> Result<&'a [u8], ReadError> {
        let block = self.group.block(if self.array { stored.saturating_mul(2) } else { stored })?;
        match block.len() {
            0 => Ok(block),
            _ => block.get(16..).ok_or_else(|| damaged(format!("a sample of {} bytes", block.len()))),
        }
    }
}

/// Reads numbers and texts one after another.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }
    fn take(&mut self, length: usize) -> Result<&'a [u8], ReadError> {
        let bytes = self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end));
        let short = || damaged(format!("a header of {} bytes ends early", self.bytes.len()));
        self.at += length.min(self.bytes.len());
        bytes.ok_or_else(short)
    }
    fn number(&mut self, size: usize) -> Result<u64, ReadError> {
        Ok(number(self.take(size)?, 0, size).unwrap_or_default())
    }
    fn text(&mut self, length: usize) -> Result<Cow<'a, str>, ReadError> {
        Ok(String::from_utf8_lossy(self.take(length)?))
    }
}
