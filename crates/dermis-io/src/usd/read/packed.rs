//! Packed bytes and integers of binary layers.
//!
//! Source: OpenUSD, `pxr/base/tf/fastCompression.cpp` and `pxr/usd/sdf/integerCoding.cpp`.

use super::budget::Budget;
use super::damaged;
use crate::contents::ReadError;

/// What a byte of an LZ4 block can stand for at most.
const LZ4_LIMIT: usize = 255;

/// Unpacks at most `most` bytes: LZ4 blocks behind their number.
pub(super) fn bytes(packed: &[u8], most: usize, budget: &Budget) -> Result<Vec<u8>, ReadError> {
    let Some((&chunks, mut rest)) = packed.split_first() else { return Err(damaged("packed bytes are missing")) };
    let most = most.min(packed.len().saturating_mul(LZ4_LIMIT).saturating_add(64));
    budget.charge(most)?;
    let mut made = vec![0; most];
    let unpack = |block: &[u8], out: &mut [u8]| {
        lz4_flex::block::decompress_into(block, out).map_err(|error| damaged(format!("packed bytes: {error}")))
    };
    let mut length = 0;
    match chunks {
        0 => length = unpack(rest, &mut made)?,
        _ => {
            for _ in 0..chunks {
                let short = || damaged("packed bytes end early");
                let (size, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
                let size = usize::try_from(i32::from_le_bytes(*size)).map_err(|_| short())?;
                let (block, after) = after.split_at_checked(size).ok_or_else(short)?;
                length += unpack(block, &mut made[length..])?;
                rest = after;
            }
        }
    }
    made.truncate(length);
    Ok(made)
}

/// Unpacks `count` integers of 32 bits: differences of one to four bytes behind codes of two bits.
pub(super) fn integers(packed: &[u8], count: usize, budget: &Budget) -> Result<Vec<i32>, ReadError> {
    let wide = differences(packed, count, [1, 2, 4], budget)?;
    Ok(wide.into_iter().map(|value| value as i32).collect())
}

/// Unpacks `count` integers of 64 bits.
pub(super) fn wide_integers(packed: &[u8], count: usize, budget: &Budget) -> Result<Vec<i64>, ReadError> {
    differences(packed, count, [2, 4, 8], budget)
}

/// Sums of differences, each of which is the common one or has one of three `sizes`; sums wrap in the widest.
fn differences(packed: &[u8], count: usize, sizes: [usize; 3], budget: &Budget) -> Result<Vec<i64>, ReadError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let most = count.saturating_mul(sizes[2] + 1).saturating_add(16);
    // Four integers need a byte at least.
    if count / 4 > packed.len().saturating_mul(LZ4_LIMIT) {
        return Err(damaged(format!("{count} integers are promised in {} bytes", packed.len())));
    }
    let unpacked = bytes(packed, most, budget)?;
    budget.charge(count.saturating_mul(12))?;
    let short = || damaged("packed integers end early");
    let (common, rest) = unpacked.split_at_checked(sizes[2]).ok_or_else(short)?;
    let (codes, mut rest) = rest.split_at_checked(count.div_ceil(4)).ok_or_else(short)?;
    let common = signed(common);
    let mut made = Vec::with_capacity(count);
    let mut sum = 0i64;
    for at in 0..count {
        let difference = match codes[at / 4] >> (2 * (at % 4)) & 3 {
            0 => common,
            code => {
                let (own, after) = rest.split_at_checked(sizes[usize::from(code) - 1]).ok_or_else(short)?;
                rest = after;
                signed(own)
            }
        };
        sum = sum.wrapping_add(difference);
        if sizes[2] == 4 {
            sum = i64::from(sum as i32);
        }
        made.push(sum);
    }
    Ok(made)
}

/// A signed integer of up to eight bytes, the lowest first.
fn signed(bytes: &[u8]) -> i64 {
    let mut wide = [if bytes.last().is_some_and(|high| *high >= 0x80) { 0xff } else { 0 }; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    i64::from_le_bytes(wide)
}
