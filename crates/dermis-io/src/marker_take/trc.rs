//! TRC: tab-separated text. Three lines of header, names, coordinates, then a line per frame: number, time, x, y, z of every marker, empty where one was
//! not seen.
//!
//! Some programs part columns by spaces, which leaves no place for what is empty. A line without tabs is read if it has all its cells.

use super::rows::{self, Row};
use super::{MarkerTake, TakeSpace, damaged, metres, ours};
use crate::contents::Flaw;
use crate::flaws::{Flaws, make_unique, short};
use crate::{ReadError, UpAxis};
use dermis_rig::glam::DVec3;

pub(super) fn read(bytes: &[u8], space: &TakeSpace) -> Result<MarkerTake, ReadError> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim_end_matches('\r')));
    let mut next = |what: &str| lines.next().ok_or_else(|| damaged(format!("the file ends before {what}")));
    next("its header")?;
    let (_, keys) = next("the names of its settings")?;
    let (number, values) = next("its settings")?;
    let setting = |name: &str| {
        let at = cells(keys).position(|key| key.eq_ignore_ascii_case(name))?;
        cells(values).nth(at)
    };
    let rate = setting("DataRate").and_then(|rate| rate.parse::<f64>().ok()).filter(|rate| *rate > 0.0 && *rate < 1e9);
    // The header's rate is what times are held against; the caller's is taken where they say nothing.
    let stated = rate.or(space.rate).ok_or_else(|| damaged(format!("line {number}: no DataRate above zero")))?;
    let untimed = space.rate.unwrap_or(stated);
    let count = setting("NumFrames").and_then(|frames| frames.parse::<u64>().ok());
    let mut flaws = Flaws::default();
    let unit = setting("Units").and_then(metres);
    if unit.is_none() && space.metres_per_unit.is_none() {
        flaws.add(Flaw::UnknownSpace, || "the unit of its places; millimetres are assumed".into());
    }
    let metres_per_unit = space.metres_per_unit.or(unit).unwrap_or(1e-3);
    let up = space.up.unwrap_or(UpAxis::Y);
    let (number, header) = next("the names of its markers")?;
    let mut names: Vec<String> = cells(header).skip(2).filter(|name| !name.is_empty()).map(short).collect();
    if names.is_empty() {
        return Err(damaged(format!("line {number}: it names no markers")));
    }
    make_unique(&mut names, &mut flaws);
    next("the names of its coordinates")?;
    let (mut frames, mut rows) = (Vec::new(), Vec::new());
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let (found, expected) = (cells(line).count(), 2 + 3 * names.len());
        if !line.contains('\t') && found > 1 && found != expected {
            let markers = setting("NumMarkers").map_or(String::new(), |count| format!(" (NumMarkers: {count})"));
            return Err(damaged(format!(
                "line {number}: columns are parted by spaces, not tabs, and there are {found}; a frame, a time and {} markers{markers} \
                 need {expected}. Without tabs nothing says which is missing: write the file with tabs",
                names.len()
            )));
        }
        let mut cells = cells(line);
        let row = cells.next().zip(cells.next()).and_then(|(frame, time)| Row::parse(frame, time));
        rows.push(row.ok_or_else(|| damaged(format!("line {number}: it begins with no frame and time")))?);
        let mut places = Vec::with_capacity(names.len());
        let mut is_cut = false;
        for name in &names {
            let mut cell = || match cells.next() {
                None => {
                    is_cut = true;
                    Ok(None)
                }
                Some("") => Ok(None),
                Some(text) => match text.parse::<f64>() {
                    Ok(value) => Ok(Some(value).filter(|value| value.is_finite())),
                    Err(_) => Err(damaged(format!(
                        "line {number}: \"{}\" of marker \"{name}\" is no number",
                        text.chars().take(40).collect::<String>()
                    ))),
                },
            };
            let (x, y, z) = (cell()?, cell()?, cell()?);
            let place = x.zip(y).zip(z).map(|((x, y), z)| ours(DVec3::new(x, y, z), up, metres_per_unit));
            places.push(place.filter(|place| place.is_finite() && place.length() < 1e9));
        }
        if is_cut {
            flaws.add(Flaw::CountMismatch, || format!("line {number} ends before its last marker"));
        }
        if cells.any(|cell| !cell.is_empty()) {
            return Err(damaged(format!("line {number}: more numbers than {} markers have", names.len())));
        }
        frames.push(places);
        if frames.len() * names.len() > bytes.len() + 1024 {
            return Err(damaged(format!(
                "{} frames of {} markers in {} bytes",
                frames.len(),
                names.len(),
                bytes.len()
            )));
        }
    }
    let found = frames.len();
    // As many frames as the bytes can have cells.
    let most = bytes.len() / names.len() + 1024;
    let (rate, is_timed, places) = rows::places(&rows, (stated, untimed), most, &mut flaws)?;
    let mut whole = vec![vec![None; names.len()]; places.last().map_or(0, |last| last + 1)];
    places.iter().zip(frames).for_each(|(&at, row)| whole[at] = row);
    let frames = whole;
    if let Some(count) = count.filter(|count| *count != found as u64 && *count != frames.len() as u64) {
        flaws.add(Flaw::CountMismatch, || format!("{count} frames are stated, there are {found}"));
    }
    let (unread, warnings) = (flaws.unread, flaws.warnings);
    Ok(MarkerTake { names, rate, is_timed, frames, up, metres_per_unit, unread, warnings })
}

/// The cells of a line: parted by tabs, and in a line without any by spaces.
fn cells(line: &str) -> impl Iterator<Item = &str> {
    let tabs = line.contains('\t');
    let by_tabs = line.split('\t').filter(move |_| tabs).map(str::trim);
    by_tabs.chain(line.split_whitespace().filter(move |_| !tabs))
}
