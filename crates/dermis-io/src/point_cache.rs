//! Point caches: the positions of every vertex in every frame, and nothing else.
//!
//! - PC2, little-endian: `POINTCACHE2\0`, version 1, points, first frame, frames per sample, samples; then positions.
//! - MDD, big-endian: frames, points; then a time in seconds per frame; then positions.
//!
//! Counts are 32-bit integers, everything else 32-bit floats. Neither format states axes or unit, so the caller does.

use crate::surface::{self, LeftOut};
use crate::{Contents, Fill, Flaw, Format, ReadError, Record, Space, Warning, WriteError};
use dermis_rig::glam::DVec3;
use std::io::Write;

/// Length of a PC2 header.
const PC2_HEADER: usize = 32;

/// Reads a PC2 file. Records are labelled with their frame number and have no time: the format has no frame rate.
///
/// # Errors
/// [`ReadError`] if the file is no PC2, ends early, or its header makes no sense; frames that are not finite are left
/// out and bytes after the last sample ignored, with a warning.
pub fn read_pc2(bytes: &[u8], name: &str, space: &Space) -> Result<Contents, ReadError> {
    const FORMAT: Format = Format::Pc2;
    let damaged = |reason: String| ReadError::Damaged { format: FORMAT, reason };
    if !bytes.starts_with(b"POINTCACHE2\0") {
        let reason = "it does not start with \"POINTCACHE2\"".into();
        return Err(ReadError::WrongKind { format: FORMAT, reason });
    }
    let Some((header, data)) = bytes.split_at_checked(PC2_HEADER) else {
        return Err(damaged(format!("the header is cut short: {} of {PC2_HEADER} bytes", bytes.len())));
    };
    let word = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
    let integer = |at: usize| i32::from_le_bytes(word(at));
    let float = |at: usize| f64::from(f32::from_le_bytes(word(at)));
    let (version, points, start, rate, samples) = (integer(12), integer(16), float(20), float(24), integer(28));
    if version != 1 {
        return Err(ReadError::Unsupported { feature: format!("version {version} of PC2") });
    }
    if !(start.is_finite() && rate.is_finite()) {
        return Err(damaged(format!("its first frame is {start} and its sampling {rate}")));
    }
    let (samples, points) = counts(FORMAT, samples, points)?;
    let length = frame_bytes(FORMAT, samples, points, data.len())?;
    let labels = (0..samples).map(|at| ((start + at as f64 * rate).to_string(), None));
    let mut contents = read_frames(FORMAT, name, space, labels, &data[..length], points, f32::from_le_bytes)?;
    let extra = data.len() - length;
    let surplus = (extra > 0).then(|| format!("{extra} bytes after the last of {samples} samples"));
    surface::count(&mut contents.warnings, Flaw::CountMismatch, surplus);
    Ok(contents)
}

/// Reads an MDD file. Records are labelled with their number and have the time that the file states, if times ascend; else they
/// have none, with a warning: a time that two frames share belongs to neither.
///
/// # Errors
/// [`ReadError`] if counts and length disagree: MDD has nothing else to be recognised by. Frames that are not finite are
/// left out, with a warning.
pub fn read_mdd(bytes: &[u8], name: &str, space: &Space) -> Result<Contents, ReadError> {
    const FORMAT: Format = Format::Mdd;
    let damaged = |reason: String| ReadError::Damaged { format: FORMAT, reason };
    let [f0, f1, f2, f3, p0, p1, p2, p3, data @ ..] = bytes else {
        return Err(damaged(format!("the header is cut short: {} of 8 bytes", bytes.len())));
    };
    let frames = i32::from_be_bytes([*f0, *f1, *f2, *f3]);
    let points = i32::from_be_bytes([*p0, *p1, *p2, *p3]);
    let (frames, points) = counts(FORMAT, frames, points)?;
    let Some((times, data)) = frames.checked_mul(4).and_then(|length| data.split_at_checked(length)) else {
        return Err(damaged(format!("{frames} frames are promised, but only {} bytes follow", data.len())));
    };
    let length = frame_bytes(FORMAT, frames, points, data.len())?;
    if data.len() != length {
        let (found, reason) = (data.len(), format!("{frames} frames of {points} points"));
        return Err(damaged(format!("{reason} take {length} bytes, but {found} follow")));
    }
    let times: Vec<f64> = floats(times, f32::from_be_bytes).collect();
    if let Some(frame) = times.iter().position(|t| !t.is_finite()) {
        return Err(damaged(format!("the time of frame {frame} is not finite")));
    }
    let falls = times.windows(2).position(|two| two[0] >= two[1]);
    let labels = times.iter().enumerate().map(|(at, time)| (at.to_string(), Some(*time).filter(|_| falls.is_none())));
    let mut contents = read_frames(FORMAT, name, space, labels, data, points, f32::from_be_bytes)?;
    if let Some(at) = falls {
        let first = match times.iter().all(|time| *time == times[0]) {
            true => format!("all {frames} are {} s", times[0]),
            false => format!("frame {} at {} s follows one at {} s", at + 1, times[at + 1], times[at]),
        };
        contents.warnings.push(Warning { flaw: Flaw::TimesLeftOut, count: frames, first: Some(first) });
    }
    Ok(contents)
}

/// Counts that can be: neither negative, nor frames without a point.
fn counts(format: Format, frames: i32, points: i32) -> Result<(usize, usize), ReadError> {
    let both = usize::try_from(frames).ok().zip(usize::try_from(points).ok());
    both.filter(|(_, points)| *points > 0).ok_or_else(|| ReadError::Damaged {
        format,
        reason: format!("its header promises {frames} frames of {points} points"),
    })
}

/// Bytes of all frames, if the file is long enough.
fn frame_bytes(format: Format, frames: usize, points: usize, found: usize) -> Result<usize, ReadError> {
    let length = frames.checked_mul(points).and_then(|n| n.checked_mul(12));
    length.filter(|length| *length <= found).ok_or_else(|| {
        let promised = 12 * frames as u128 * points as u128;
        let reason = format!("{frames} frames of {points} points take {promised} bytes, but only {found} follow");
        ReadError::Damaged { format, reason }
    })
}

fn floats(bytes: &[u8], float: fn([u8; 4]) -> f32) -> impl Iterator<Item = f64> {
    bytes.as_chunks::<4>().0.iter().map(move |word| f64::from(float(*word)))
}

fn read_frames(
    format: Format,
    name: &str,
    space: &Space,
    labels: impl Iterator<Item = (String, Option<f64>)>,
    data: &[u8],
    points: usize,
    float: fn([u8; 4]) -> f32,
) -> Result<Contents, ReadError> {
    space.check()?;
    let mut contents = Contents { name: name.into(), format, space: space.clone(), ..Contents::default() };
    let to_ours = space.to_ours();
    let mut left_out = LeftOut::default();
    for ((label, time), frame) in labels.zip(data.chunks_exact(points * 12)) {
        let numbers: Vec<f64> = floats(frame, float).collect();
        let positions: Vec<DVec3> =
            numbers.as_chunks::<3>().0.iter().map(|p| to_ours.transform_point3(DVec3::from(*p))).collect();
        match positions.iter().all(|p| p.is_finite()) {
            true => {
                left_out.keep();
                let positions = Some(positions);
                contents.records.push(Record { label, time, pose: None, positions, importance: 1.0, local: None });
            }
            false => left_out.leave(format!("frame {label}"), &positions),
        }
    }
    left_out.tell(&mut contents);
    Ok(contents)
}

/// Writes a PC2 file: frames from `start` on, one sample per frame.
///
/// # Errors
/// [`WriteError`]: no frame, frames of different size, more than 31 bits count, numbers not finite in 32 bits, a first frame whose number 32 bits
/// do not hold.
pub fn write_pc2(frames: &[&[DVec3]], start: f64, space: &Space, out: &mut dyn Write) -> Result<(), WriteError> {
    stream_pc2(frames.len(), start, space, &mut held(frames), out)
}

/// Writes a PC2 file of `count` frames that are not held. The bytes are those of [`write_pc2`].
///
/// # Errors
/// As [`write_pc2`], and those of `fill`.
pub fn stream_pc2(
    count: usize,
    start: f64,
    space: &Space,
    fill: Fill<'_>,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    /// From here on 32 bits leave whole numbers out.
    const WHOLE: f64 = 16_777_216.0;
    let stored = start as f32;
    if !stored.is_finite() {
        return Err(WriteError::NotFinite { what: "the first frame's number".into() });
    }
    if start.abs() > WHOLE && f64::from(stored) != start {
        let what = format!("{start} as the number of its first frame, which is {stored} in 32 bits");
        return Err(WriteError::CannotHold { format: Format::Pc2, what });
    }
    let head = |samples: i32, points: i32| {
        let mut bytes = b"POINTCACHE2\0".to_vec();
        bytes.extend(1i32.to_le_bytes());
        bytes.extend(points.to_le_bytes());
        bytes.extend(stored.to_le_bytes());
        bytes.extend(1f32.to_le_bytes());
        bytes.extend(samples.to_le_bytes());
        bytes
    };
    stream(Format::Pc2, count, space, f32::to_le_bytes, head, fill, out)
}

/// Writes an MDD file: one frame per time, in seconds.
///
/// # Errors
/// As [`write_pc2`]; and if there is not one time per frame, or two times that ascend are one in 32 bits.
pub fn write_mdd(frames: &[&[DVec3]], times: &[f64], space: &Space, out: &mut dyn Write) -> Result<(), WriteError> {
    if times.len() != frames.len() && frames.first().is_some_and(|first| !first.is_empty()) {
        let (found, expected) = (times.len(), frames.len());
        return Err(WriteError::Count { what: "the point cache".into(), things: "times", found, expected });
    }
    stream_mdd(times, space, &mut held(frames), out)
}

/// Writes an MDD file of frames that are not held, one per time. The bytes are those of [`write_mdd`].
///
/// # Errors
/// As [`write_mdd`], and those of `fill`.
pub fn stream_mdd(times: &[f64], space: &Space, fill: Fill<'_>, out: &mut dyn Write) -> Result<(), WriteError> {
    if let Some(frame) = times.iter().position(|time| !(*time as f32).is_finite()) {
        return Err(WriteError::NotFinite { what: format!("the time of frame {frame}") });
    }
    // Times that fall are no times, and stay; those that ascend must not become one.
    let is_one = |two: &[f64]| two[0] < two[1] && two[0] as f32 >= two[1] as f32;
    if times.windows(2).all(|two| two[0] < two[1])
        && let Some(at) = times.windows(2).position(is_one)
    {
        let what = format!("times {:e} s and {:e} s, which are one in 32 bits", times[at], times[at + 1]);
        return Err(WriteError::CannotHold { format: Format::Mdd, what });
    }
    let head = |count: i32, points: i32| {
        let mut bytes = count.to_be_bytes().to_vec();
        bytes.extend(points.to_be_bytes());
        bytes.extend(times.iter().flat_map(|time| (*time as f32).to_be_bytes()));
        bytes
    };
    stream(Format::Mdd, times.len(), space, f32::to_be_bytes, head, fill, out)
}

/// Gives frames that are held.
fn held<'a>(frames: &'a [&'a [DVec3]]) -> impl FnMut(usize, &mut Vec<DVec3>) -> Result<(), WriteError> + 'a {
    |frame, positions| {
        positions.clear();
        positions.extend_from_slice(frames[frame]);
        Ok(())
    }
}

/// Writes a head, which gets the numbers of frames and points as it counts them, and after it every frame.
fn stream(
    format: Format,
    count: usize,
    space: &Space,
    word: fn(f32) -> [u8; 4],
    head: impl FnOnce(i32, i32) -> Vec<u8>,
    fill: Fill<'_>,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let nothing = || WriteError::Nothing { format, needs: "frames with positions, and a unit" };
    if count == 0 || !space.is_usable() {
        return Err(nothing());
    }
    let from_ours = space.to_ours().inverse();
    let (mut positions, mut points, mut head) = (Vec::new(), 0, Some(head));
    let mut bytes = Vec::new();
    for frame in 0..count {
        fill(frame, &mut positions)?;
        if let Some(head) = head.take() {
            points = positions.len();
            if points == 0 {
                return Err(nothing());
            }
            let counts = i32::try_from(count).ok().zip(i32::try_from(points).ok());
            let what = || format!("{count} frames of {points} points");
            let (frames, points) = counts.ok_or_else(|| WriteError::CannotHold { format, what: what() })?;
            bytes = head(frames, points);
        }
        if positions.len() != points {
            let (what, found) = (format!("frame {frame}"), positions.len());
            return Err(WriteError::Count { what, things: "vertices", found, expected: points });
        }
        for (vertex, position) in positions.iter().enumerate() {
            let stored = from_ours.transform_point3(*position).as_vec3();
            if !stored.is_finite() {
                return Err(WriteError::NotFinite { what: format!("vertex {vertex} of frame {frame}") });
            }
            bytes.extend(stored.to_array().into_iter().flat_map(word));
        }
        out.write_all(&bytes)?;
        bytes.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UpAxis;
    use crate::to_bytes;

    /// A file by hand, after the formats' descriptions: two frames of one point.
    #[test]
    fn files_made_by_hand_are_read() {
        let mut pc2 = b"POINTCACHE2\0".to_vec();
        pc2.extend([1, 0, 0, 0, 1, 0, 0, 0]);
        pc2.extend([10f32, 0.5].iter().flat_map(|f| f.to_le_bytes()));
        pc2.extend([2, 0, 0, 0]);
        pc2.extend([1f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|f| f.to_le_bytes()));
        let z_up = Space { up: UpAxis::Z, metres_per_unit: 0.5, ..Space::default() };
        let read = read_pc2(&pc2, "a.pc2", &z_up).unwrap();
        let found: Vec<_> = read.records.iter().map(|r| (r.label.as_str(), r.positions.clone().unwrap()[0])).collect();
        assert_eq!(found, [("10", DVec3::new(0.5, 1.5, -1.0)), ("10.5", DVec3::new(2.0, 3.0, -2.5))]);
        assert_eq!(read.records[0].time, None);

        let mut mdd = vec![0, 0, 0, 2, 0, 0, 0, 1];
        mdd.extend([0f32, 0.25, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|f| f.to_be_bytes()));
        let read = read_mdd(&mdd, "a.mdd", &Space::default()).unwrap();
        let found: Vec<_> = read.records.iter().map(|r| (r.time, r.positions.clone().unwrap()[0])).collect();
        assert_eq!(found, [(Some(0.0), DVec3::new(1.0, 2.0, 3.0)), (Some(0.25), DVec3::new(4.0, 5.0, 6.0))]);

        // Times that two frames share, or that fall, say nothing; of a single frame, zero is a time.
        for (stated, first) in [
            ([0f32, 0.0], "all 2 are 0 s"),
            ([7.5, 7.5], "all 2 are 7.5 s"),
            ([0.5, 0.25], "frame 1 at 0.25 s follows one at 0.5 s"),
        ] {
            let mut bytes = mdd.clone();
            bytes[8..16].copy_from_slice(&stated.map(f32::to_be_bytes).concat());
            let read = read_mdd(&bytes, "a.mdd", &Space::default()).unwrap();
            assert!(read.records.iter().all(|r| r.time.is_none()), "{stated:?}");
            assert_eq!(read.warnings, [Warning { flaw: Flaw::TimesLeftOut, count: 2, first: Some(first.into()) }]);
        }
        let one: Vec<u8> = [&mdd[..3], &[1], &mdd[4..8], &[0; 4], &[0; 12]].concat();
        let read_one = read_mdd(&one, "a.mdd", &Space::default()).unwrap();
        assert_eq!((read_one.records[0].time, read_one.warnings.len()), (Some(0.0), 0));

        let frames: Vec<_> = read.records.iter().map(|r| r.positions.as_deref().unwrap()).collect();
        assert_eq!(to_bytes(|out| write_mdd(&frames, &[0.0, 0.25], &Space::default(), out)).unwrap(), mdd);
    }

    #[test]
    fn what_is_written_is_read() {
        let space = Space { up: UpAxis::Z, metres_per_unit: 0.0254, ..Space::default() };
        let shapes: Vec<Vec<DVec3>> =
            (0..3).map(|f| (0..5).map(|v| DVec3::new(v.into(), f.into(), 0.3)).collect()).collect();
        let frames: Vec<&[DVec3]> = shapes.iter().map(Vec::as_slice).collect();
        let pc2 = read_pc2(&to_bytes(|out| write_pc2(&frames, 1.0, &space, out)).unwrap(), "a", &space).unwrap();
        let mdd = read_mdd(&to_bytes(|out| write_mdd(&frames, &[0.0, 0.5, 0.75], &space, out)).unwrap(), "a", &space)
            .unwrap();
        assert_eq!(mdd.records.iter().map(|r| r.time.unwrap()).collect::<Vec<_>>(), [0.0, 0.5, 0.75]);
        assert_eq!(pc2.records.iter().map(|r| r.label.as_str()).collect::<Vec<_>>(), ["1", "2", "3"]);
        for read in [pc2, mdd] {
            for (record, shape) in read.records.iter().zip(&shapes) {
                for (a, b) in record.positions.as_ref().unwrap().iter().zip(shape) {
                    // Stored in inches up to 160 with 24 bits: 160 · 2⁻²⁴ · 0.0254.
                    assert!(a.abs_diff_eq(*b, 2.5e-7), "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let space = Space::default();
        let (two, one) = (vec![DVec3::ZERO; 2], vec![DVec3::ZERO]);
        let why = |frames: &[&[DVec3]]| to_bytes(|out| write_pc2(frames, 0.0, &space, out)).unwrap_err().to_string();
        assert_eq!(why(&[&two, &one]), "frame 1 has 1 vertices, but 2 are expected");
        assert_eq!(why(&[&[DVec3::splat(1e300)]]), "vertex 0 of frame 0 is not finite in 32 bits");
        assert!(why(&[]).contains("nothing to write"));
        let start = |start: f64| {
            to_bytes(|out| write_pc2(&[&one], start, &space, out)).map(|bytes| read_pc2(&bytes, "a", &space))
        };
        assert_eq!(
            start(16_777_217.0).unwrap_err().to_string(),
            "a PC2 file cannot hold 16777217 as the number of its first frame, which is 16777216 in 32 bits"
        );
        assert_eq!(start(16_777_218.0).unwrap().unwrap().records[0].label, "16777218");
        assert!(start(1e300).unwrap_err().to_string().contains("not finite"));
        let times = |times: &[f64]| to_bytes(|out| write_mdd(&vec![&one[..]; times.len()], times, &space, out));
        assert!(
            times(&[0.0, 1e-300])
                .unwrap_err()
                .to_string()
                .contains("times 0e0 s and 1e-300 s, which are one in 32 bits")
        );
        assert!(
            times(&[1e6, 1e6 + 0.01]).is_err() && times(&[1e6, 1e6 + 0.1]).is_ok() && times(&[0.0, 0.0, 1.0]).is_ok()
        );
        let why = to_bytes(|out| write_mdd(&[&two], &[], &space, out)).unwrap_err().to_string();
        assert_eq!(why, "the point cache has 0 times, but 1 are expected");
    }
}
