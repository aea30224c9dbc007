//! Attribute streams: rows of bytes as differences from row to row, each byte of the row in a plane of its own.
//!
//! Rows come in blocks of 256 at most, and a plane of a block in groups of sixteen bytes. A group is stored with as few bits per byte as
//! suit it; a code with all bits set says that the byte itself follows.

use super::{Damage, Rest, SHORT};

const GROUP: usize = 16;
/// The most rows of a block.
const MOST_ROWS: usize = 256;
/// The most bytes of a block, unfolded.
const BLOCK_BYTES: usize = 8192;
/// The most bytes of a row.
const MOST_STRIDE: usize = 256;

/// The most bytes that one byte of a stream stands for: a block of 256 rows whose planes are zeros has a byte for every four of a row.
#[cfg(test)]
const MOST_UNFOLDED: usize = 1024;

/// Rows of a block.
fn block_rows(stride: usize) -> usize {
    (BLOCK_BYTES / stride / GROUP * GROUP).min(MOST_ROWS)
}

/// Whether rows may have `stride` bytes.
pub fn is_stride(stride: usize) -> bool {
    stride > 0 && stride <= MOST_STRIDE && stride.is_multiple_of(4)
}

/// How four bytes of a row are found from those of the row before.
#[derive(Clone, Copy)]
enum Channel {
    /// Each byte plus its difference.
    Bytes,
    /// Each two bytes plus their difference.
    Words,
    /// Exclusive or with the difference, rotated to the right by so many bits.
    Bits(u32),
}

/// Unfolds a stream of version 0 or 1 into `count` rows of `stride` bytes.
///
/// The caller bounds `count × stride`, for which memory is allocated.
///
/// # Errors
/// What is wrong with the stream, or with `stride` ([`is_stride`]).
pub fn decode(stream: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, Damage> {
    if !is_stride(stride) {
        return Err("its rows have no multiple of four bytes, or more than 256");
    }
    let (header, body) = stream.split_first().ok_or(SHORT)?;
    let (channels, least_tail) = match header {
        0xa0 => (0, 32),
        0xa1 => (stride / 4, 24),
        _ => return Err("it is no stream of attributes of version 0 or 1"),
    };
    let tail = stride + channels;
    let (body, padded) = body.split_at_checked(body.len().wrapping_sub(tail.max(least_tail))).ok_or(SHORT)?;
    let (first, modes) = padded[padded.len() - tail..].split_at(stride);
    let mut modes: Vec<Channel> = modes.iter().map(|&mode| channel(mode)).collect::<Result<_, _>>()?;
    let is_first_version = modes.is_empty();
    modes.resize(stride / 4, Channel::Bytes);
    let mut last = first.to_vec();
    let mut rest = Rest(body);
    let mut planes = vec![0; stride * MOST_ROWS];
    // A stream that is too short for its rows is found before they are.
    let mut rows = Vec::new();
    let mut left = count;
    while left > 0 {
        let here = left.min(block_rows(stride));
        let controls = rest.take(if is_first_version { 0 } else { stride / 4 })?;
        for (byte, plane) in planes.chunks_exact_mut(MOST_ROWS).enumerate() {
            let widths = match controls.get(byte / 4).map(|control| control >> (byte % 4 * 2) & 3) {
                None => [0, 2, 4, 8],
                Some(0) => [0, 1, 2, 4],
                Some(1) => [1, 2, 4, 8],
                Some(2) => {
                    plane.fill(0);
                    continue;
                }
                Some(_) => {
                    plane[..here].copy_from_slice(rest.take(here)?);
                    continue;
                }
            };
            let groups = here.div_ceil(GROUP);
            let header = rest.take(groups.div_ceil(4))?;
            for (number, group) in plane.chunks_exact_mut(GROUP).take(groups).enumerate() {
                let width = widths[usize::from(header[number / 4] >> (number % 4 * 2) & 3)];
                decode_group(&mut rest, width, group)?;
            }
        }
        rows.reserve(here * stride);
        for row in 0..here {
            for (channel, (mode, last)) in modes.iter().zip(last.as_chunks_mut::<4>().0).enumerate() {
                let change = [0, 1, 2, 3].map(|byte| planes[(4 * channel + byte) * MOST_ROWS + row]);
                step(*mode, last, change);
            }
            rows.extend_from_slice(&last);
        }
        left -= here;
    }
    rest.end()?;
    Ok(rows)
}

fn channel(mode: u8) -> Result<Channel, Damage> {
    match (mode & 15, mode >> 4) {
        (0, 0) => Ok(Channel::Bytes),
        (1, 0) => Ok(Channel::Words),
        (2, turn) => Ok(Channel::Bits(u32::from(turn))),
        _ => Err("it has an unknown kind of differences"),
    }
}

/// Sixteen bytes with codes of `width` bits.
fn decode_group(rest: &mut Rest<'_>, width: usize, group: &mut [u8]) -> Result<(), Damage> {
    match width {
        0 => group.fill(0),
        8 => group.copy_from_slice(rest.take(GROUP)?),
        _ => {
            let codes = rest.take(GROUP * width / 8)?;
            let sentinel = (1 << width) - 1;
            for (at, byte) in group.iter_mut().enumerate() {
                let bit = at * width;
                // Codes of one bit stand from the least significant to the most significant, others the other way round.
                let shift = if width == 1 { bit % 8 } else { 8 - width - bit % 8 };
                let code = codes[bit / 8] >> shift & sentinel;
                *byte = if code == sentinel { rest.byte()? } else { code };
            }
        }
    }
    Ok(())
}

/// The four bytes of a row after those `last` of the row before.
fn step(mode: Channel, last: &mut [u8; 4], change: [u8; 4]) {
    match mode {
        Channel::Bytes => {
            for (last, code) in last.iter_mut().zip(change) {
                *last = last.wrapping_add((code >> 1) ^ 0u8.wrapping_sub(code & 1));
            }
        }
        Channel::Words => {
            for (last, code) in last.as_chunks_mut::<2>().0.iter_mut().zip(change.as_chunks::<2>().0) {
                let code = u16::from_le_bytes(*code);
                let difference = (code >> 1) ^ 0u16.wrapping_sub(code & 1);
                *last = u16::from_le_bytes(*last).wrapping_add(difference).to_le_bytes();
            }
        }
        Channel::Bits(turn) => {
            let bits = u32::from_le_bytes(change).rotate_right(turn);
            *last = (u32::from_le_bytes(*last) ^ bits).to_le_bytes();
        }
    }
}

/// Folds rows of `stride` bytes into a stream of version 0, which every reader of either extension knows.
///
/// # Errors
/// If `stride` is none ([`is_stride`]) or does not divide the number of bytes.
pub fn encode(rows: &[u8], stride: usize) -> Result<Vec<u8>, Damage> {
    if !is_stride(stride) || !rows.len().is_multiple_of(stride) {
        return Err("its rows have no multiple of four bytes, or more than 256");
    }
    let mut stream = vec![0xa0];
    let first: Vec<u8> = rows.iter().copied().chain(std::iter::repeat(0)).take(stride).collect();
    let mut last = first.clone();
    let mut plane = [0; MOST_ROWS];
    for block in rows.chunks(block_rows(stride) * stride) {
        let here = block.len() / stride;
        let groups = here.div_ceil(GROUP);
        for (byte, last) in last.iter_mut().enumerate() {
            plane.fill(0);
            for (row, code) in block.chunks_exact(stride).zip(&mut plane) {
                let difference = row[byte].wrapping_sub(*last);
                *code = (difference << 1) ^ (((difference as i8) >> 7) as u8);
                *last = row[byte];
            }
            let header = stream.len();
            stream.resize(header + groups.div_ceil(4), 0);
            for (number, group) in plane.as_chunks::<GROUP>().0.iter().take(groups).enumerate() {
                let mode = encode_group(group, &mut stream);
                stream[header + number / 4] |= mode << (number % 4 * 2);
            }
        }
    }
    stream.resize(stream.len() + 32usize.saturating_sub(stride), 0);
    stream.extend(first);
    Ok(stream)
}

/// Appends sixteen bytes in as few as possible; the number of the way in which they stand.
fn encode_group(group: &[u8; GROUP], stream: &mut Vec<u8>) -> u8 {
    if *group == [0; GROUP] {
        return 0;
    }
    let beyond = |width: usize| group.iter().filter(|&&byte| usize::from(byte) >= (1 << width) - 1).count();
    let size = |width: usize| GROUP * width / 8 + beyond(width);
    let width = if size(2) <= size(4) { 2 } else { 4 };
    if size(width) >= GROUP {
        stream.extend(group);
        return 3;
    }
    let sentinel = (1u8 << width) - 1;
    for codes in group.chunks_exact(8 / width) {
        stream.push(codes.iter().fold(0, |packed, &byte| packed << width | byte.min(sentinel)));
    }
    stream.extend(group.iter().filter(|&&byte| byte >= sentinel));
    width as u8 / 2
}

#[cfg(test)]
mod tests {
    use super::super::super::stream::LONG;
    use super::*;

    /// The example of the specification: one plane of sixteen differences in codes of four bits.
    #[test]
    fn the_codes_of_the_specification_are_read() {
        let codes = [0x17, 0x5f, 0xf0, 0xbc, 0x77, 0xa9, 0x21, 0x00, 0x34, 0xb5];
        let mut group = [0; GROUP];
        let mut rest = Rest(&codes);
        decode_group(&mut rest, 4, &mut group).unwrap();
        rest.end().unwrap();
        let signed = group.map(|code| super::super::signed(u32::from(code)) as i32);
        assert_eq!(signed, [-1, -4, -3, 26, -91, 0, -6, 6, -4, -4, 5, -5, 1, -1, 0, 0]);
        // And written in as many bytes.
        let mut stream = Vec::new();
        assert_eq!(encode_group(&group, &mut stream), 2);
        assert_eq!(stream, codes);
    }

    /// Rows of every kind of group, and of every number around the sizes of groups and blocks.
    #[test]
    fn rows_come_back() {
        for stride in [4, 8, 12, 16, 36, 64, 252, 256] {
            for count in [0, 1, 2, 15, 16, 17, block_rows(stride) - 1, block_rows(stride), block_rows(stride) + 1, 600]
            {
                for spread in [0, 1, 3, 9, 97] {
                    let byte = |at: usize| ((at * at * 31 / 7 + at) * spread / 16) as u8;
                    let rows: Vec<u8> = (0..count * stride).map(byte).collect();
                    let stream = encode(&rows, stride).unwrap();
                    assert_eq!(decode(&stream, count, stride).unwrap(), rows, "{count} rows of {stride}");
                    assert!(decode(&stream, count + MOST_ROWS, stride).is_err());
                    assert!(count == 0 || decode(&stream[..stream.len() - 1], count, stride).is_err());
                }
            }
        }
    }

    /// Every kind of plane and of differences of the second version, by hand: one row after a first one of zeros.
    #[test]
    fn the_second_version_is_read() {
        use super::super::signed;
        // Planes 0 to 3: groups of the narrower codes, of the wider ones, zeros, bytes as they are.
        let controls = 1 << 2 | 2 << 4 | 3 << 6;
        let change = [0xf9u8, 2, 0, 0x24];
        let word = |low, high| (signed(u32::from(u16::from_le_bytes([low, high]))) as u16).to_le_bytes();
        for (mode, row) in [
            (0, change.map(|code| signed(u32::from(code)) as u8)),
            (1, [word(0xf9, 2), word(0, 0x24)].concat().try_into().unwrap()),
            (0x42, u32::from_le_bytes(change).rotate_right(4).to_le_bytes()),
        ] {
            let mut stream = vec![0xa1, controls];
            // One group of one bit each, of which the first says that a byte follows; twice.
            stream.extend([0b01, 1, 0, 0xf9]);
            stream.extend([0b00, 1, 0, 2]);
            stream.push(0x24);
            stream.extend([0; 19]);
            stream.extend([0, 0, 0, 0, mode]);
            assert_eq!(decode(&stream, 1, 4).unwrap(), row);
            for end in 0..stream.len() {
                assert!(decode(&stream[..end], 1, 4).is_err(), "{end}");
            }
        }
        assert!(decode(&[&[0xa1u8][..], &[0; 23], &[3]].concat(), 0, 4).is_err(), "no such differences");
    }

    #[test]
    fn zeros_unfold_as_far_as_is_said() {
        let (stride, count) = (64, 10 * block_rows(64));
        let blocks = vec![0b10_10_10_10; 10 * stride / 4];
        let stream = [&[0xa1u8][..], &blocks, &vec![0; stride + stride / 4]].concat();
        assert_eq!(decode(&stream, count, stride).unwrap().len(), count * stride);
        assert!(count * stride <= MOST_UNFOLDED * stream.len());
        assert_eq!(decode(&stream, usize::MAX, stride), Err(SHORT));
        assert_eq!(decode(&stream, count - block_rows(64), stride), Err(LONG));
    }
}
