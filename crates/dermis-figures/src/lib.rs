//! Figures and experiments of papers, made again and measured.
//!
//! A [`Document`] is a paper, or what belongs together of several. [`Document::draw`] makes its figures from shapes in closed
//! form and from a [`Character`], and returns a page of them: for each figure its name in the paper, what the paper shows and
//! says, drawings, and numbers beside the claims that they bear out or contradict.
//!
//! - `envelope`: multi-weight enveloping
//! - `skinning`: what a text on skinning shows of weights, bends and twists
//! - `course`: a lecture on animation and skinning, and the papers beside it
//! - `scans`: influences and weights from scans
//! - `pose_space`: pose-space deformation in its forward and inverse forms
//!
//! Results do not depend on the number of threads; seconds, where a page shows any, do.

mod character;
mod course;
mod document;
mod envelope;
mod error;
mod learning;
mod limb;
mod parts;
mod pose_space;
mod rig_view;
mod scans;
mod skinning;
mod tube;

pub use character::Character;
pub use dermis_report::figures::{Figure, FiguresPage, IndexEntry, Listed, Measured, Part, Shown, Verdict, index_page};
pub use document::Document;
pub use error::FigureError;
