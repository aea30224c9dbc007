//! Symbols and bits by asymmetric numeral systems (rANS), and bits as they are.
//!
//! Source: Duda, "Asymmetric numeral systems", 2013, in the form of the Draco specification, section "Rans Decoding".

use super::super::stream::{Damage, Rest, SHORT};

/// Bits, the least significant of each byte first.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `count` bits, 32 at most, the first the least significant.
    pub fn read(&mut self, count: u32) -> Result<u32, Damage> {
        let mut value = 0;
        for bit in 0..count {
            let byte = self.bytes.get(self.at / 8).ok_or(SHORT)?;
            value |= u32::from(byte >> (self.at % 8) & 1) << bit;
            self.at += 1;
        }
        Ok(value)
    }

    /// Bytes that were read from, in whole or in part.
    pub fn used(&self) -> usize {
        self.at.div_ceil(8)
    }
}

/// The state of a decoder, and the bytes before its own: they are read from the end.
struct State<'a> {
    bytes: &'a [u8],
    state: u32,
}

impl<'a> State<'a> {
    fn new(bytes: &'a [u8], base: u32) -> Result<Self, Damage> {
        let size = usize::from(bytes.last().ok_or(SHORT)? >> 6) + 1;
        let (bytes, own) = bytes.split_at_checked(bytes.len().wrapping_sub(size)).ok_or(SHORT)?;
        let value =
            own.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)) & (u32::MAX >> (34 - 8 * size));
        let state = base + value;
        if state >= base * 256 {
            return Err("its symbols start from no state");
        }
        Ok(Self { bytes, state })
    }

    /// Brings the state above `base` as far as there are bytes.
    fn refill(&mut self, base: u32) {
        while self.state < base
            && let Some((last, bytes)) = self.bytes.split_last()
        {
            self.state = self.state << 8 | u32::from(*last);
            self.bytes = bytes;
        }
    }
}

/// Bits, each with the same probability to be zero.
pub(super) struct Flags<'a> {
    state: State<'a>,
    zero: u32,
}

impl<'a> Flags<'a> {
    const BASE: u32 = 4096;

    /// Reads the probability and takes the bytes of the bits.
    pub fn new(rest: &mut Rest<'a>) -> Result<Self, Damage> {
        let zero = u32::from(rest.byte()?);
        let size = rest.varint()?;
        Ok(Self { state: State::new(rest.take(size as usize)?, Self::BASE)?, zero })
    }

    /// The next bit; after the last one that was stored, any.
    pub fn read(&mut self) -> bool {
        self.state.refill(Self::BASE);
        let (one, state) = (256 - self.zero, self.state.state);
        let (whole, part) = (state / 256, state % 256);
        let is_one = part < one;
        self.state.state = if is_one { whole * one + part } else { state - whole * one - one };
        is_one
    }
}

/// How probable each symbol is, of `1 << precision` in all.
struct Symbols<'a> {
    state: State<'a>,
    precision: u32,
    /// Those that occur, with the sum of the probabilities before each.
    symbols: Vec<(u32, u32)>,
}

impl<'a> Symbols<'a> {
    /// Reads the probabilities and takes the bytes of the symbols. The caller bounds `precision` by 20.
    fn new(rest: &mut Rest<'a>, precision: u32) -> Result<Self, Damage> {
        let count = u64::from(rest.varint()?);
        let (mut symbols, mut sum, mut symbol) = (Vec::new(), 0u32, 0u64);
        while symbol < count {
            let token = rest.byte()?;
            let (low, extra) = (u32::from(token >> 2), token & 3);
            if extra == 3 {
                symbol += u64::from(low) + 1;
                continue;
            }
            let mut probability = low;
            for at in 0..extra {
                probability |= u32::from(rest.byte()?) << (8 * (at + 1) - 2);
            }
            if probability > 0 {
                symbols.push((sum, symbol as u32));
            }
            sum += probability;
            if sum > 1 << precision {
                return Err("its symbols are more than certain");
            }
            symbol += 1;
        }
        if symbol > count || sum != 1 << precision {
            return Err("its symbols are less than certain");
        }
        let size = rest.varint()?;
        let state = State::new(rest.take(size as usize)?, 4 << precision)?;
        Ok(Self { state, precision, symbols })
    }

    fn read(&mut self) -> u32 {
        self.state.refill(4 << self.precision);
        let state = self.state.state;
        let (whole, part) = (state >> self.precision, state & ((1 << self.precision) - 1));
        // The first symbol begins at zero, so that one is always found.
        let at = self.symbols.partition_point(|(before, _)| *before <= part) - 1;
        let (before, symbol) = self.symbols[at];
        let end = self.symbols.get(at + 1).map_or(1 << self.precision, |(before, _)| *before);
        self.state.state = whole * (end - before) + (part - before);
        symbol
    }
}

/// Reads `count` symbols; of tagged ones, `width` after each other have the same number of bits. The caller bounds `count`.
///
/// # Errors
/// What is wrong with the stream.
pub(super) fn symbols(rest: &mut Rest<'_>, count: usize, width: usize) -> Result<Vec<u32>, Damage> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut values = Vec::with_capacity(count);
    match rest.byte()? {
        0 => {
            let mut tags = Symbols::new(rest, 12)?;
            let mut bits = Bits::new(rest.0);
            while values.len() < count {
                let size = tags.read();
                if size > 32 {
                    return Err("it has a symbol of more than 32 bits");
                }
                for _ in 0..width.min(count - values.len()) {
                    values.push(bits.read(size)?);
                }
            }
            rest.take(bits.used())?;
        }
        1 => {
            let most = u32::from(rest.byte()?);
            if most > 18 {
                return Err("it has symbols of more than 18 bits");
            }
            let mut symbols = Symbols::new(rest, (most * 3 / 2).clamp(12, 20))?;
            values.extend((0..count).map(|_| symbols.read()));
        }
        _ => return Err("its symbols are coded in an unknown way"),
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_from_the_least_significant() {
        let mut bits = Bits::new(&[0b1010_0110, 0b11]);
        assert_eq!([bits.read(1), bits.read(2), bits.read(5), bits.read(2)], [Ok(0), Ok(3), Ok(0b10100), Ok(3)]);
        assert_eq!(bits.used(), 2);
        assert_eq!(bits.read(7), Err(SHORT));
    }

    /// Two symbols, encoded backwards by the definition of rANS: x' = (x / p) M + c + x mod p.
    #[test]
    fn symbols_that_were_encoded_by_the_definition_come_back() {
        let (precision, probabilities) = (12, [1000u32, 3096]);
        let base = 4 << precision;
        let message: Vec<u32> = (0..500).map(|at| u32::from(at % 7 > 1)).collect();
        let (mut state, mut bytes) = (base, Vec::new());
        for &symbol in message.iter().rev() {
            let (p, before) = (probabilities[symbol as usize], if symbol == 0 { 0 } else { 1000 });
            while state >= (base >> precision) * 256 * p {
                bytes.push(state as u8);
                state >>= 8;
            }
            state = (state / p) * (1 << precision) + state % p + before;
        }
        let value = state - base;
        assert!(value < 1 << 22);
        bytes.extend(&(value | 2 << 22).to_le_bytes()[..3]);
        // RAW_SYMBOLS, one bit, two probabilities of two bytes each.
        let mut stream = vec![1, 1, 2];
        for p in probabilities {
            stream.extend([(p << 2) as u8 | 1, (p >> 6) as u8]);
        }
        stream.extend([bytes.len() as u8 | 0x80, (bytes.len() >> 7) as u8]);
        stream.extend(&bytes);
        let mut rest = Rest(&stream);
        assert_eq!(symbols(&mut rest, message.len(), 1).unwrap(), message);
        rest.end().unwrap();
        for end in 0..stream.len() {
            assert!(symbols(&mut Rest(&stream[..end]), message.len(), 1).is_err(), "{end}");
        }
    }
}
