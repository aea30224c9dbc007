//! The bytes of a compressed stream, read from the front.

/// What is wrong with a stream.
pub(super) type Damage = &'static str;

pub(super) const SHORT: Damage = "it ends too early";
pub(super) const LONG: Damage = "it goes on after its last element";

/// The bytes of a stream that are not read yet.
pub(super) struct Rest<'a>(pub &'a [u8]);

impl<'a> Rest<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn byte(&mut self) -> Result<u8, Damage> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// An unsigned integer in groups of seven bits, the least significant first (LEB128); bits beyond 32 are ignored.
    pub fn varint(&mut self) -> Result<u32, Damage> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("it has a number of more than five bytes")
    }

    pub fn end(self) -> Result<(), Damage> {
        if self.0.is_empty() { Ok(()) } else { Err(LONG) }
    }
}

/// The signed difference of a zigzag code: 0, −1, 1, −2, …
pub(super) fn signed(code: u32) -> u32 {
    (code >> 1) ^ 0u32.wrapping_sub(code & 1)
}
