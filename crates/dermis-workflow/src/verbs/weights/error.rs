//! Why no weights can be made.

use dermis_files::Phrase;
use dermis_fit::register::{Failure, RegisterError};
use dermis_fit::{HeatError, ScanError};

/// Why no weights can be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Bone heat failed.
    #[error(transparent)]
    Heat(HeatError),
    /// A fit to scans failed.
    #[error(transparent)]
    Scans(ScanError),
    /// Poses of scans cannot be looked for.
    #[error(transparent)]
    Register(RegisterError),
    /// No scan has a pose.
    #[error("none of {} scans has a pose: {}", reasons.len(), first_reasons(reasons))]
    NoScanPosed {
        /// Every scan, and why.
        reasons: Vec<(String, Failure)>,
    },
    /// No bone of the rig has a name that a pattern matches.
    #[error("{pattern}: none of the {bones} bones is called that")]
    NoSuchBone {
        /// The pattern, in which `*` stands for any text.
        pattern: String,
        /// Bones of the rig.
        bones: usize,
    },
    /// A set of examples is empty.
    #[error("the set \"{set}\" holds no examples")]
    NoExamples {
        /// What the set is called.
        set: String,
    },
}

impl Error {
    pub(crate) fn message(&self) -> Phrase {
        match self {
            Self::NoSuchBone { pattern, bones } => {
                Phrase::of_value("skip", pattern, format!(": none of the {bones} bones is called that"))
            }
            Self::Heat(_) | Self::Scans(_) | Self::Register(_) | Self::NoScanPosed { .. } | Self::NoExamples { .. } => {
                Phrase::text(self.to_string())
            }
        }
    }

    pub(crate) fn remedy(&self) -> Phrase {
        match self {
            Self::Scans(ScanError::Apart { turned_away, too_far, .. }) => match turned_away > too_far {
                true => "is the scan inside out? Its triangles must be counter-clockwise seen from outside".into(),
                false => "check unit and axes of the scan (`up`) and that the pose is its own, or raise `reach`; the rig's rest pose moved \
                     by the pose must lie on the scan"
                    .into(),
            },
            Self::NoScanPosed { reasons } => match reasons.iter().any(|(_, why)| matches!(why, Failure::Size { .. })) {
                true => "name the unit of the scans: `unit=0.01` for centimetres, 0.001 for millimetres".into(),
                false => "check that the scans show this rig's character, cut away what they show besides, or give rough poses: `poses=poses.npz` `rough=true`"
                    .into(),
            },
            Self::Heat(_) | Self::Scans(_) | Self::Register(_) | Self::NoSuchBone { .. } | Self::NoExamples { .. } => {
                Phrase::default()
            }
        }
    }
}

/// Three scans and why they have no pose.
fn first_reasons(reasons: &[(String, Failure)]) -> String {
    let shown: Vec<String> = reasons.iter().take(3).map(|(scan, why)| format!("\"{scan}\": {why}")).collect();
    let more = if reasons.len() > 3 { "; ..." } else { "" };
    format!("{}{more}", shown.join("; "))
}
