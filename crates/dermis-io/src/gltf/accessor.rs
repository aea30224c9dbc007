//! Accessors: numbers out of buffers. Every size is checked before anything is allocated.

use super::document::{Accessor, Document, damaged};
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

/// A compressed number this near to a whole one stands for it.
const WHOLE: f64 = 0.01;

impl Accessor {
    /// Numbers of an element; 0 if the type is none that is read.
    fn width(&self) -> usize {
        match self.shape.as_str() {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            _ => 0,
        }
    }

    /// Numbers, `width` per element, as bytes that the accessor reads without gaps.
    pub(super) fn pack(
        &self,
        what: &str,
        width: usize,
        numbers: impl Iterator<Item = f64>,
    ) -> Result<Vec<u8>, ReadError> {
        let component = Component::new(self.component_type, what)?;
        if self.width() != width {
            return Err(damaged(format!("{what:.40} has the type {:.20} for {width} components", self.shape)));
        }
        let mut bytes = Vec::new();
        for number in numbers {
            let start = bytes.len();
            // Some writers quantise whole numbers, such as those of joints, as if they were lengths.
            let nearest = number.round();
            let is_whole = !matches!(component, Component::F32) && (number - nearest).abs() <= WHOLE;
            let number = if is_whole { nearest } else { number };
            let whole = number as i64;
            match component {
                Component::F32 => bytes.extend((number as f32).to_le_bytes()),
                _ => bytes.extend(&whole.to_le_bytes()[..component.size()]),
            }
            // What is not finite is told by those who read it.
            if component.number(&bytes[start..], false) != number && number.is_finite() {
                return Err(damaged(format!("{what:.40} has the number {number}, which is none of its components'")));
            }
        }
        Ok(bytes)
    }
}

impl Document {
    /// The accessor `at` as numbers; its width must be one of `widths`.
    pub fn table(&self, at: u32, what: &str, widths: &[usize]) -> Result<Table, ReadError> {
        let accessor = self.accessor(at, what)?;
        let component = Component::new(accessor.component_type, what)?;
        let normalized = accessor.normalized;
        let number = |bytes: &[u8]| component.number(bytes, normalized);
        let (width, values) = self.decode(at, accessor, what, widths, component, number)?;
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
        Ok(self.decode(at, accessor, what, &[width], component, |bytes| component.number(bytes, false) as u32)?.1)
    }

    /// Whether accessor `at` has bytes; without them it is zeros, or data an extension holds that is not read.
    pub fn has_data(&self, at: u32) -> bool {
        self.decoded(at).is_some()
            || self.root.accessors.get(at as usize).is_some_and(|a| a.buffer_view.is_some() || a.sparse.is_some())
    }

    pub(super) fn accessor(&self, at: u32, what: &str) -> Result<&Accessor, ReadError> {
        let accessors = &self.root.accessors;
        accessors
            .get(at as usize)
            .ok_or_else(|| damaged(format!("{what} names accessor {at}, but there are {}", accessors.len())))
    }

    fn decode<T: Copy + Default>(
        &self,
        at: u32,
        accessor: &Accessor,
        what: &str,
        widths: &[usize],
        component: Component,
        number: impl Fn(&[u8]) -> T,
    ) -> Result<(usize, Vec<T>), ReadError> {
        let width = accessor.width();
        if !widths.contains(&width) {
            return Err(damaged(format!("{what} has the type {:.20}", accessor.shape)));
        }
        let size = component.size() * width;
        let decoded = self.decoded(at);
        let rows = decoded.map_or(accessor.count, |decoded| decoded.count);
        self.charge(rows, width as u64, what)?;
        let backing = match (decoded, accessor.buffer_view) {
            (Some(decoded), _) => Some((decoded.bytes.as_slice(), size)),
            (None, Some(view)) => Some(self.bytes(view, accessor.byte_offset, size, rows, what)?),
            (None, None) => None, // zeros, says the specification
        };
        let too_many = || damaged(format!("{what} has {rows} rows"));
        let count = usize::try_from(rows).map_err(|_| too_many())?;
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
            if sparse.count > rows || matches!(index, Component::I8 | Component::I16 | Component::F32) {
                return Err(damaged(format!("{what} has {} sparse rows of {rows}", sparse.count)));
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
        let bytes = self.view_bytes(view, what)?;
        let declared = self.root.buffer_views.get(view as usize).and_then(|info| info.byte_stride);
        let outside = || {
            let length = bytes.len();
            damaged(format!("{what} ({count} × {size} bytes) goes beyond buffer view {view} of {length} bytes"))
        };
        let stride = declared.unwrap_or(size as u64);
        if stride < size as u64 {
            return Err(damaged(format!("{what}: stride {stride} is less than the {size} bytes of an element")));
        }
        let needed = match count {
            0 => 0,
            _ => (count - 1).checked_mul(stride).and_then(|last| last.checked_add(size as u64)).ok_or_else(outside)?,
        };
        let end = offset.checked_add(needed).and_then(|end| usize::try_from(end).ok());
        let range = usize::try_from(offset).ok().zip(end).ok_or_else(outside)?;
        let bytes = bytes.get(range.0..range.1).ok_or_else(outside)?;
        Ok((bytes, usize::try_from(stride).map_err(|_| outside())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some writers quantise the joints of vertices as if they were lengths.
    #[test]
    fn whole_numbers_that_were_quantised_are_whole_again() {
        let joints = Accessor { component_type: 5121, shape: "VEC4".into(), ..Accessor::default() };
        let packed = |first| joints.pack("JOINTS_0", 4, [first, 0.999, 200.0, 0.0].into_iter());
        assert_eq!(packed(8.0007).unwrap(), [8, 1, 200, 0]);
        for beyond in [8.4, 256.001, -0.5] {
            assert!(packed(beyond).is_err(), "{beyond}");
        }
    }
}
