//! C3D: a header of 512 bytes, parameters in named groups, then places frame by frame.
//!
//! Numbers are 16-bit integers, scaled, or 32-bit floats; of little-endian machines, of big-endian ones, or of DEC's, whose floats have their two
//! halves exchanged and an exponent that is two larger. Each point is x, y, z and a word for its residual, which is negative where the marker was not
//! seen. Analog channels stand between the frames and are skipped.
//!
//! Source: the C3D file format, user guide (c3d.org).

use super::{MarkerTake, TakeSpace, damaged, metres, ours};
use crate::contents::Flaw;
use crate::flaws::{Flaws, make_unique, short};
use crate::{ReadError, UpAxis};
use dermis_rig::glam::DVec3;
use std::collections::HashMap;

/// Size of a block.
const BLOCK: usize = 512;

/// The machine whose numbers a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Processor {
    Intel,
    Dec,
    Mips,
}

impl Processor {
    fn integer(self, bytes: &[u8], at: usize) -> Option<u16> {
        let pair = [*bytes.get(at)?, *bytes.get(at + 1)?];
        Some(if self == Self::Mips { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) })
    }

    fn float(self, bytes: &[u8], at: usize) -> Option<f64> {
        let b = [*bytes.get(at)?, *bytes.get(at + 1)?, *bytes.get(at + 2)?, *bytes.get(at + 3)?];
        Some(match self {
            Self::Intel => f64::from(f32::from_le_bytes(b)),
            Self::Mips => f64::from(f32::from_be_bytes(b)),
            // The word with sign and exponent stands first; 2^(e−128) 0.1m is a quarter of 2^(e−127) 1.m.
            Self::Dec => f64::from(f32::from_le_bytes([b[2], b[3], b[0], b[1]])) / 4.0,
        })
    }
}

pub(super) fn read(bytes: &[u8], space: &TakeSpace) -> Result<MarkerTake, ReadError> {
    if bytes.len() < BLOCK {
        return Err(damaged(format!("the header is cut short: {} of {BLOCK} bytes", bytes.len())));
    }
    let start = (usize::from(bytes[0]).max(1) - 1) * BLOCK;
    let mark = *bytes.get(start + 3).ok_or_else(|| damaged("the parameters begin beyond the end of the file"))?;
    let processor = match mark {
        84 => Processor::Intel,
        85 => Processor::Dec,
        86 => Processor::Mips,
        other => return Err(damaged(format!("its processor is {other}, not 84 (Intel), 85 (DEC) or 86 (MIPS)"))),
    };
    let mut flaws = Flaws::default();
    let parameters = Parameters::read(bytes, start, processor, &mut flaws);
    let word = |number: usize| usize::from(processor.integer(bytes, 2 * (number - 1)).unwrap_or(0));
    let float = |number: usize| processor.float(bytes, 2 * (number - 1)).unwrap_or(0.0);
    let points = parameters.integer("POINT:USED").unwrap_or(word(2));
    let scale = parameters.float("POINT:SCALE").filter(|scale| *scale != 0.0).unwrap_or(float(7));
    let rate = parameters.float("POINT:RATE").filter(|rate| *rate > 0.0).unwrap_or(float(11));
    let block = parameters.integer("POINT:DATA_START").filter(|block| *block > 0).unwrap_or(word(9));
    if !(scale.is_finite() && scale != 0.0 && rate.is_finite() && rate > 0.0 && rate < 1e9) {
        return Err(damaged(format!("its scale is {scale} and its rate {rate}")));
    }
    if points == 0 {
        return Err(damaged("it has no markers"));
    }
    let is_float = scale < 0.0;
    let number = if is_float { 4 } else { 2 };
    if word(3) > 0 {
        flaws.unread(&format!("{} analog samples per frame", word(3)));
    }
    let stride = (4 * points + word(3)) * number;
    let data = bytes.get(block.max(1).saturating_sub(1) * BLOCK..).unwrap_or_default();
    let stated = frames_stated(&parameters, (word(4), word(5)));
    let found = (data.len() / stride).min(stated);
    if found < stated {
        flaws.add(Flaw::CountMismatch, || format!("{stated} frames are stated, {found} are whole"));
    }
    let unit = parameters.text("POINT:UNITS").and_then(|unit| metres(&unit));
    if unit.is_none() && space.metres_per_unit.is_none() {
        flaws.add(Flaw::UnknownSpace, || "the unit of its places; millimetres are assumed".into());
    }
    let metres_per_unit = space.metres_per_unit.or(unit).unwrap_or(1e-3);
    let up = space.up.unwrap_or(UpAxis::Z);
    let mut names = parameters.labels(points);
    make_unique(&mut names, &mut flaws);
    let mut frames = Vec::with_capacity(found);
    for frame in 0..found {
        let row = &data[frame * stride..(frame + 1) * stride];
        let read = |at: usize| match is_float {
            true => processor.float(row, 4 * at),
            false => processor.integer(row, 2 * at).map(|word| f64::from(word as i16) * scale),
        };
        let place = |point: usize| {
            let residual = match is_float {
                true => processor.float(row, 16 * point + 12)?,
                false => f64::from(processor.integer(row, 8 * point + 6)? as i16),
            };
            let place = DVec3::new(read(4 * point)?, read(4 * point + 1)?, read(4 * point + 2)?);
            let place = ours(place, up, metres_per_unit);
            (residual >= 0.0 && place.is_finite() && place.length() < 1e9).then_some(place)
        };
        frames.push((0..points).map(place).collect());
    }
    let (unread, warnings) = (flaws.unread, flaws.warnings);
    Ok(MarkerTake { names, rate, is_timed: true, frames, up, metres_per_unit, unread, warnings })
}

/// Frames of the file: those of the header, which ends at 65535; files with more say it in TRIAL or POINT.
fn frames_stated(parameters: &Parameters, (first, last): (usize, usize)) -> usize {
    let long = |name: &str| {
        let words = parameters.integers(name);
        (words.len() >= 2).then(|| words[0] + 65536 * words[1])
    };
    if let (Some(first), Some(last)) = (long("TRIAL:ACTUAL_START_FIELD"), long("TRIAL:ACTUAL_END_FIELD"))
        && last >= first
    {
        return last - first + 1;
    }
    match last >= first {
        true if last < 65535 => last - first + 1,
        _ => parameters.float("POINT:FRAMES").filter(|frames| *frames >= 1.0).map_or(0, |frames| frames as usize),
    }
}

/// Parameters by "GROUP:NAME", in upper case.
struct Parameters {
    values: HashMap<String, Value>,
}

struct Value {
    kind: i8,
    dims: Vec<usize>,
    floats: Vec<f64>,
    bytes: Vec<u8>,
}

impl Parameters {
    /// Reads the section; what is damaged ends it, with a count.
    fn read(bytes: &[u8], start: usize, processor: Processor, flaws: &mut Flaws) -> Self {
        let mut groups: HashMap<i8, String> = HashMap::new();
        let mut found: Vec<(i8, String, Value)> = Vec::new();
        let mut at = start + 4;
        // Each entry takes four bytes at least, and its pointer leads on.
        while let Some((next, entry)) = entry(bytes, at, processor) {
            match entry {
                Entry::End => break,
                Entry::Group(id, name) => drop(groups.insert(id, name)),
                Entry::Parameter(id, name, value) => found.push((id, name, value)),
            }
            match next {
                Some(next) if next > at => at = next,
                Some(_) => {
                    flaws.add(Flaw::Repaired, || "a parameter that points backwards".into());
                    break;
                }
                None => break,
            }
        }
        let group = |id: i8| groups.get(&id).cloned().unwrap_or_default();
        let values = found.into_iter().map(|(id, name, value)| (format!("{}:{name}", group(id)), value)).collect();
        Self { values }
    }

    fn integers(&self, name: &str) -> Vec<usize> {
        let value = self.values.get(name).filter(|value| value.kind == 2 || value.kind == 1);
        // Files write counts beyond 32767 into the sign bit.
        value.map(|value| value.floats.iter().map(|x| *x as i64 as u16 as usize).collect()).unwrap_or_default()
    }

    fn integer(&self, name: &str) -> Option<usize> {
        self.integers(name).first().copied()
    }

    fn float(&self, name: &str) -> Option<f64> {
        self.values.get(name)?.floats.first().copied()
    }

    fn text(&self, name: &str) -> Option<String> {
        let value = self.values.get(name).filter(|value| value.kind == -1)?;
        let width = value.dims.first().copied().unwrap_or(1).min(value.bytes.len());
        Some(String::from_utf8_lossy(&value.bytes[..width]).trim().to_owned())
    }

    /// POINT:LABELS, and LABELS2 and so on, which files with more than 255 markers have; numbers for what is missing.
    fn labels(&self, points: usize) -> Vec<String> {
        let mut names = Vec::with_capacity(points);
        for number in 1..=points.div_ceil(255).max(1) {
            let name = if number == 1 { "POINT:LABELS".to_owned() } else { format!("POINT:LABELS{number}") };
            let Some(value) = self.values.get(&name).filter(|value| value.kind == -1) else { break };
            let width = value.dims.first().copied().unwrap_or(0).max(1);
            names.extend(
                value.bytes.chunks(width).map(|text| short(String::from_utf8_lossy(text).trim_matches(['\0', ' ']))),
            );
        }
        names.truncate(points);
        for (at, name) in names.iter_mut().enumerate().filter(|(_, name)| name.is_empty()) {
            *name = format!("marker {at}");
        }
        names.extend((names.len()..points).map(|at| format!("marker {at}")));
        names
    }
}

enum Entry {
    End,
    Group(i8, String),
    Parameter(i8, String, Value),
}

/// The entry at a place, and where the next one is; `None` past the end.
fn entry(bytes: &[u8], at: usize, processor: Processor) -> Option<(Option<usize>, Entry)> {
    let length = usize::from((*bytes.get(at)? as i8).unsigned_abs());
    let id = *bytes.get(at + 1)? as i8;
    if length == 0 || id == 0 {
        return Some((None, Entry::End));
    }
    let name = String::from_utf8_lossy(bytes.get(at + 2..at + 2 + length)?).trim().to_ascii_uppercase();
    let pointer = at + 2 + length;
    let offset = usize::from(processor.integer(bytes, pointer)?);
    let next = (offset > 0).then_some(pointer + offset);
    if id < 0 {
        return Some((next, Entry::Group(id.checked_neg()?, name)));
    }
    let kind = *bytes.get(pointer + 2)? as i8;
    let rank = usize::from(*bytes.get(pointer + 3)?);
    let dims: Vec<usize> = bytes.get(pointer + 4..pointer + 4 + rank)?.iter().map(|d| usize::from(*d)).collect();
    let size = usize::from(kind.unsigned_abs());
    let count = dims.iter().try_fold(1_usize, |count, d| count.checked_mul(*d))?;
    let data = pointer + 4 + rank;
    let values = bytes.get(data..data.checked_add(count.checked_mul(size)?)?)?;
    let number = |at: usize| match kind {
        1 => values.get(at).map(|byte| f64::from(*byte)),
        2 => processor.integer(values, 2 * at).map(|word| f64::from(word as i16)),
        4 => processor.float(values, 4 * at),
        _ => None,
    };
    let floats = if kind > 0 { (0..count).map_while(number).collect() } else { Vec::new() };
    let value = Value { kind, dims, floats, bytes: if kind == -1 { values.to_vec() } else { Vec::new() } };
    Some((next, Entry::Parameter(id, name, value)))
}
