//! Measures, as data: how far a prediction is from its examples, and what a deformer does to volumes and radii.
//!
//! - [`errors`]: an [`ErrorAccumulator`] takes (target, prediction) frames one by one and gives an [`ErrorReport`];
//! - [`pass`]: a demand such as "1 mm in 98 %", and whether it is met;
//! - [`quantiles`]: percentiles over more numbers than one wants to keep;
//! - [`mod@volume`]: the volume a closed mesh encloses, and the radius of a ring;
//! - [`crowd`]: levels of detail, skins batch by batch, and what each level costs;
//! - [`mod@score`]: the scores of a model on examples; [`runner`]: a model over whole motions;
//! - [`mod@stress`]: whether a model keeps the promise of its guard in any pose;
//! - [`rig_check`]: what is seen of a rig before anything is learnt: islands, symmetry, what bones hold;
//! - [`tube`]: the two classical artefacts, measured on a tube that bends and twists.
//!
//! Lengths are metres, or whatever unit the positions have; each relative number names what it is relative to.
//!
//! ```
//! use dermis_measure::ErrorAccumulator;
//! use dermis_rig::glam::DVec3;
//! let target = [DVec3::ZERO, DVec3::X];
//! let mut errors = ErrorAccumulator::new(2, 1.0);
//! errors.add_frame("elbow 90", &target, &[DVec3::ZERO, DVec3::new(1.0, 0.0, 0.1)])?;
//! let report = errors.finish().unwrap();
//! assert_eq!(report.error.max, 0.1);
//! assert_eq!(report.worst_vertices[0].vertex, 1);
//! # Ok::<(), dermis_measure::MeasureError>(())
//! ```

pub mod crowd;
pub mod distances;
pub mod errors;
pub mod pass;
pub mod quantiles;
pub mod rig_check;
pub mod runner;
pub mod score;
pub mod stress;
pub mod tube;
pub mod volume;

pub use distances::{Distance, Distances};
pub use errors::{
    ErrorAccumulator, ErrorReport, ErrorStats, MeasureError, PerPoseError, WorstVertex, distortion_percent,
    e_rms_of_diagonal, e_rms_of_radius,
};
pub use pass::{PassError, PassRule, Within};
pub use quantiles::Quantiles;
pub use runner::{MotionRun, Posed, WideRunner, run_motion, within_memory};
pub use score::{BESIDE, FrameScore, Scores, Scoring, Totals, measure, measure_within};
pub use stress::{Stress, stress};
pub use tube::{Artefact, Movement, Tube, TubeError};
pub use volume::{enclosed_volume, ring_radius_ratio, volume};
