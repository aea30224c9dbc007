//! Accessors: numbers out of buffers. Every size is checked before anything is allocated.

use super::document::{Accessor, Buffer, Document, damaged, unsupported};
use crate::contents::ReadError;

/// Rows of numbers: (rows × width), row after row.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub width: usize,
    pub values: Vec<f64>,
}

impl Table {
    pub fn rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }
    /// Row `at`; empty beyond the end.
    pub fn row(&self, at: usize) -> &[f64] {
        self.values.get(at * self.width..(at + 1) * self.width).unwrap_or(&[])
    }
}

#[derive(Clone, Copy)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn new(code: u32, what: &str) -> Result<Self, ReadError> {
        Ok(match code {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            _ => return Err(damaged(format!("{what} has the unknown component type {code}"))),
        })
    }
    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }
    /// The component at the start of `bytes`; zero if they are too few, which the bounds checks rule out.
    fn number(self, bytes: &[u8], normalized: bool) -> f64 {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let word = u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]);
        let (value, full) = match self {
            Self::I8 => (f64::from(word as u8 as i8), 127.0),
            Self::U8 => (f64::from(word as u8), 255.0),
            Self::I16 => (f64::from(word as u16 as i16), 32767.0),
            Self::U16 => (f64::from(word as u16), 65535.0),
            Self::U32 => (f64::from(word), f64::from(u32::MAX)),
            Self::F32 => return f64::from(f32::from_bits(word)),
        };
        if normalized { (value / full).max(-1.0) } else { value }
    }
}

impl Document {
    /// The accessor `at` as numbers; its width must be one of `widths`.
    pub fn table(&self, at: u32, what: &str, widths: &[usize]) -> Result<Table, ReadError> {
        let accessor = self.accessor(at, what)?;
        let component = Component::new(accessor.component_type, what)?;
        let normalized = accessor.normalized;
        let (width, values) =
            self.decode(accessor, what, widths, component, |bytes| component.number(bytes, normalized))?;
        Ok(Table { width, values })
    }

    /// The accessor `at` as unsigned integers, `width` per row.
    pub fn integers(&self, at: u32, what: &str, width: usize) -> Result<Vec<u32>, ReadError> {
        let accessor = self.accessor(at, what)?;
        let component = Component::new(accessor.component_type, what)?;
        if !matches!(component, Component::U8 | Component::U16 | Component::U32) {
            return Err(damaged(format!("{what} are not unsigned integers")));
        }
        // Every 32-bit integer is exact in f64.
        Ok(self.decode(accessor, what, &[width], component, |bytes| component.number(bytes, false) as u32)?.1)
    }

    /// Whether accessor `at` has bytes of its own; without them it is zeros, or data a compressed primitive holds.
    pub fn has_data(&self, at: u32) -> bool {
        self.root.accessors.get(at as usize).is_some_and(|a| a.buffer_view.is_some() || a.sparse.is_some())
    }

    fn accessor(&self, at: u32, what: &str) -> Result<&Accessor, ReadError> {
        let accessors = &self.root.accessors;
        accessors
            .get(at as usize)
            .ok_or_else(|| damaged(format!("{what} names accessor {at}, but there are {}", accessors.len())))
    }

    fn decode<T: Copy + Default>(
        &self,
        accessor: &Accessor,
        what: &str,
        widths: &[usize],
        component: Component,
        number: impl Fn(&[u8]) -> T,
    ) -> Result<(usize, Vec<T>), ReadError> {
        let width = match accessor.shape.as_str() {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            _ => 0,
        };
        if !widths.contains(&width) {
            return Err(damaged(format!("{what} has the type {:.20}", accessor.shape)));
        }
        let size = component.size() * width;
        self.charge(accessor.count, width as u64, what)?;
        let backing = match accessor.buffer_view {
            Some(view) => Some(self.bytes(view, accessor.byte_offset, size, accessor.count, what)?),
            None => None, // zeros, says the specification
        };
        let too_many = || damaged(format!("{what} has {} rows", accessor.count));
        let count = usize::try_from(accessor.count).map_err(|_| too_many())?;
        let mut values = match backing {
            None => vec![T::default(); count.checked_mul(width).ok_or_else(too_many)?],
            Some((bytes, stride)) => {
                let mut values = Vec::with_capacity(count.checked_mul(width).ok_or_else(too_many)?);
                for row in 0..count {
                    let row = bytes.get(row * stride..row * stride + size).unwrap_or(&[]);
                    values.extend(row.chunks_exact(component.size()).map(&number));
                }
                values
            }
        };
        if let Some(sparse) = &accessor.sparse {
            let index = Component::new(sparse.indices.component_type, what)?;
            if sparse.count > accessor.count || matches!(index, Component::I8 | Component::I16 | Component::F32) {
                return Err(damaged(format!("{what} has {} sparse rows of {}", sparse.count, accessor.count)));
            }
            let (at, of) = (&sparse.indices, &sparse.values);
            let (places, step) = self.bytes(at.buffer_view, at.byte_offset, index.size(), sparse.count, what)?;
            let (rows, stride) = self.bytes(of.buffer_view, of.byte_offset, size, sparse.count, what)?;
            for (place, row) in places.chunks(step).zip(rows.chunks(stride)) {
                let place = index.number(place, false) as usize;
                let target = place.checked_mul(width).and_then(|from| values.get_mut(from..from.checked_add(width)?));
                let target = target.ok_or_else(|| damaged(format!("{what} has a sparse row {place} of {count}")))?;
                for (to, from) in target.iter_mut().zip(row.chunks_exact(component.size())) {
                    *to = number(from);
                }
            }
        }
        Ok((width, values))
    }

    /// The bytes of `count` elements of `size` bytes that start at `offset` in view `view`, and their stride.
    fn bytes(&self, view: u32, offset: u64, size: usize, count: u64, what: &str) -> Result<(&[u8], usize), ReadError> {
        let views = &self.root.buffer_views;
        let info = views
            .get(view as usize)
            .ok_or_else(|| damaged(format!("{what} names buffer view {view}, but there are {}", views.len())))?;
        let buffer = match self.buffers.get(info.buffer as usize) {
            Some(Buffer::Bytes(bytes)) => bytes.as_slice(),
            Some(Buffer::Missing(why)) => {
                let why = info.extensions.keys().next().unwrap_or(why);
                return Err(unsupported(format!("{why:.100}, which holds {what},")));
            }
            None => {
                let buffers = self.buffers.len();
                return Err(damaged(format!(
                    "buffer view {view} names buffer {}, but there are {buffers}",
                    info.buffer
                )));
            }
        };
        let outside = || {
            let (length, has) = (info.byte_length, buffer.len());
            damaged(format!(
                "{what} ({count} × {size} bytes) goes beyond buffer view {view} of {length} bytes, buffer of {has}"
            ))
        };
        if info.byte_offset.checked_add(info.byte_length).is_none_or(|end| end > buffer.len() as u64) {
            return Err(outside());
        }
        let stride = info.byte_stride.unwrap_or(size as u64);
        if stride < size as u64 {
            return Err(damaged(format!("{what}: stride {stride} is less than the {size} bytes of an element")));
        }
        let needed = match count {
            0 => 0,
            _ => (count - 1).checked_mul(stride).and_then(|last| last.checked_add(size as u64)).ok_or_else(outside)?,
        };
        let end_in_view = offset.checked_add(needed).filter(|&end| end <= info.byte_length).ok_or_else(outside)?;
        let start = info.byte_offset.checked_add(offset).ok_or_else(outside)?;
        let end = info.byte_offset.checked_add(end_in_view).ok_or_else(outside)?;
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok()).ok_or_else(outside)?;
        let bytes = buffer.get(range.0..range.1).ok_or_else(outside)?;
        Ok((bytes, usize::try_from(stride).map_err(|_| outside())?))
    }
}
