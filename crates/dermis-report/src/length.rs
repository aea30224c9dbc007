//! Lengths in the unit of the reader.

use dermis_io::Space;

/// What the reader sees for a length: `scale` times the length in mesh units, followed by `name`.
#[derive(Clone, Debug)]
pub struct LengthUnit {
    /// Name or abbreviation, e.g. "mm".
    pub name: String,
    /// Shown units per mesh unit, e.g. 1000 for metres shown as millimetres.
    pub scale: f32,
}

impl Default for LengthUnit {
    /// Metres shown as millimetres.
    fn default() -> Self {
        Self { name: "mm".into(), scale: 1000.0 }
    }
}

/// Returns the unit for lengths of a file: millimetres if its metres are known, thousandths of its own unit otherwise.
pub fn unit_of(space: &Space) -> LengthUnit {
    unit_named(&space.unit)
}

/// Returns the unit for lengths in a unit of this name, as the JSON of an outcome states it.
pub(crate) fn unit_named(unit: &str) -> LengthUnit {
    match unit {
        "m" => LengthUnit::default(),
        _ => LengthUnit { name: "1/1000 unit".into(), scale: 1000.0 },
    }
}

/// Writes a length in mesh units with three significant digits and the unit, e.g. "1.06 mm".
pub fn show_length(length: f64, unit: &LengthUnit) -> String {
    format!("{} {}", show_number(length, unit), unit.name)
}

/// Writes a length in mesh units as a number of shown units with three significant digits, e.g. "1.06".
pub fn show_number(length: f64, unit: &LengthUnit) -> String {
    let value = length * f64::from(unit.scale);
    let size = value.abs();
    if size != 0.0 && size.is_finite() && !(1e-3..1e6).contains(&size) {
        return format!("{value:.1e}");
    }
    let digits = if value == 0.0 || !value.is_finite() { 2 } else { (2 - size.log10().floor() as i32).clamp(0, 4) };
    format!("{value:.*}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_three_digits_and_the_unit_of_their_file() {
        let millimetres = unit_of(&Space::default());
        let unknown = unit_of(&Space { unit: "unit".into(), ..Space::default() });
        for (length, unit, text) in [
            (0.0, &millimetres, "0.00 mm"),
            (0.00106, &millimetres, "1.06 mm"),
            (-0.0123, &millimetres, "-12.3 mm"),
            (1.5, &millimetres, "1500 mm"),
            (1e-9, &millimetres, "1.0e-6 mm"),
            (4e7, &millimetres, "4.0e10 mm"),
            (f64::NAN, &millimetres, "NaN mm"),
            (0.25, &unknown, "250 1/1000 unit"),
        ] {
            assert_eq!(show_length(length, unit), text);
        }
    }
}
