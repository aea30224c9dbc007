//! Axes and units of a bundle.

use super::archive::Bundle;
use super::damaged;
use crate::{Flaw, ReadError, Space, UpAxis, Warning, surface};
use std::io::{Read, Seek};

impl<R: Read + Seek> Bundle<R> {
    pub(super) fn space(&mut self, warnings: &mut Vec<Warning>) -> Result<Space, ReadError> {
        let mut space = Space::default();
        let mut unknown = Vec::new();
        match self.single_text("up_axis")?.as_deref() {
            Some("Y" | "y") => {}
            Some("Z" | "z") => space.up = UpAxis::Z,
            Some(other) => return Err(damaged(format!("\"up_axis\" is \"{other}\"; \"Y\" or \"Z\" is expected"))),
            None => unknown.push("up_axis".to_owned()),
        }
        match self.single_text("units")? {
            Some(text) => (space.metres_per_unit, space.unit) = unit(&text),
            None => unknown.push("units".to_owned()),
        }
        surface::count(warnings, Flaw::UnknownSpace, unknown);
        Ok(space)
    }
}

/// Units that convert to metres: the word written, metres, other words understood.
const UNITS: [(&str, f64, &[&str]); 5] = [
    ("metres", 1.0, &["m", "metre", "meter", "meters"]),
    ("centimetres", 0.01, &["cm", "centimetre", "centimeter", "centimeters"]),
    ("millimetres", 0.001, &["mm", "millimetre", "millimeter", "millimeters"]),
    ("inches", 0.0254, &["in", "inch"]),
    ("feet", 0.3048, &["ft", "foot"]),
];

/// Metres per unit and the unit's name in reports, from the text of `units`. An unknown unit is kept in its own words.
fn unit(text: &str) -> (f64, String) {
    let word = text.trim().to_lowercase();
    match UNITS.iter().find(|(name, _, others)| *name == word || others.contains(&word.as_str())) {
        Some((_, metres, _)) => (*metres, "m".into()),
        None => (1.0, text.to_owned()),
    }
}

/// The space a bundle can name, and the text of its `units`.
pub(super) fn space_written(space: &Space) -> (Space, String) {
    let known = UNITS.iter().find(|(_, metres, _)| space.unit == "m" && *metres == space.metres_per_unit);
    match known {
        Some((word, _, _)) => (space.clone(), (*word).into()),
        None if unit(&space.unit) == (space.metres_per_unit, space.unit.clone()) => (space.clone(), space.unit.clone()),
        None => (Space { up: space.up, ..Space::default() }, "metres".into()),
    }
}
