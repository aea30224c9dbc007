//! Joint limits as a file: which joints turn otherwise than their anatomy says.
//!
//! ```json
//! { "joints": {
//!     "lowerarm_l": { "bend": [0, 120] },
//!     "tail_01":    { "cone": 30, "twist": [-10, 10] },
//!     "jaw":        { "axis": [1, 0, 0], "range": [0, 25] },
//!     "cape_01":    { "locked": true } } }
//! ```
//!
//! Angles are degrees from rest, vectors are in the bone's own axes. `bend`, `lean` and `twist` change the ranges of a joint
//! that has some; `axis` and `side` change the axes that they are about. `axis` with `range` makes a hinge, `cone` a joint that swings alike in every direction.

use crate::error::Error;
use dermis_motion::anatomy::{Anatomy, LimitFrom};
use dermis_motion::ik::{JointLimits, LimitError};
use dermis_rig::Skeleton;
use dermis_rig::glam::DVec3;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A file of limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsFile {
    /// Joints by the names of their bones.
    pub joints: BTreeMap<String, JointEntry>,
}

/// What the file says of a joint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointEntry {
    /// The joint stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<bool>,
    /// The axis of a hinge, or of twist, in the bone's own frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// The axis that bending is about, in the bone's own frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<[f64; 3]>,
    /// Angles of a hinge, degrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Degrees about `side`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bend: Option<[f64; 2]>,
    /// Degrees about `axis` × `side`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lean: Option<[f64; 2]>,
    /// Degrees about `axis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twist: Option<[f64; 2]>,
    /// Degrees in every direction, in place of `bend` and `lean`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cone: Option<f64>,
}

/// Why an entry makes no limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
enum EntryError {
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error("{0}")]
    Words(&'static str),
}

/// Reads the text of a limits file.
///
/// # Errors
/// [`Error`] names the line and what is not understood there.
pub fn parse(text: &str, path: &Path) -> Result<LimitsFile, Error> {
    serde_json::from_slice(text.as_bytes()).map_err(|e| {
        let hint = "joints are named by their bones: {\"joints\": {\"lowerarm_l\": {\"bend\": [0, 120]}}}";
        Error::lacks(path, format!("these are no joint limits: {e}"), hint)
    })
}

impl LimitsFile {
    /// Changes the limits of the joints that the file names.
    ///
    /// # Errors
    /// [`Error`] names the joint: no bone has the name, or the numbers make no limit.
    pub fn apply(&self, anatomy: &mut Anatomy, skeleton: &Skeleton, path: &Path) -> Result<(), Error> {
        for (name, entry) in &self.joints {
            let Some(bone) = skeleton.find(name) else {
                let what = format!("there is no bone \"{name}\" among the rig's {}", skeleton.len());
                return Err(Error::lacks(path, what, "`dermis inspect` RIG lists the bones"));
            };
            anatomy.limits[bone] = entry.limits(&anatomy.limits[bone]).map_err(|error| {
                Error::lacks(
                    path,
                    format!("joint \"{name}\": {error}"),
                    "angles are degrees, vectors have three numbers",
                )
            })?;
            anatomy.from[bone] = LimitFrom::Given;
        }
        Ok(())
    }

    /// The limits of a skeleton as a file, to be changed and read again.
    pub fn of(anatomy: &Anatomy, skeleton: &Skeleton) -> Self {
        let degrees = |range: [f64; 2]| Some(range.map(|x| (x.to_degrees() * 1e6).round() / 1e6));
        let entry = |limits: &JointLimits| match limits {
            JointLimits::Free => {
                JointEntry { cone: Some(180.0), twist: Some([-180.0, 180.0]), ..JointEntry::default() }
            }
            JointLimits::Locked => JointEntry { locked: Some(true), ..JointEntry::default() },
            JointLimits::Hinge(hinge) => JointEntry {
                axis: Some(hinge.axis().to_array()),
                range: degrees(hinge.range()),
                ..JointEntry::default()
            },
            JointLimits::Cone(cone) => JointEntry {
                axis: Some(cone.axis().to_array()),
                side: Some(cone.side().to_array()),
                bend: degrees(cone.swing()[0]),
                lean: degrees(cone.swing()[1]),
                twist: degrees(cone.twist()),
                ..JointEntry::default()
            },
        };
        let named = skeleton.bones().map(|bone| (skeleton.names()[bone].clone(), entry(&anatomy.limits[bone])));
        Self { joints: named.collect() }
    }
}

impl JointEntry {
    /// The limits that the entry makes of those that a joint has.
    fn limits(&self, known: &JointLimits) -> Result<JointLimits, EntryError> {
        let radians = |range: [f64; 2]| range.map(f64::to_radians);
        let words = |words: &'static str| Err(EntryError::Words(words));
        let others = self.range.is_some() || self.cone.is_some() || self.bend.is_some() || self.lean.is_some();
        if self.locked == Some(true) {
            return match others || self.twist.is_some() || self.axis.is_some() || self.side.is_some() {
                true => words("a locked joint has no angles"),
                false => Ok(JointLimits::Locked),
            };
        }
        if let Some(range) = self.range {
            let Some(axis) = self.axis else { return words("a hinge with a \"range\" needs its \"axis\"") };
            return match self.bend.is_some() || self.lean.is_some() || self.twist.is_some() || self.cone.is_some() {
                true => words("a hinge has a \"range\" and no other angles"),
                false => Ok(JointLimits::hinge(DVec3::from_array(axis), radians(range))?),
            };
        }
        if self.cone.is_some() && (self.bend.is_some() || self.lean.is_some()) {
            return words("\"cone\" stands in place of \"bend\" and \"lean\"");
        }
        let known = match known {
            JointLimits::Cone(cone) => Some(cone),
            _ => None,
        };
        let axis = self.axis.map(DVec3::from_array).or(known.map(|cone| cone.axis()));
        let (Some(axis), true) = (axis, others || self.twist.is_some() || self.axis.is_some()) else {
            return words(
                "it needs \"bend\", \"lean\", \"twist\", \"cone\", \"range\" or \"locked\", and an \"axis\" if the joint had no limits",
            );
        };
        let side = self.side.map(DVec3::from_array).or(known.filter(|_| self.axis.is_none()).map(|cone| cone.side()));
        let side = side.unwrap_or_else(|| axis.normalize_or(DVec3::Y).any_orthonormal_vector());
        let round = self.cone.map(|cone| [-cone, cone]);
        let range = |given: Option<[f64; 2]>, had: Option<[f64; 2]>| given.map(radians).or(had).unwrap_or([0.0; 2]);
        let bend = range(self.bend.or(round), known.map(|cone| cone.swing()[0]));
        let lean = range(self.lean.or(round), known.map(|cone| cone.swing()[1]));
        let twist = range(self.twist, known.map(|cone| cone.twist()));
        Ok(JointLimits::cone(axis, side, [bend, lean], twist)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_testkit::Tree;

    fn path() -> &'static Path {
        Path::new("limits.json")
    }

    fn applied(text: &str) -> Result<Anatomy, Error> {
        let tree = Tree::new(4, 20, 1);
        let skeleton = tree.rig.skeleton();
        let mut anatomy = Anatomy::new(skeleton, |_| true);
        parse(text, path())?.apply(&mut anatomy, skeleton, path())?;
        Ok(anatomy)
    }

    /// What is written says the same when it is read.
    #[test]
    fn limits_come_back() {
        let tree = Tree::new(5, 20, 2);
        let skeleton = tree.rig.skeleton();
        let mut anatomy = Anatomy::new(skeleton, |_| true);
        anatomy.limits[dermis_rig::BoneIndex::new(1)] = JointLimits::hinge(DVec3::X, [-0.1, 1.0]).unwrap();
        anatomy.limits[dermis_rig::BoneIndex::new(2)] = JointLimits::Locked;
        let text = serde_json::to_string(&LimitsFile::of(&anatomy, skeleton)).unwrap();
        let mut again = Anatomy::new(skeleton, |_| true);
        parse(&text, path()).unwrap().apply(&mut again, skeleton, path()).unwrap();
        for bone in skeleton.bones() {
            let (a, b) = (&anatomy.limits[bone], &again.limits[bone]);
            // Degrees are stored to 1e-6: one allows what the other does.
            let q = dermis_rig::rotation::from_rotation_vector(DVec3::new(0.9, -1.2, 0.8));
            assert!(a.nearest(q).abs_diff_eq(b.nearest(q), 1e-7), "{a:?} {b:?}");
        }
        assert!(again.from.iter().all(|from| *from == LimitFrom::Given));
    }

    #[test]
    fn an_entry_changes_what_it_names() {
        let anatomy =
            applied(r#"{"joints": {"bone 1": {"bend": [-10, 90]}, "bone 2": {"axis": [0, 0, 2], "range": [5, 60]}}}"#)
                .unwrap();
        let JointLimits::Cone(cone) = &anatomy.limits[dermis_rig::BoneIndex::new(1)] else { panic!() };
        assert!((cone.swing()[0][1] - 90f64.to_radians()).abs() < 1e-12);
        assert!((cone.swing()[1][1] - 45f64.to_radians()).abs() < 1e-12, "the lean is as it was");
        let JointLimits::Hinge(hinge) = &anatomy.limits[dermis_rig::BoneIndex::new(2)] else { panic!() };
        assert_eq!(hinge.axis(), DVec3::Z);
    }

    #[test]
    fn bad_entries_are_named() {
        for (text, said) in [
            ("{\"joints\": {", "line 1"),
            (r#"{"joints": {"bone 9": {}}}"#, "no bone \"bone 9\""),
            (r#"{"joints": {"bone 1": {"bned": [0, 1]}}}"#, "bned"),
            (r#"{"joints": {"bone 1": {}}}"#, "joint \"bone 1\": it needs"),
            (r#"{"joints": {"bone 1": {"bend": [10, 90]}}}"#, "does not hold 0"),
            (r#"{"joints": {"bone 1": {"bend": [10, -90]}}}"#, "no range"),
            (r#"{"joints": {"bone 1": {"range": [0, 90]}}}"#, "needs its \"axis\""),
            (r#"{"joints": {"bone 1": {"axis": [0, 0, 0], "range": [0, 90]}}}"#, "no direction"),
            (r#"{"joints": {"bone 1": {"locked": true, "bend": [0, 1]}}}"#, "no angles"),
            (r#"{"joints": {"bone 1": {"cone": 20, "bend": [0, 1]}}}"#, "in place of"),
            (r#"{"joints": {"bone 1": {"cone": 1e300}}}"#, "no range"),
            (r#"{"joints": {"bone 1": {"axis": [1, 0, 0], "side": [2, 0, 0], "cone": 20}}}"#, "along the axis"),
        ] {
            let error = applied(text).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("limits.json"), "{text}: {error}");
        }
    }
}
