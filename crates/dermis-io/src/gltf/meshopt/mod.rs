//! The streams of `EXT_meshopt_compression` and `KHR_meshopt_compression`: buffer views in fewer bytes, whatever they hold.
//!
//! [`attributes`] compresses rows of bytes, [`indices`] triangles and other sequences of vertex numbers, and [`filters`] are what
//! readers apply to rows once they are unfolded. Streams are lossless; a filter may have lost something before.
//!
//! Source: Khronos Group, "`KHR_meshopt_compression`", appendices A and B, of which `EXT_meshopt_compression` is a part: the
//! first version of attribute streams, and no filter of colours.

mod attributes;
mod filters;
mod indices;

pub(super) use attributes::encode as encode_attributes;
pub(super) use indices::{encode_sequence, encode_triangles};

use super::stream::{Damage, Rest, SHORT, signed};
use filters::Filter;
use serde::Deserialize;

/// A buffer view that is compressed, as either extension describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Folded {
    pub buffer: u32,
    #[serde(default)]
    pub byte_offset: u64,
    pub byte_length: u64,
    pub byte_stride: u64,
    pub count: u64,
    mode: String,
    filter: Option<String>,
}

impl Folded {
    /// Bytes of the view when it is unfolded.
    pub fn unfolded(&self) -> Option<u64> {
        self.count.checked_mul(self.byte_stride)
    }

    /// Unfolds the view from its stream. The caller bounds [`Folded::unfolded`], for which memory is allocated.
    ///
    /// # Errors
    /// What is wrong with the stream, or with what is said of it.
    pub fn unfold(&self, stream: &[u8]) -> Result<Vec<u8>, Damage> {
        let too_many = "its size is beyond this machine";
        let count = usize::try_from(self.count).map_err(|_| too_many)?;
        let stride = usize::try_from(self.byte_stride).map_err(|_| too_many)?;
        let filter = Filter::new(self.filter.as_deref().unwrap_or("NONE")).ok_or("its filter is unknown")?;
        let numbers = match self.mode.as_str() {
            "ATTRIBUTES" => {
                let mut rows = attributes::decode(stream, count, stride)?;
                filter.apply(&mut rows, stride)?;
                return Ok(rows);
            }
            "TRIANGLES" => indices::decode_triangles(stream, count)?,
            "INDICES" => indices::decode_sequence(stream, count)?,
            _ => return Err("its mode is unknown"),
        };
        match stride {
            _ if filter != Filter::None => Err("it has a filter of other modes"),
            2 => Ok(numbers.iter().flat_map(|number| (*number as u16).to_le_bytes()).collect()),
            4 => Ok(numbers.iter().flat_map(|number| number.to_le_bytes()).collect()),
            _ => Err("its indices have neither two bytes nor four"),
        }
    }
}

/// Appends what [`Rest::varint`] reads.
fn push_varint(stream: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        stream.push(value as u8 | 0x80);
        value >>= 7;
    }
    stream.push(value as u8);
}

/// The zigzag code of a signed difference.
fn zigzag(difference: u32) -> u32 {
    (difference << 1) ^ (((difference as i32) >> 31) as u32)
}
