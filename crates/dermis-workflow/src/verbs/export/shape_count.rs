//! How many morph targets an export has, as the settings of what makes them.

use crate::verbs::export::drivers::{DriverSettings, PoseSpaceSettings};
use serde::{Deserialize, Serialize};

/// How many morph targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShapeCount {
    /// So many at most.
    Most(usize),
    /// As many as the model has; nothing is compressed.
    All,
}

/// How a joint model is driven.
pub(super) fn driver_settings(shapes: Option<ShapeCount>, influences: Option<usize>) -> DriverSettings {
    let shapes = match shapes {
        None => DriverSettings::default().shapes,
        Some(ShapeCount::Most(most)) => Some(most),
        Some(ShapeCount::All) => None,
    };
    DriverSettings { shapes, influences }
}

/// How a pose space is driven.
pub(super) fn pose_space_settings(
    shapes: Option<ShapeCount>,
    kernels: Option<usize>,
    influences: Option<usize>,
) -> PoseSpaceSettings {
    let shapes = shapes.map(|shapes| match shapes {
        ShapeCount::Most(most) => most,
        ShapeCount::All => usize::MAX,
    });
    PoseSpaceSettings { shapes, kernels, influences }
}
