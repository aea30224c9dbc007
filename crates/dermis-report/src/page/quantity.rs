//! Numbers as people read them: three significant digits, a unit, and a dash for a number that is not finite.

use super::LengthUnit;

/// A value in a key figure or a table. Its kind decides how the page writes and sorts it.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// Nothing to say: an empty cell.
    Missing,
    /// Words.
    Text(String),
    /// How many.
    Count(u64),
    /// A number without unit, e.g. a ratio.
    Number(f32),
    /// A length in mesh units, shown in the page's [`LengthUnit`].
    Length(f32),
    /// A share in 0..=1, shown in percent.
    Share(f32),
    /// A change of a number: the new over the old, minus one.
    Change(f32),
    /// An angle in degrees.
    Degrees(f32),
    /// A size in bytes, shown with decimal prefixes.
    Bytes(u64),
    /// A duration in seconds.
    Seconds(f32),
    /// Things per second.
    PerSecond(f32),
}

impl Quantity {
    /// Returns `make(value)`, or [`Quantity::Missing`] without a value.
    pub fn optional<T>(value: Option<T>, make: fn(T) -> Self) -> Self {
        value.map_or(Self::Missing, make)
    }

    /// Returns the number as written, and its unit; the unit is empty if the quantity has none.
    pub(super) fn written(&self, unit: &LengthUnit) -> (String, String) {
        let bare = |text: String| (text, String::new());
        match self {
            Self::Missing => bare(String::new()),
            Self::Text(text) => bare(text.clone()),
            Self::Count(n) => bare(grouped(&n.to_string())),
            Self::Number(v) => bare(significant(f64::from(*v))),
            Self::Length(v) => (significant(f64::from(*v) * f64::from(unit.scale)), unit.name.clone()),
            Self::Share(v) => (percent(f64::from(*v)), "%".into()),
            Self::Change(v) => bare(show_change(f64::from(*v))),
            Self::Degrees(v) => (degrees(f64::from(*v)), "°".into()),
            Self::Bytes(n) => bytes(*n),
            Self::Seconds(v) => seconds(f64::from(*v)),
            Self::PerSecond(v) => {
                let (number, prefix) = prefixed(f64::from(*v));
                (number, format!("{prefix}/s"))
            }
        }
    }

    /// Returns number and unit in one text.
    pub fn with_unit(&self, unit: &LengthUnit) -> String {
        let (number, unit) = self.written(unit);
        if unit.is_empty() || number == DASH {
            number
        } else if unit == "°" {
            number + &unit
        } else {
            format!("{number}\u{a0}{unit}")
        }
    }

    /// Returns the number by which a table sorts it. Quantities without one sort as text, after the numbers.
    pub(super) fn sort_key(&self) -> Option<f64> {
        let key = match self {
            Self::Missing | Self::Text(_) => return None,
            Self::Count(n) | Self::Bytes(n) => *n as f64,
            Self::Number(v)
            | Self::Length(v)
            | Self::Share(v)
            | Self::Change(v)
            | Self::Degrees(v)
            | Self::Seconds(v)
            | Self::PerSecond(v) => f64::from(*v),
        };
        key.is_finite().then_some(key)
    }

    /// Returns true for numbers, which the page sets flush right.
    pub(super) fn is_number(&self) -> bool {
        !matches!(self, Self::Missing | Self::Text(_))
    }
}

/// Stands for a number that is not finite.
pub(super) const DASH: &str = "–";

/// Writes three significant digits, or all digits before the point: 0.00106, 11.8, 26 756. Outside 10⁻³..10⁷ it writes a
/// power of ten.
pub(super) fn significant(v: f64) -> String {
    if !v.is_finite() {
        return DASH.into();
    }
    let size = v.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e7).contains(&size) {
        let text = format!("{v:.2e}");
        return match text.split_once('e') {
            Some((digits, power)) => format!("{digits}·10{}", superscript(power)),
            None => text,
        };
    }
    // 9.996 has one digit before the point but is written 10.0, so the power is that of the rounded number.
    let power = format!("{size:.2e}").split_once('e').and_then(|(_, p)| p.parse::<i32>().ok()).unwrap_or(0);
    grouped(&format!("{v:.*}", (2 - power).clamp(0, 5) as usize)).replace('-', "−")
}

/// Writes a change as people read it: "−20.1 %", and from the threefold on "×3.0".
pub fn show_change(change: f64) -> String {
    match change {
        c if !c.is_finite() => "–".into(),
        c if c.abs() < 5e-4 => "0.0 %".into(),
        c if c >= 2.0 => format!("×{:.1}", 1.0 + c),
        c => format!("{:+.1} %", 100.0 * c).replace('-', "−"),
    }
}

fn superscript(power: &str) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    power.chars().map(|c| c.to_digit(10).map_or('⁻', |d| digits[d as usize])).collect()
}

/// Puts narrow spaces between groups of three digits, from five digits on.
fn grouped(text: &str) -> String {
    let whole = text.find('.').unwrap_or(text.len());
    let start = usize::from(text.starts_with('-'));
    if whole - start < 5 {
        return text.into();
    }
    let mut out = String::new();
    for (i, c) in text.char_indices() {
        if i > start && i < whole && (whole - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    out
}

/// What falls short of the whole does not read 100.
fn percent(share: f64) -> String {
    let v = share * 100.0;
    if !v.is_finite() {
        DASH.into()
    } else if 99.0 < v && v < 100.0 {
        format!("{:.1}", v.min(99.9))
    } else if v == 0.0 || v.abs() >= 10.0 {
        format!("{v:.0}")
    } else if v.abs() < 0.1 {
        significant(v)
    } else {
        format!("{v:.1}")
    }
}

fn degrees(v: f64) -> String {
    if v.is_finite() { format!("{v:.1}").replace('-', "−") } else { DASH.into() }
}

fn prefixed(v: f64) -> (String, &'static str) {
    match v.abs() {
        a if a >= 1e9 && a.is_finite() => (significant(v / 1e9), "G"),
        a if a >= 1e6 && a.is_finite() => (significant(v / 1e6), "M"),
        a if a >= 1e4 && a.is_finite() => (significant(v / 1e3), "k"),
        _ => (significant(v), ""),
    }
}

fn bytes(n: u64) -> (String, String) {
    let v = n as f64;
    match n {
        0..1_000 => (n.to_string(), "B".into()),
        1_000..1_000_000 => (significant(v / 1e3), "kB".into()),
        1_000_000..1_000_000_000 => (significant(v / 1e6), "MB".into()),
        _ => (significant(v / 1e9), "GB".into()),
    }
}

fn seconds(v: f64) -> (String, String) {
    if !v.is_finite() {
        (DASH.into(), String::new())
    } else if v.abs() >= 120.0 {
        let whole = v.abs().round() as u64;
        (format!("{}{}", if v < 0.0 { "−" } else { "" }, grouped(&(whole / 60).to_string())), {
            format!("min {:02}\u{a0}s", whole % 60)
        })
    } else if v.abs() >= 1.0 || v == 0.0 {
        (significant(v), "s".into())
    } else if v.abs() >= 1e-3 {
        (significant(v * 1e3), "ms".into())
    } else {
        (significant(v * 1e6), "µs".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_three_digits() {
        for (v, text) in [
            (0.0, "0"),
            (1.0, "1.00"),
            (0.001, "0.00100"),
            (9.996, "10.0"),
            (99.96, "100"),
            (11.84, "11.8"),
            (-0.25, "−0.250"),
            (4321.0, "4321"),
            (26756.4, "26\u{202f}756"),
            (-26756.4, "−26\u{202f}756"),
            (1.5e-7, "1.50·10⁻⁷"),
            (3e38, "3.00·10³⁸"),
            (f64::NAN, DASH),
            (f64::NEG_INFINITY, DASH),
        ] {
            assert_eq!(significant(v), text, "{v}");
        }
    }

    #[test]
    fn values_carry_their_units() {
        let unit = LengthUnit::default();
        for (value, text) in [
            (Quantity::Length(0.00106), "1.06\u{a0}mm"),
            (Quantity::Length(f32::NAN), DASH),
            (Quantity::Count(1_234_567), "1\u{202f}234\u{202f}567"),
            (Quantity::Share(0.0031), "0.3\u{a0}%"),
            (Quantity::Share(0.0), "0\u{a0}%"),
            (Quantity::Share(0.9968), "99.7\u{a0}%"),
            (Quantity::Share(0.99999), "99.9\u{a0}%"),
            (Quantity::Share(1.0), "100\u{a0}%"),
            (Quantity::Share(f32::INFINITY), DASH),
            (Quantity::Change(-0.2014), "−20.1 %"),
            (Quantity::Change(0.5), "+50.0 %"),
            (Quantity::Change(2.0), "×3.0"),
            (Quantity::Change(-1e-7), "0.0 %"),
            (Quantity::Change(f32::NAN), DASH),
            (Quantity::Degrees(12.34), "12.3°"),
            (Quantity::Bytes(999), "999\u{a0}B"),
            (Quantity::Bytes(2_600_000), "2.60\u{a0}MB"),
            (Quantity::Bytes(u64::MAX), "1.84·10¹⁰\u{a0}GB"),
            (Quantity::Seconds(0.82), "820\u{a0}ms"),
            (Quantity::Seconds(3.4), "3.40\u{a0}s"),
            (Quantity::Seconds(725.0), "12\u{a0}min 05\u{a0}s"),
            (Quantity::Seconds(f32::NAN), DASH),
            (Quantity::PerSecond(4.2e7), "42.0\u{a0}M/s"),
            (Quantity::PerSecond(f32::INFINITY), DASH),
            (Quantity::Missing, ""),
        ] {
            assert_eq!(value.with_unit(&unit), text, "{value:?}");
        }
    }
}
