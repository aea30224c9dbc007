//! The report people look at: one self-contained HTML page with the numbers, charts and the skins in 3D.
//!
//! [`Page::to_html`] turns a [`Page`] into text. The caller computes everything on a page; this module arranges, formats
//! and escapes it. The file needs no network and no other file, and its content policy forbids both. Any current browser
//! opens it. Without scripts it is readable as plain tables. The 3D view is WebGL 2 without libraries. A small software
//! rasteriser replaces it where there is no WebGL, or when the address ends in `#renderer=software`.
//!
//! Lengths in a [`Page`] are in mesh units; [`LengthUnit`] says what the reader sees. Shares lie in 0..=1. A number that
//! is not finite is shown as `–`. The 3D view leaves out a vertex that is not finite.
//!
//! ```
//! use dermis_report::page::{KeyFigure, Page, Quantity};
//! let error = Quantity::Length(0.00106);
//! let page = Page {
//!     title: "arm: mwe".into(),
//!     figures: vec![KeyFigure { label: "Held-out error".into(), value: error, note: "rms".into() }],
//!     ..Page::default()
//! };
//! let html = page.to_html();
//! assert!(html.contains("1.06") && html.contains("mm"));
//! ```

mod charts;
mod content;
pub(crate) mod html;
mod lacks;
mod quantity;
pub(crate) mod rig;
pub(crate) mod skins;

pub use crate::length::LengthUnit;
pub use content::{
    FileStamp, KeyFigure, MethodRow, Page, PageTable, PageVerdict, PageWarning, PoseRef, Provenance, ScoredPose,
    ScoredSet, StrengthSweep, SweptStrength, Tone, WorstVertexRow,
};
pub use lacks::{LacksRow, lacks_table};
pub use quantity::{Quantity, show_change};
pub use rig::{RigArc, RigBone, RigMirror, RigView};
pub use skins::{DrawnSurface, Precision, ShownPose, SkinView, shown_positions};

impl PageTable {
    /// Returns the table as HTML for a page with the report's style: its note and its rows, without a heading.
    pub fn to_html(&self, unit: &LengthUnit) -> String {
        html::free_table(self, unit)
    }
}

impl Page {
    /// Returns the page as HTML text, to be written to one file.
    ///
    /// It always returns a page. It leaves out poses whose vertex count differs from the mesh's, and triangles that name
    /// a vertex beyond the mesh; the page lists both among its warnings. The same page gives the same bytes.
    pub fn to_html(&self) -> String {
        html::whole_page(self)
    }
}
