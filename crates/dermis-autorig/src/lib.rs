//! From a bare mesh to a rig: a skeleton embedded in its shape, and weights.
//!
//! ```text
//! mesh → Body → Field → balls → Graph → embeddings → Places → Skeleton → weights
//! ```
//!
//! - [`body`]: any triangle soup, welded, oriented, upright
//! - [`winding`], [`outer`], [`field`]: inside and outside, the skin between them, and how far it is
//! - [`medial`], [`graph`]: balls that fill the shape, and the ways between them
//! - [`symmetry`]: left and right
//! - [`template`]: what is looked for
//! - [`penalties`], [`embed`]: the best embeddings of a template's landmarks
//! - [`limb`], [`place`]: centre lines, and all joints
//! - [`confidence`]: how far the place of a joint is to be trusted
//! - [`weigh`]: bone heat on the body, and what lies on it
//!
//! Source: Baran & Popović 2007, Automatic rigging and animation of 3D characters. Modules name their departures.

pub mod body;
pub mod confidence;
pub mod embed;
pub mod field;
pub mod frame;
pub mod graph;
pub mod limb;
pub mod medial;
pub mod outer;
pub mod penalties;
pub mod place;
mod rigged;
pub mod symmetry;
pub mod template;
pub mod weigh;
pub mod winding;

pub use confidence::Verdict;
pub use dermis_motion::body::Convention;
pub use rigged::{AutoRig, AutoRigError, AutoRigReport, AutoRigSettings, FoundJoint, autorig};
pub use template::Template;
