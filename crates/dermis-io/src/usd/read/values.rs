//! Values of a binary layer.

use super::budget::Budget;
use super::bytes::{At, half};
use super::crate_file::Crate;
use super::damaged;
use super::layer::{Name, Numbers, Value};
use super::packed;
use crate::contents::ReadError;

/// Types of values by number, those that are read.
pub(super) mod kind {
    pub const HALF: u8 = 7;
    pub const FLOAT: u8 = 8;
    pub const DOUBLE: u8 = 9;
    pub const STRING: u8 = 10;
    pub const TOKEN: u8 = 11;
    pub const ASSET: u8 = 12;
    pub const PATH_LIST: u8 = 34;
    pub const REFERENCE_LIST: u8 = 35;
    pub const PATHS: u8 = 40;
    pub const TOKENS: u8 = 41;
    pub const VARIANT_SELECTIONS: u8 = 45;
    pub const TIME_SAMPLES: u8 = 46;
    pub const PAYLOAD: u8 = 47;
    pub const DOUBLES: u8 = 48;
    pub const LAYER_OFFSETS: u8 = 49;
    pub const STRINGS: u8 = 50;
    pub const PAYLOAD_LIST: u8 = 55;
    pub const TIME_CODE: u8 = 56;
}

/// What a value is and where it stands, or the value itself.
#[derive(Clone, Copy)]
pub(super) struct Rep(pub u64);

impl Rep {
    pub fn kind(self) -> u8 {
        (self.0 >> 48) as u8
    }

    pub fn payload(self) -> u64 {
        self.0 & ((1u64 << 48) - 1)
    }

    pub fn is_inlined(self) -> bool {
        self.0 >> 62 & 1 == 1
    }

    fn is_array(self) -> bool {
        self.0 >> 63 == 1
    }

    fn is_packed(self) -> bool {
        self.0 >> 61 & 1 == 1
    }
}

/// How a number is stored.
#[derive(Clone, Copy, PartialEq)]
enum Number {
    U8,
    I32,
    U32,
    I64,
    U64,
    Half,
    Float,
    Double,
}

impl Number {
    fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::Half => 2,
            Self::I32 | Self::U32 | Self::Float => 4,
            Self::I64 | Self::U64 | Self::Double => 8,
        }
    }

    fn read(self, bytes: &[u8]) -> f64 {
        let four = || [bytes[0], bytes[1], bytes[2], bytes[3]];
        let eight = || [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]];
        match self {
            Self::U8 => f64::from(bytes[0]),
            Self::Half => half(u16::from_le_bytes([bytes[0], bytes[1]])),
            Self::I32 => f64::from(i32::from_le_bytes(four())),
            Self::U32 => f64::from(u32::from_le_bytes(four())),
            Self::Float => f64::from(f32::from_le_bytes(four())),
            Self::I64 => i64::from_le_bytes(eight()) as f64,
            Self::U64 => u64::from_le_bytes(eight()) as f64,
            Self::Double => f64::from_le_bytes(eight()),
        }
    }
}

/// How the elements of a type are stored, and how many numbers each has.
fn layout(kind: u8) -> Option<(Number, usize)> {
    use Number::{Double, Float, Half, I32, I64, U8, U32, U64};
    Some(match kind {
        1 | 2 => (U8, 1),
        3 => (I32, 1),
        4 => (U32, 1),
        5 => (I64, 1),
        6 => (U64, 1),
        kind::HALF => (Half, 1),
        kind::FLOAT => (Float, 1),
        kind::DOUBLE | kind::TIME_CODE => (Double, 1),
        13 => (Double, 4),
        14 => (Double, 9),
        15 => (Double, 16),
        16 => (Double, 4),
        17 => (Float, 4),
        18 => (Half, 4),
        19 | 23 | 27 => (Double, 2 + (kind as usize - 19) / 4),
        20 | 24 | 28 => (Float, 2 + (kind as usize - 20) / 4),
        21 | 25 | 29 => (Half, 2 + (kind as usize - 21) / 4),
        22 | 26 | 30 => (I32, 2 + (kind as usize - 22) / 4),
        _ => return None,
    })
}

/// Reads a value; one of a type that no attribute here has stands for none.
pub(super) fn read(file: &Crate, rep: Rep, budget: &Budget) -> Result<Value, ReadError> {
    let Some((number, width)) = layout(rep.kind()) else { return words(file, rep, budget) };
    let mut values = match rep.is_array() {
        true => array(file, rep, number, width, budget)?,
        false => single(file, rep, number, width)?,
    };
    if (16..=18).contains(&rep.kind()) {
        // Stored as x, y, z, w.
        values.as_chunks_mut::<4>().0.iter_mut().for_each(|quaternion| quaternion.rotate_right(1));
    }
    Ok(Value::Numbers(Numbers { width, values }))
}

fn single(file: &Crate, rep: Rep, number: Number, width: usize) -> Result<Vec<f64>, ReadError> {
    if !rep.is_inlined() {
        let bytes = At::new(&file.bytes, rep.payload()).take(number.size() * width)?;
        return Ok(bytes.chunks_exact(number.size()).map(|bytes| number.read(bytes)).collect());
    }
    let payload = (rep.payload() as u32).to_le_bytes();
    let small = |at: usize| f64::from(payload[at] as i8);
    Ok(match (number, width) {
        (Number::U8 | Number::Half | Number::I32 | Number::U32 | Number::Float, 1) => vec![number.read(&payload)],
        (Number::I64, 1) => vec![Number::I32.read(&payload)],
        (Number::U64, 1) => vec![Number::U32.read(&payload)],
        (Number::Double, 1) => vec![Number::Float.read(&payload)],
        (_, 2..=4) if !matches!(rep.kind(), 13 | 16..=18) => (0..width).map(small).collect(),
        // A matrix that is nothing off its diagonal.
        (Number::Double, 4 | 9 | 16) if rep.kind() <= 15 => {
            let side = width.isqrt();
            (0..width).map(|at| if at % (side + 1) == 0 { small(at / (side + 1)) } else { 0.0 }).collect()
        }
        _ => return Err(damaged(format!("a value of type {} cannot stand in its own place", rep.kind()))),
    })
}

fn array(file: &Crate, rep: Rep, number: Number, width: usize, budget: &Budget) -> Result<Vec<f64>, ReadError> {
    /// Shorter arrays are not packed.
    const FEWEST_PACKED: usize = 16;
    if rep.payload() == 0 || rep.is_inlined() {
        return Ok(Vec::new());
    }
    let mut at = At::new(&file.bytes, rep.payload());
    if file.version < [0, 5, 0] {
        at.u32()?; // the number of dimensions
    }
    let count = if file.version < [0, 7, 0] { at.u32()? as usize } else { at.u64()? as usize };
    let is_packed = rep.is_packed() && count >= FEWEST_PACKED && width == 1;
    if !is_packed {
        let total = count.checked_mul(width).and_then(|total| total.checked_mul(number.size()));
        let bytes = at.take(total.ok_or_else(|| damaged(format!("{count} elements are promised")))?)?;
        budget.charge((bytes.len() / number.size()).saturating_mul(8))?;
        return Ok(bytes.chunks_exact(number.size()).map(|bytes| number.read(bytes)).collect());
    }
    let floats = |values: Vec<i32>| values.into_iter().map(f64::from).collect::<Vec<f64>>();
    match number {
        Number::I32 => Ok(floats(packed::integers(at.sized()?, count, budget)?)),
        Number::U32 => {
            let values = packed::integers(at.sized()?, count, budget)?;
            Ok(values.into_iter().map(|value| f64::from(value as u32)).collect())
        }
        Number::I64 | Number::U64 => {
            let values = packed::wide_integers(at.sized()?, count, budget)?;
            Ok(values
                .into_iter()
                .map(|value| if number == Number::U64 { value as u64 as f64 } else { value as f64 })
                .collect())
        }
        Number::Half | Number::Float | Number::Double => match at.u8()? {
            b'i' => Ok(floats(packed::integers(at.sized()?, count, budget)?)),
            b't' => {
                let size = at.u32()? as usize;
                let table = at.take(size.saturating_mul(number.size()))?;
                let places = packed::integers(at.sized()?, count, budget)?;
                let look = |place: i32| {
                    let from = (place as u32 as usize).checked_mul(number.size())?;
                    table.get(from..from + number.size()).map(|bytes| number.read(bytes))
                };
                let found: Option<Vec<f64>> = places.into_iter().map(look).collect();
                found.ok_or_else(|| damaged("an array names a value beyond its table"))
            }
            other => Err(damaged(format!("numbers are packed in an unknown way, {other}"))),
        },
        Number::U8 => Err(damaged("bytes are packed")),
    }
}

fn words(file: &Crate, rep: Rep, budget: &Budget) -> Result<Value, ReadError> {
    let of = |kind: u8, at: u32| -> Result<Name, ReadError> {
        // Arrays of strings name strings; everything else names tokens.
        let found = if matches!(kind, kind::STRING | kind::STRINGS) { file.string(at) } else { file.token(at) };
        found.map(Name::clone)
    };
    let kind = rep.kind();
    Ok(match kind {
        kind::STRING | kind::TOKEN | kind::ASSET if !rep.is_array() => {
            let at = match rep.is_inlined() {
                true => rep.payload() as u32,
                false => At::new(&file.bytes, rep.payload()).u32()?,
            };
            Value::Words(vec![of(kind, at)?])
        }
        kind::STRING | kind::TOKEN | kind::ASSET | kind::TOKENS | kind::STRINGS => {
            if rep.payload() == 0 || rep.is_inlined() {
                return Ok(Value::Words(Vec::new()));
            }
            let mut at = At::new(&file.bytes, rep.payload());
            if rep.is_array() && file.version < [0, 5, 0] {
                at.u32()?;
            }
            let count = match rep.is_array() && file.version < [0, 7, 0] {
                true => at.u32()? as usize,
                false => at.u64()? as usize,
            };
            let bytes = at.take(count.checked_mul(4).ok_or_else(|| damaged(format!("{count} words are promised")))?)?;
            budget.charge(16 * count)?;
            let words = bytes.as_chunks::<4>().0.iter().map(|at| of(kind, u32::from_le_bytes(*at)));
            Value::Words(words.collect::<Result<_, _>>()?)
        }
        kind::DOUBLES => {
            if rep.is_inlined() {
                return Ok(Value::Numbers(Numbers { width: 1, values: Vec::new() }));
            }
            let mut at = At::new(&file.bytes, rep.payload());
            let count = at.count(8)?;
            budget.charge(8 * count)?;
            Value::Numbers(Numbers { width: 1, values: (0..count).map(|_| at.f64()).collect::<Result<_, _>>()? })
        }
        _ => Value::Blocked,
    })
}
