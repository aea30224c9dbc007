//! Bytes of a binary layer, read in order.

use super::damaged;
use crate::contents::ReadError;

/// A place in a file.
pub(super) struct At<'a> {
    pub bytes: &'a [u8],
    pub place: usize,
}

impl<'a> At<'a> {
    pub fn new(bytes: &'a [u8], place: u64) -> Self {
        Self { bytes, place: usize::try_from(place).unwrap_or(usize::MAX) }
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], ReadError> {
        let end = self.place.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| {
            damaged(format!("{count} bytes at {} are promised, but it has {}", self.place, self.bytes.len()))
        })?;
        let found = &self.bytes[self.place..end];
        self.place = end;
        Ok(found)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut made = [0; N];
        made.copy_from_slice(self.take(N)?);
        Ok(made)
    }

    pub fn u8(&mut self) -> Result<u8, ReadError> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u32(&mut self) -> Result<u32, ReadError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, ReadError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub fn f64(&mut self) -> Result<f64, ReadError> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// A number of elements of at least `size` bytes each, which must be there.
    pub fn count(&mut self, size: usize) -> Result<usize, ReadError> {
        let count = self.u64()?;
        let left = (self.bytes.len() - self.place) as u64;
        match count.checked_mul(size as u64).is_some_and(|bytes| bytes <= left) {
            true => Ok(count as usize),
            false => Err(damaged(format!("{count} elements are promised where {left} bytes are left"))),
        }
    }

    /// Bytes behind their number.
    pub fn sized(&mut self) -> Result<&'a [u8], ReadError> {
        let count = self.count(1)?;
        self.take(count)
    }

    /// Goes to a place that is told by its distance from here.
    pub fn jump(&mut self) -> Result<(), ReadError> {
        let from = self.place as i64;
        let to = from.checked_add(self.u64()? as i64).and_then(|to| usize::try_from(to).ok());
        self.place = to.ok_or_else(|| damaged(format!("a jump at {from} leaves the file")))?;
        Ok(())
    }
}

/// A number of 16 bits with 5 bits of exponent.
pub(super) fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    if sign == 1 { -size } else { size }
}
