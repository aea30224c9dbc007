//! A fit of the joint model divided among machines: each solves a share of the vertices.
//!
//! Coefficients of a vertex depend on all poses, because the joints' inducing rotations and limits do, but on no other vertex. The
//! shares therefore divide the vertices: each part reads all examples, makes the same choices from the same vertices, and solves its
//! own. Merged, they are the fit that one machine makes, to the bit.

use super::base::BaseChoice;
use super::forms::Forms;
use super::mush;
use crate::joints::{JointForm, SolvedVertex};
use dermis_rig::BoneTransforms;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// One of several equal shares: 2/4 is the second of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Share {
    index: usize,
    count: usize,
}

impl Default for Share {
    /// The whole.
    fn default() -> Self {
        Self { index: 1, count: 1 }
    }
}

impl Share {
    /// The share of a list of so many entries.
    pub fn of(&self, entries: usize) -> Range<usize> {
        let end = |index: usize| (entries as u128 * index as u128 / self.count as u128) as usize;
        end(self.index - 1)..end(self.index)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((index, count)) if 1 <= index && index <= count => Ok(Self { index, count }),
            _ => Err(format!("\"{text}\" is no share such as 2/4, the second of four")),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl TryFrom<String> for Share {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Share> for String {
    fn from(share: Share) -> Self {
        share.to_string()
    }
}

/// What a fit solved for a share of the vertices.
#[derive(Clone, Debug, PartialEq)]
pub struct SolvedShare {
    /// The form of the model.
    pub form: FormOfShare,
    /// Whether the examples were frames of a clip.
    pub is_clip: bool,
    /// Every example's pose and importance.
    pub poses: Vec<(BoneTransforms, f64)>,
    /// The vertices.
    pub vertices: Vec<SolvedVertex>,
}

/// What a fit chose before it solved vertices; all shares of a fit choose the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormOfShare {
    pub(super) base: BaseChoice,
    pub(super) bases: mush::Choice,
    pub(super) forms: Forms,
    pub(super) joints: JointForm,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_divide_a_list_without_rest() {
        for (entries, count) in [(0, 3), (2, 5), (100, 7), (13_380, 16)] {
            let mut end = 0;
            for index in 1..=count {
                let share: Share = format!("{index}/{count}").parse().unwrap();
                let range = share.of(entries);
                assert_eq!(range.start, end);
                end = range.end;
                assert!(range.len().abs_diff(entries / count) <= 1);
            }
            assert_eq!(end, entries);
        }
        assert_eq!(Share::default().of(7), 0..7);
        for text in ["", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "a/b"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }
}
