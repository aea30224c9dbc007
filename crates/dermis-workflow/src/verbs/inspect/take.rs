//! What a take of markers holds.

use super::{Looked, describe};
use crate::error::Error;
use crate::load::{ReadOptions, load_take};
use dermis_io::marker_take::MarkerTake;
use dermis_io::{Contents, Format, Space};
use serde_json::{Value, json};
use std::path::Path;

/// Looks into a take.
pub(super) fn look(path: &Path) -> Result<Looked, Error> {
    let (take, note) = load_take(path, &ReadOptions::default())?;
    let found = json(&take);
    let contents = Contents {
        name: path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        format: Format::Markers,
        space: Space { up: take.up, metres_per_unit: take.metres_per_unit, ..Space::default() },
        frames_per_second: Some(take.rate),
        unread: take.unread,
        warnings: take.warnings,
        ..Contents::default()
    };
    let mut value = describe(&contents, &note);
    value["take"] = found;
    Ok(Looked { contents, value, note, rig: None })
}

/// Frames, rate, and for every marker in how many frames it is seen, and the runs of frames in which it is not.
fn json(take: &MarkerTake) -> Value {
    let markers = take.names.iter().enumerate().map(|(marker, name)| {
        let gaps = gaps(take, marker);
        let missing: usize = gaps.iter().map(|(from, to)| to + 1 - from).sum();
        let gaps: Vec<Value> = gaps.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect();
        json!({ "name": name, "seen": take.frames.len() - missing, "gaps": gaps })
    });
    json!({
        "frames": take.frames.len(),
        "rate": take.rate,
        "seconds": take.frames.len().saturating_sub(1) as f64 / take.rate,
        "timed": take.is_timed,
        "markers": markers.collect::<Vec<_>>(),
    })
}

/// The first and the last frame of every run in which a marker is not seen.
fn gaps(take: &MarkerTake, marker: usize) -> Vec<(usize, usize)> {
    let mut gaps: Vec<(usize, usize)> = Vec::new();
    for (at, _) in take.frames.iter().enumerate().filter(|(_, places)| places[marker].is_none()) {
        match gaps.last_mut() {
            Some((_, to)) if *to + 1 == at => *to = at,
            _ => gaps.push((at, at)),
        }
    }
    gaps
}

/// Markers by name, in lines of some width, and a line for each that has gaps.
pub(super) fn lines(take: &Value, out: &mut Vec<String>) {
    let Some(markers) = take["markers"].as_array() else { return };
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let stated = if take["timed"] == true { "" } else { " (stated by the header, or assumed: its times say nothing)" };
    out.push(format!(
        "  take        {} markers, {} frames at {} per second, {:.3} s{stated}",
        markers.len(),
        take["frames"],
        (1e6 * number(&take["rate"])).round() / 1e6,
        number(&take["seconds"])
    ));
    /// Characters of names in a line.
    const WIDTH: usize = 90;
    let mut line = String::new();
    for name in markers.iter().filter_map(|marker| marker["name"].as_str()) {
        if !line.is_empty() && line.chars().count() + name.chars().count() > WIDTH {
            out.push(format!("  markers     {}", std::mem::take(&mut line)));
        }
        line += if line.is_empty() { "" } else { ", " };
        line += name;
    }
    out.push(format!("  markers     {line}"));
    for marker in markers {
        let (name, gaps) = (&marker["name"], marker["gaps"].as_array().map(Vec::as_slice).unwrap_or_default());
        let frames = |gap: &Value| gap["to"].as_u64().unwrap_or(0) + 1 - gap["from"].as_u64().unwrap_or(0);
        let Some(longest) = gaps.iter().rev().max_by_key(|gap| frames(gap)) else { continue };
        let (missing, runs) = (gaps.iter().map(frames).sum::<u64>(), gaps.len());
        out.push(match (marker["seen"] == 0, runs) {
            (true, _) => format!("  gap         {name} is seen in no frame"),
            (_, 1) => {
                format!("  gap         {name}: {missing} frames, {} to {}", longest["from"], longest["to"])
            }
            _ => format!(
                "  gaps        {name}: {missing} frames in {runs} runs, the longest {} to {}",
                longest["from"], longest["to"]
            ),
        });
    }
    if markers.iter().all(|marker| marker["gaps"].as_array().is_none_or(Vec::is_empty)) {
        out.push("  gaps        none: every marker is seen in every frame".into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_io::UpAxis;
    use dermis_rig::glam::DVec3;

    #[test]
    fn gaps_are_runs_of_frames() {
        let seen = |frames: &str| frames.chars().map(|c| (c == 'x').then_some(DVec3::ZERO)).collect::<Vec<_>>();
        let rows = ["xx..x.x", "xxxxxxx", ".......", ".xxxxx."].map(seen);
        let take = MarkerTake {
            names: ["A", "B", "C", "D"].map(String::from).to_vec(),
            rate: 50.0,
            is_timed: true,
            frames: (0..7).map(|frame| rows.iter().map(|row| row[frame]).collect()).collect(),
            up: UpAxis::Y,
            metres_per_unit: 1e-3,
            unread: vec![],
            warnings: vec![],
        };
        let found: Vec<_> = (0..4).map(|marker| gaps(&take, marker)).collect();
        assert_eq!(found, [vec![(2, 3), (5, 5)], vec![], vec![(0, 6)], vec![(0, 0), (6, 6)]]);
        let value = json(&take);
        let counts: Vec<_> = (0..4).map(|marker| value["markers"][marker]["seen"].as_u64().unwrap()).collect();
        assert_eq!((counts, value["seconds"].as_f64().unwrap()), (vec![4, 7, 0, 5], 0.12));
        let mut out = Vec::new();
        lines(&value, &mut out);
        assert_eq!(
            out,
            [
                "  take        4 markers, 7 frames at 50 per second, 0.120 s",
                "  markers     A, B, C, D",
                "  gaps        \"A\": 3 frames in 2 runs, the longest 2 to 3",
                "  gap         \"C\" is seen in no frame",
                "  gaps        \"D\": 2 frames in 2 runs, the longest 0 to 0",
            ]
        );
    }
}
