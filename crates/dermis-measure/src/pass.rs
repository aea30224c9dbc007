//! A demand on a model: a share of all distances within a bound, such as "1 mm in 98 %".
//!
//! The distances are those of every vertex in every pose. They are counted while they are scored, so the share is exact.
//!
//! ```
//! use dermis_measure::{PassRule, Within};
//! let rule: PassRule = "1 mm in 98 %".parse()?;
//! assert_eq!(rule.bound("m", 1.7)?, 0.001);
//! assert!(rule.is_met(Within { count: 98, of: 100 }) && !rule.is_met(Within { count: 979, of: 1000 }));
//! # Ok::<(), dermis_measure::PassError>(())
//! ```

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A share of all distances that must lie within a bound. As text, and in recipes: "1 mm in 98 %".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PassRule {
    /// In `unit`.
    distance: f64,
    unit: PassUnit,
    /// The share is `percent` / 10^`decimals` percent.
    percent: u64,
    decimals: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassUnit {
    Millimetres,
    Centimetres,
    Metres,
    /// Of the rest diagonal.
    Percent,
}

/// How many distances lie within a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Within {
    /// Distances of at most the bound.
    pub count: u64,
    /// All distances.
    pub of: u64,
}

/// Why a demand cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PassError {
    /// A text that is no demand.
    #[error("\"{text}\" is no demand such as \"1 mm in 98 %\": {reason}")]
    Text {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A length in metres for a character whose unit is unknown.
    #[error("\"{rule}\": the rig's file states no unit of length. Ask in % of the rig's diagonal")]
    Unit {
        /// The demand.
        rule: String,
    },
}

impl Within {
    /// Returns the share in percent; 0 of nothing.
    pub fn percent(self) -> f64 {
        100.0 * self.count as f64 / self.of.max(1) as f64
    }

    /// Returns the share in percent with two decimals, rounded down: "100.00" says that none lies beyond.
    pub fn shown(self) -> String {
        let hundredths = u128::from(self.count) * 10_000 / u128::from(self.of.max(1));
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    }

    /// Returns the counts of both.
    pub fn joined(self, other: Self) -> Self {
        Self { count: self.count + other.count, of: self.of + other.of }
    }
}

impl PassRule {
    /// Returns the bound in the unit of a character whose rest diagonal is `diagonal`.
    ///
    /// # Errors
    /// [`PassError::Unit`] for a bound in metres if `unit` is not "m".
    pub fn bound(&self, unit: &str, diagonal: f64) -> Result<f64, PassError> {
        let metres = match self.unit {
            PassUnit::Percent => return Ok(self.distance * diagonal / 100.0),
            PassUnit::Millimetres => self.distance / 1000.0,
            PassUnit::Centimetres => self.distance / 100.0,
            PassUnit::Metres => self.distance,
        };
        match unit {
            "m" => Ok(metres),
            _ => Err(PassError::Unit { rule: self.to_string() }),
        }
    }

    /// Returns whether so many distances within the bound meet the demand. None of none meets it not.
    pub fn is_met(&self, within: Within) -> bool {
        // count / of ≥ percent / 10^decimals / 100, in whole numbers. The decimals are nine at most, so nothing overflows.
        let hundred = 100 * u128::from(10u64.pow(self.decimals));
        within.of > 0 && u128::from(within.count) * hundred >= u128::from(self.percent) * u128::from(within.of)
    }

    /// Returns the share asked for, as it was written: "98".
    pub fn percent(&self) -> String {
        let digits = format!("{:0>1$}", self.percent, self.decimals as usize + 1);
        let (whole, rest) = digits.split_at(digits.len() - self.decimals as usize);
        if rest.is_empty() { whole.to_owned() } else { format!("{whole}.{rest}") }
    }

    /// Returns the bound as it was written: "1 mm", "0.1 % of the diagonal".
    pub fn distance(&self) -> String {
        match self.unit {
            PassUnit::Percent => format!("{} % of the diagonal", self.distance),
            _ => format!("{} {}", self.distance, self.unit.name()),
        }
    }
}

impl PassUnit {
    fn name(self) -> &'static str {
        match self {
            Self::Millimetres => "mm",
            Self::Centimetres => "cm",
            Self::Metres => "m",
            Self::Percent => "%",
        }
    }
}

impl fmt::Display for PassRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} in {} %", self.distance, self.unit.name(), self.percent())
    }
}

impl FromStr for PassRule {
    type Err = PassError;

    fn from_str(text: &str) -> Result<Self, PassError> {
        let wrong = |reason| PassError::Text { text: text.chars().take(80).collect(), reason };
        let (length, share) =
            text.split_once(" in ").ok_or_else(|| wrong("\" in \" stands between length and share"))?;
        let length = length.trim();
        let number = length.trim_end_matches(|c: char| !(c.is_ascii_digit() || c == '.'));
        let unit = match length[number.len()..].trim() {
            "mm" => PassUnit::Millimetres,
            "cm" => PassUnit::Centimetres,
            "m" => PassUnit::Metres,
            "%" | "% of the diagonal" => PassUnit::Percent,
            _ => return Err(wrong("the unit of the length is mm, cm, m, or % for the rig's diagonal")),
        };
        let plain = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
        let distance: Option<f64> = number.parse().ok().filter(|_| plain(number));
        let distance = distance.filter(|d| *d > 0.0 && *d < 1e12);
        let distance = distance.ok_or_else(|| wrong("the length is a number above 0"))?;
        let share = share.trim().strip_suffix('%').ok_or_else(|| wrong("the share ends in %"))?.trim();
        let beyond = || wrong("the share is a number above 0, and 100 at most, with nine decimals at most");
        let (whole, rest) = share.split_once('.').unwrap_or((share, ""));
        if !plain(share) || share.is_empty() || whole.len() > 3 || rest.len() > 9 || rest.contains('.') {
            return Err(beyond());
        }
        let rest = rest.trim_end_matches('0');
        let percent: u64 = format!("{whole}{rest}").parse().map_err(|_| beyond())?;
        let decimals = rest.len() as u32;
        if percent == 0 || percent > 100 * 10u64.pow(decimals) {
            return Err(beyond());
        }
        Ok(Self { distance, unit, percent, decimals })
    }
}

impl TryFrom<String> for PassRule {
    type Error = PassError;

    fn try_from(text: String) -> Result<Self, PassError> {
        text.parse()
    }
}

impl From<PassRule> for String {
    fn from(rule: PassRule) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_are_read_and_written() {
        for (text, written, bound) in [
            ("1 mm in 98 %", "1 mm in 98 %", 0.001),
            ("0.5cm in 99.90%", "0.5 cm in 99.9 %", 0.005),
            (" 2 m  in  100 % ", "2 m in 100 %", 2.0),
            ("0.1 % in 98 %", "0.1 % in 98 %", 0.002),
            ("0.1 % of the diagonal in 0.05 %", "0.1 % in 0.05 %", 0.002),
        ] {
            let rule: PassRule = text.parse().unwrap();
            assert_eq!(rule.to_string(), written);
            assert!((rule.bound("m", 2.0).unwrap() - bound).abs() < 1e-15, "{text}");
            let json = serde_json::to_string(&rule).unwrap();
            assert_eq!(json, format!("\"{written}\""));
            assert_eq!(serde_json::from_str::<PassRule>(&json).unwrap(), rule);
        }
    }

    #[test]
    fn what_is_no_demand_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "between"),
            ("1 mm", "between"),
            ("1 mm 98 %", "between"),
            ("1 in 98 %", "unit"),
            ("1 inch in 98 %", "unit"),
            ("one mm in 98 %", "unit"),
            ("0 mm in 98 %", "above 0"),
            ("-1 mm in 98 %", "number"),
            ("nan mm in 98 %", "unit"),
            ("1e3 mm in 98 %", "number"),
            ("1.2.3 mm in 98 %", "number"),
            ("1 mm in 98", "ends in %"),
            ("1 mm in 0 %", "100 at most"),
            ("1 mm in 101 %", "100 at most"),
            ("1 mm in -5 %", "100 at most"),
            ("1 mm in %", "100 at most"),
            ("1 mm in . %", "100 at most"),
            ("1 mm in 98.0000000001 %", "nine"),
        ] {
            let error = text.parse::<PassRule>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        let in_metres: PassRule = "1 mm in 98 %".parse().unwrap();
        assert!(in_metres.bound("unit", 2.0).unwrap_err().to_string().contains("diagonal"));
        let relative: PassRule = "1 % in 98 %".parse().unwrap();
        assert_eq!(relative.bound("unit", 2.0), Ok(0.02));
    }

    #[test]
    fn shares_are_compared_exactly() {
        let rule = |text: &str| text.parse::<PassRule>().unwrap();
        let within = |count, of| Within { count, of };
        assert!(rule("1 mm in 99.9 %").is_met(within(999, 1000)));
        assert!(!rule("1 mm in 99.9 %").is_met(within(998_999_999, 1_000_000_000)));
        assert!(rule("1 mm in 100 %").is_met(within(u64::MAX, u64::MAX)));
        assert!(!rule("1 mm in 100 %").is_met(within(u64::MAX - 1, u64::MAX)));
        assert!(!rule("1 mm in 1 %").is_met(within(0, 0)));
        assert_eq!(within(999_999_999, 1_000_000_000).shown(), "99.99");
        assert_eq!(within(7, 7).shown(), "100.00");
    }
}
