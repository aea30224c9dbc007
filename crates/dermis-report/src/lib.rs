//! The results of Dermis, shown: pages for people, JSON for programs, drawings, and lengths as text.
//!
//! - [`model_outcome`]: what a fit or an evaluation found out, as warnings, JSON and a page
//! - [`outcome_pair`]: two such outcomes side by side, read back from their JSON
//! - [`page`]: one self-contained HTML page with numbers, charts and the skins in 3D
//! - [`figures`]: pages of figures of papers, with what was measured beside what the paper says
//! - [`view_page`]: a rig in motion, a skeleton, or shapes of a mesh, as a viewer
//! - [`viewer`]: one self-contained HTML page that poses a model in the browser
//! - [`inspect_page`]: a rig before anything is learnt: bones, islands, left and right
//! - [`ridge_page`]: a ridge turned like a slider
//! - [`rig_page`]: how a new rig moves, where its joints are and how sure each is
//! - [`scan_page`]: scans beside the skin in their poses, and what became of the weights
//! - [`scene_picture`]: many skins on a ground, as a PNG
//! - [`transfer_page`]: what a body gave to clothes and other meshes
//! - [`svg`]: drawings of skins and curves for pages without scripts
//! - [`visible`]: names from files, safe to show
//! - [`length`](mod@length): lengths in the unit of the reader
//!
//! Nothing here opens a file, prints, or reads the environment: every function takes values and returns text or bytes.

pub mod figures;
pub mod inspect_page;
pub mod length;
pub mod model_outcome;
pub mod outcome_pair;
pub mod page;
pub mod ridge_page;
pub mod rig_page;
pub mod scan_page;
pub mod scene_picture;
pub mod svg;
mod text;
pub mod transfer_page;
pub mod view_page;
pub mod viewer;

pub use length::{LengthUnit, show_length, show_number, unit_of};
pub use model_outcome::{FitSummary, ModelOutcome, PassVerdict, ScoredExamples, SetRole, vertex_csv};
pub use outcome_pair::{DifferentSetting, OutcomeError, OutcomePair, PairedFigure, PairedPose, StoredOutcome};
pub use page::show_change;
pub use text::{visible, visible_json};
