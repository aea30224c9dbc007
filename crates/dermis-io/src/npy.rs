//! One NumPy array: the `.npy` format, versions 1 to 3.
//!
//! Six bytes of magic, two of version, the length of a header, the header (a Python dictionary with the keys `descr`,
//! `fortran_order`, `shape`), then the values. Source: NumPy's `numpy/lib/format.py`.
//!
//! Read by hand because the bound on what a header may promise is ours to set, and because bundles hold text (`<U12`).

use std::fmt::Write as _;
use std::io::{ErrorKind, Read};

/// The longest header read. NumPy itself writes 128 bytes for simple arrays and refuses more than 10 000.
const LONGEST_HEADER: usize = 1 << 16;

/// Why bytes are no array that can be read here.
#[derive(Debug, PartialEq)]
pub(crate) enum NpyError {
    /// Truncated or contradictory.
    Damaged(String),
    /// Values of a kind that is refused.
    Unsupported(String),
}

/// What a header says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) shape: Vec<usize>,
    kind: Kind,
    big_endian: bool,
    fortran_order: bool,
    /// Bytes of magic, version and header together.
    pub(crate) length: usize,
    /// Bytes of all values together.
    pub(crate) data_length: usize,
}

/// What one value is; sizes in bytes, text in characters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bool,
    Float(usize),
    Signed(usize),
    Unsigned(usize),
    Unicode(usize),
    Bytes(usize),
}

impl Kind {
    fn size(self) -> Option<usize> {
        match self {
            Self::Bool => Some(1),
            Self::Float(size) | Self::Signed(size) | Self::Unsigned(size) | Self::Bytes(size) => Some(size),
            Self::Unicode(characters) => characters.checked_mul(4),
        }
    }
}

impl Header {
    /// Reads magic, version and header; `reader` then stands at the first value.
    pub(crate) fn read(reader: &mut impl Read) -> Result<Self, NpyError> {
        // Bytes that end, or a system that fails: the two have different remedies.
        let cut = |error: std::io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => NpyError::Damaged("the header is cut short".into()),
            _ => NpyError::Damaged(format!("the header: {error}")),
        };
        let mut start = [0; 8];
        reader.read_exact(&mut start).map_err(cut)?;
        if start[..6] != *b"\x93NUMPY" {
            return Err(NpyError::Damaged("it does not start like a NumPy array".into()));
        }
        let (text_length, prefix) = match start[6] {
            1 => {
                let mut length = [0; 2];
                reader.read_exact(&mut length).map_err(cut)?;
                (usize::from(u16::from_le_bytes(length)), 10)
            }
            2 | 3 => {
                let mut length = [0; 4];
                reader.read_exact(&mut length).map_err(cut)?;
                (u32::from_le_bytes(length) as usize, 12)
            }
            version => return Err(NpyError::Unsupported(format!("version {version} of the array format"))),
        };
        if text_length > LONGEST_HEADER {
            return Err(NpyError::Damaged(format!(
                "its header promises {text_length} bytes; {LONGEST_HEADER} is the most"
            )));
        }
        let mut text = vec![0; text_length];
        reader.read_exact(&mut text).map_err(cut)?;
        let text = String::from_utf8_lossy(&text);
        let Dictionary { descr, fortran_order, shape } = dictionary(&text)?;
        let (kind, big_endian) = kind(&descr)?;
        let too_many = || NpyError::Damaged(format!("its shape {} overflows", Shape(&shape)));
        // Zeros are left out of the product, so that they cannot hide a dimension beyond all bounds.
        let extent = shape.iter().filter(|d| **d != 0).try_fold(1usize, |all, d| all.checked_mul(*d));
        let bytes = extent.and_then(|all| all.checked_mul(kind.size()?)).ok_or_else(too_many)?;
        let data_length = if shape.contains(&0) { 0 } else { bytes };
        Ok(Self { shape, kind, big_endian, fortran_order, length: prefix + text_length, data_length })
    }
}

impl Header {
    /// Whether values are numbers: floats, integers or booleans.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self.kind, Kind::Float(_) | Kind::Signed(_) | Kind::Unsigned(_) | Kind::Bool)
    }

    /// Bytes of all values, with those of less than 32 bits as 32: numbers are held in 64.
    pub(crate) fn held_length(&self) -> u64 {
        let size = self.kind.size().unwrap_or(1).max(1);
        (self.data_length / size * size.max(4)) as u64
    }

    /// The header of one of the parts that follow one another along the first dimension; `None` where they lie apart.
    pub(crate) fn row(&self) -> Option<Self> {
        let (rows, shape) = self.shape.split_first()?;
        let data_length = self.data_length.checked_div(*rows).unwrap_or(0);
        (!self.fortran_order).then(|| Self { shape: shape.to_vec(), data_length, ..self.clone() })
    }
}

/// The three entries of a header.
struct Dictionary {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// Parses the little of Python that headers use.
fn dictionary(text: &str) -> Result<Dictionary, NpyError> {
    let odd =
        || NpyError::Damaged(format!("its header is not understood: {}", text.chars().take(80).collect::<String>()));
    let inside = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(odd)?;
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    let mut rest = inside.trim();
    while !rest.is_empty() {
        let (key, after) = quoted(rest).ok_or_else(odd)?;
        rest = after.trim_start().strip_prefix(':').ok_or_else(odd)?.trim_start();
        match key {
            "descr" if rest.starts_with('[') => {
                return Err(NpyError::Unsupported("a structured array (a table of records)".into()));
            }
            "descr" => {
                let (value, after) = quoted(rest).ok_or_else(odd)?;
                (descr, rest) = (Some(value.to_owned()), after);
            }
            "fortran_order" => {
                let (value, after) = match (rest.strip_prefix("True"), rest.strip_prefix("False")) {
                    (Some(after), _) => (true, after),
                    (_, Some(after)) => (false, after),
                    _ => return Err(odd()),
                };
                (fortran_order, rest) = (Some(value), after);
            }
            "shape" => {
                let (inside, after) = rest.strip_prefix('(').and_then(|r| r.split_once(')')).ok_or_else(odd)?;
                let numbers = inside.split(',').map(str::trim).filter(|n| !n.is_empty());
                let dimensions: Result<Vec<usize>, _> = numbers.map(|n| n.trim_end_matches('L').parse()).collect();
                (shape, rest) = (Some(dimensions.map_err(|_| odd())?), after);
            }
            _ => return Err(odd()),
        }
        rest = rest.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None if rest.is_empty() => rest,
            None => return Err(odd()),
        };
    }
    match (descr, fortran_order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => Ok(Dictionary { descr, fortran_order, shape }),
        _ => Err(odd()),
    }
}

/// A quoted string without escapes at the start of `text`, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// The kind and byte order of a type string such as `<f4`, `>i8`, `|S5`, `<U12`.
fn kind(descr: &str) -> Result<(Kind, bool), NpyError> {
    let unsupported = || NpyError::Unsupported(format!("values of type '{descr}'"));
    let (big_endian, name) = match descr.split_at_checked(1).ok_or_else(unsupported)? {
        ("<" | "|" | "=", name) => (false, name),
        (">", name) => (true, name),
        _ => (false, descr),
    };
    if name.starts_with('O') {
        return Err(NpyError::Unsupported("Python objects (a pickle; save text with dtype=str)".into()));
    }
    let (letter, size) = name.split_at_checked(1).ok_or_else(unsupported)?;
    let size: usize = size.parse().map_err(|_| unsupported())?;
    let kind = match (letter, size) {
        ("b", 1) => Kind::Bool,
        ("f", 2 | 4 | 8) => Kind::Float(size),
        ("i", 1 | 2 | 4 | 8) => Kind::Signed(size),
        ("u", 1 | 2 | 4 | 8) => Kind::Unsigned(size),
        ("U", 1..) => Kind::Unicode(size),
        ("S", 1..) => Kind::Bytes(size),
        _ => return Err(unsupported()),
    };
    Ok((kind, big_endian))
}

/// A shape as Python prints it.
pub(crate) struct Shape<'a>(pub(crate) &'a [usize]);

impl std::fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_char('(')?;
        for (at, dimension) in self.0.iter().enumerate() {
            write!(f, "{}{dimension}", if at == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}

/// An array: a header and exactly the bytes it promises.
#[derive(Debug)]
pub(crate) struct Array {
    header: Header,
    /// Values from one index to the next, per dimension.
    strides: Vec<usize>,
    data: Vec<u8>,
}

impl Array {
    /// Joins a header with its values; `None` if they are not as many bytes as it promises.
    pub(crate) fn new(header: Header, data: Vec<u8>) -> Option<Self> {
        if data.len() != header.data_length {
            return None;
        }
        // A C array runs fastest over the last index, a Fortran array over the first. An empty array has no value to
        // reach; its dimensions may be too large to multiply.
        let mut strides = vec![1usize; header.shape.len()];
        let mut stride = 1usize;
        for step in 0..header.shape.len() {
            let at = if header.fortran_order { step } else { header.shape.len() - 1 - step };
            strides[at] = stride;
            stride = stride.wrapping_mul(header.shape[at]);
        }
        Some(Self { header, strides, data })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.header.shape
    }
    /// Whether values are numbers: floats, integers or booleans.
    pub(crate) fn is_number(&self) -> bool {
        self.header.is_number()
    }
    /// Whether values are integers.
    pub(crate) fn is_integer(&self) -> bool {
        matches!(self.header.kind, Kind::Signed(_) | Kind::Unsigned(_))
    }
    /// Whether values are text.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.header.kind, Kind::Unicode(_) | Kind::Bytes(_))
    }

    /// The number at an index within the shape; NaN if values are text.
    pub(crate) fn number<const N: usize>(&self, index: [usize; N]) -> f64 {
        let at = self.place(index);
        match self.header.kind {
            Kind::Float(2) => half(u16::from_le_bytes(self.bytes(at))),
            Kind::Float(4) => f64::from(f32::from_le_bytes(self.bytes(at))),
            Kind::Float(_) => f64::from_le_bytes(self.bytes(at)),
            Kind::Bool => f64::from(self.data[at] != 0),
            _ => self.integer(index).map_or(f64::NAN, |i| i as f64),
        }
    }

    /// The integer at an index within the shape; `None` if values are no integers or it does not fit.
    pub(crate) fn integer<const N: usize>(&self, index: [usize; N]) -> Option<i64> {
        let at = self.place(index);
        Some(match self.header.kind {
            Kind::Signed(1) => i8::from_le_bytes(self.bytes(at)).into(),
            Kind::Signed(2) => i16::from_le_bytes(self.bytes(at)).into(),
            Kind::Signed(4) => i32::from_le_bytes(self.bytes(at)).into(),
            Kind::Signed(_) => i64::from_le_bytes(self.bytes(at)),
            Kind::Unsigned(1) => u8::from_le_bytes(self.bytes(at)).into(),
            Kind::Unsigned(2) => u16::from_le_bytes(self.bytes(at)).into(),
            Kind::Unsigned(4) => u32::from_le_bytes(self.bytes(at)).into(),
            Kind::Unsigned(_) => u64::from_le_bytes(self.bytes(at)).try_into().ok()?,
            _ => return None,
        })
    }

    /// The integer at an index within the shape, where −1 may stand for none of `count` things: an unsigned type holds it as its
    /// largest number, which is −1 unless it is below `count`.
    pub(crate) fn integer_or_none<const N: usize>(&self, index: [usize; N], count: usize) -> Option<i64> {
        let value = self.integer(index);
        let Kind::Unsigned(size) = self.header.kind else { return value };
        let at = self.place(index) * size;
        let is_largest = self.data[at..at + size].iter().all(|byte| *byte == u8::MAX);
        match value.is_none_or(|value| value >= count as i64) && is_largest {
            true => Some(-1),
            false => value,
        }
    }

    /// The text at an index within the shape, without the zeros that pad it; `None` if it is no valid text.
    pub(crate) fn text<const N: usize>(&self, index: [usize; N]) -> Option<String> {
        let at = self.place(index);
        match self.header.kind {
            Kind::Unicode(characters) => {
                let points = (0..characters).map(|c| u32::from_le_bytes(self.bytes(at * characters + c)));
                let text: Option<String> = points.map(char::from_u32).collect();
                text.map(|t| t.trim_end_matches('\0').to_owned())
            }
            Kind::Bytes(size) => {
                let text = std::str::from_utf8(&self.data[at * size..(at + 1) * size]).ok()?;
                Some(text.trim_end_matches('\0').to_owned())
            }
            _ => None,
        }
    }

    fn place<const N: usize>(&self, index: [usize; N]) -> usize {
        debug_assert_eq!(N, self.strides.len(), "the rank was checked before");
        index.iter().zip(&self.strides).map(|(i, stride)| i * stride).sum()
    }

    /// The `S` bytes of unit `at` (a value, or a character of text), little end first.
    fn bytes<const S: usize>(&self, at: usize) -> [u8; S] {
        let mut bytes = [0; S];
        bytes.copy_from_slice(&self.data[at * S..(at + 1) * S]);
        if self.header.big_endian {
            bytes.reverse();
        }
        bytes
    }
}

/// The number that 16 bits stand for: a sign, five bits of exponent, ten of fraction (IEEE 754 binary16).
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    let size = match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// Magic, version 1 and header of a C-order array, padded to 64 bytes as NumPy does; the values follow.
pub(crate) fn head(descr: &str, shape: &[usize]) -> Vec<u8> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {}, }}", Shape(shape));
    while !(10 + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes()); // at most 20 digits for each of four dimensions
    bytes.extend(text.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Array, NpyError> {
        let mut reader = bytes;
        let header = Header::read(&mut reader)?;
        Array::new(header, reader.to_vec()).ok_or_else(|| NpyError::Damaged("length".into()))
    }

    /// An array file with any header, values as given.
    fn with_header(text: &str, data: &[u8]) -> Vec<u8> {
        let length = (text.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), data].concat()
    }

    #[test]
    fn orders_and_byte_orders_agree() {
        let values = |order: &[i16], big: bool| -> Vec<u8> {
            order.iter().flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() }).collect()
        };
        for (descr, fortran, data) in [
            ("<i2", "False", values(&[0, 1, 2, 10, 11, 12], false)),
            (">i2", "False", values(&[0, 1, 2, 10, 11, 12], true)),
            ("<i2", "True", values(&[0, 10, 1, 11, 2, 12], false)),
        ] {
            let header = format!("{{\"shape\": (2L, 3), 'descr': '{descr}', 'fortran_order': {fortran}}}\n");
            let array = read(&with_header(&header, &data)).unwrap();
            assert!(array.is_integer() && array.is_number() && !array.is_text());
            for (row, column) in [(0, 0), (0, 2), (1, 0), (1, 1)] {
                assert_eq!(array.integer([row, column]), Some((10 * row + column) as i64), "{descr} {fortran}");
                assert_eq!(array.number([row, column]), (10 * row + column) as f64);
            }
        }
    }

    /// By hand, after the definition of binary16: the least and the largest of either kind, and what NumPy prints of the others.
    #[test]
    fn halves_are_read() {
        let halves: [(u16, f64); 9] = [
            (0x0000, 0.0),
            (0x0001, 1.0 / 16_777_216.0),
            (0x03ff, 1023.0 / 16_777_216.0),
            (0x0400, 1.0 / 16384.0),
            (0x3555, 0.333_251_953_125),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0xfc00, f64::NEG_INFINITY),
        ];
        for big in [false, true] {
            let bytes = halves.iter().flat_map(|(bits, _)| if big { bits.to_be_bytes() } else { bits.to_le_bytes() });
            let header = if big { ">f2" } else { "<f2" };
            let array = read(&[head(header, &[9]), bytes.collect()].concat()).unwrap();
            for (at, (bits, expected)) in halves.iter().enumerate() {
                assert_eq!(array.number([at]), *expected, "{bits:#x}");
            }
        }
        assert!(read(&[head("<f2", &[1]), vec![1, 0x7c]].concat()).unwrap().number([0]).is_nan());
    }

    #[test]
    fn the_largest_unsigned_number_is_none_where_it_names_nothing() {
        for size in [1, 2, 4, 8] {
            let array = read(&[head(&format!("<u{size}"), &[2]), vec![255; size], vec![0; size]].concat()).unwrap();
            assert_eq!((array.integer_or_none([0], 9), array.integer_or_none([1], 9)), (Some(-1), Some(0)), "{size}");
        }
        let bytes = read(&[head("|u1", &[1]), vec![255]].concat()).unwrap();
        assert_eq!(bytes.integer_or_none([0], 256), Some(255), "there is such a bone");
        let signed = read(&[head("|i1", &[2]), vec![255, 127]].concat()).unwrap();
        assert_eq!((signed.integer_or_none([0], 9), signed.integer_or_none([1], 9)), (Some(-1), Some(127)));
    }

    #[test]
    fn text_is_read_in_both_byte_orders_and_as_bytes() {
        let wide = |big: bool| -> Vec<u8> {
            "héé→\0\0ab\0\0"
                .chars()
                .flat_map(|c| if big { (c as u32).to_be_bytes() } else { (c as u32).to_le_bytes() })
                .collect()
        };
        for (descr, data) in [("<U5", wide(false)), (">U5", wide(true))] {
            let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2,), }}");
            let array = read(&with_header(&header, &data)).unwrap();
            assert_eq!(array.text([0]).unwrap(), "héé→");
            assert_eq!(array.text([1]).unwrap(), "\0ab");
        }
        let array = read(&[&head("|S3", &[]), &b"cm\0"[..]].concat()).unwrap();
        assert_eq!((array.shape(), array.text([])), (&[][..], Some("cm".into())));
        assert_eq!(read(&[head("|S2", &[]), vec![0xff, 0xfe]].concat()).unwrap().text([]), None);
        assert_eq!(read(&[head("<U1", &[]), 0xd800u32.to_le_bytes().to_vec()].concat()).unwrap().text([]), None);
    }

    #[test]
    fn what_is_refused_is_named() {
        let header = |descr: &str, shape: &str| {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
            match Header::read(&mut with_header(&text, &[]).as_slice()) {
                Ok(header) => panic!("accepted {header:?}"),
                Err(NpyError::Damaged(why) | NpyError::Unsupported(why)) => why,
            }
        };
        assert!(header("'|O'", "(3,)").contains("pickle"));
        assert!(header("'<c8'", "(3,)").contains("'<c8'"));
        assert!(header("'<f1'", "(3,)").contains("'<f1'"));
        assert!(header("'<U0'", "(999999999999,)").contains("'<U0'"));
        assert!(header("''", "(3,)").contains("''"));
        assert!(header("'é4'", "(3,)").contains("é4"));
        assert!(header("[('a', '<f4')]", "(3,)").contains("structured"));
        assert!(header("'<f4'", "(-3,)").contains("not understood"));
        assert!(header("'<f4'", "(4294967296, 4294967296)").contains("overflows"));
        assert!(header("'<f4'", "(4294967296, 0, 4294967296)").contains("overflows"));
        assert!(header("'<f4'", "3").contains("not understood"));
        assert!(header("'<f4", "(3,)").contains("not understood"));
    }
}
