//! Pages of figures: what a paper shows and says, beside the same figure made again and measured.
//!
//! A [`FiguresPage`] is one paper, a [`Figure`] one figure or experiment of it, named as the paper names it. The caller
//! makes the figures and measures them; this module arranges them. The page is one HTML file in the style of the report that
//! asks nothing of the network. Its [views in 3D](SkinsIn3d) are those of the report.
//!
//! A figure whose measured numbers contradict a claim of the paper is never called reproduced, whatever its maker says:
//! see [`Figure::verdict`].
//!
//! ```
//! use dermis_report::figures::{Figure, FiguresPage, Measured, Verdict};
//! let figure = Figure {
//!     name: "Figure 1".into(),
//!     title: "A candy wrapper".into(),
//!     paper: "A twist by 180° closes the tube.".into(),
//!     measured: vec![Measured::claimed("smallest radius", "0.00", "0", true)],
//!     ..Figure::default()
//! };
//! assert_eq!(figure.verdict(), Verdict::Reproduced);
//! let page = FiguresPage { title: "Twists".into(), figures: vec![figure], ..FiguresPage::default() };
//! assert!(page.to_html().contains("reproduced"));
//! ```

mod chart;
mod html;
mod index;
mod picture;

pub use chart::{LineChart, Scale, Series};
pub use index::{IndexEntry, index_page};
pub use picture::{Picture, PictureView, bone_colour, error_colour, influence_colour};

use crate::page::{LengthUnit, PageTable, RigView, SkinView};

/// A paper: its figures on one page.
#[derive(Clone, Debug, Default)]
pub struct FiguresPage {
    /// First heading, and the title of the browser's tab.
    pub title: String,
    /// One or two sentences beneath it: what is compared, what lengths and errors mean on the page.
    pub subtitle: String,
    /// The papers: authors, year, title.
    pub sources: Vec<String>,
    /// The command that makes the page.
    pub command: String,
    /// The figures, in the order of the paper.
    pub figures: Vec<Figure>,
}

/// A figure or experiment of a paper, made again.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// As the paper names it: "Figure 3", "Table 1", "Section 4.2".
    pub name: String,
    /// What it is about, a few words.
    pub title: String,
    /// What the paper shows and says.
    pub paper: String,
    /// What ours is made from, and what to see in it.
    pub ours: String,
    /// What keeps it from being the paper's figure, as its maker sees it.
    pub outcome: Verdict,
    /// The numbers, each with the claim that it is held against.
    pub measured: Vec<Measured>,
    /// What is to be seen, from top to bottom.
    pub exhibits: Vec<Exhibit>,
}

/// Whether a figure is the paper's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It shows what the paper shows, and its numbers bear out what the paper says.
    #[default]
    Reproduced,
    /// It differs, because …
    Differs(String),
    /// It is not shown, because …
    NotShown(String),
}

/// A number that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// What was measured.
    pub what: String,
    /// The number with its unit, as text.
    pub value: String,
    /// What the paper, or a closed form, says it is.
    pub claim: String,
    /// Whether the number bears out the claim; `None` without a claim that a number can bear out.
    pub holds: Option<bool>,
}

/// Something to look at.
#[derive(Clone, Debug)]
pub enum Exhibit {
    /// A sentence between others.
    Note(String),
    /// Drawings in rows and columns with names.
    Panels(PanelGrid),
    /// Drawings side by side, as many as fit.
    Drawings(Vec<CaptionedDrawing>),
    /// Skins in 3D.
    Skins(Box<SkinsIn3d>),
    /// A rig in 3D.
    Rig(Box<RigIn3d>),
    /// Numbers.
    Table(PageTable),
}

/// A drawing.
#[derive(Clone, Debug)]
pub enum Drawing {
    /// SVG of [`svg`](crate::svg) or of a [`LineChart`], complete with the style of the page.
    Svg(String),
    /// Pixels.
    Picture(Picture),
}

/// A drawing with what stands beneath it.
#[derive(Clone, Debug)]
pub struct CaptionedDrawing {
    /// The drawing.
    pub drawing: Drawing,
    /// A line of text.
    pub caption: String,
    /// Names and curves of a chart's legend: [`LineChart::legend`]; may be empty.
    pub legend: Vec<String>,
}

/// Drawings in rows and columns.
#[derive(Clone, Debug, Default)]
pub struct PanelGrid {
    /// Heads of the columns.
    pub columns: Vec<PanelColumn>,
    /// The rows, each with as many panels as there are columns.
    pub rows: Vec<PanelRow>,
}

/// Head of a column of a [`PanelGrid`].
#[derive(Clone, Debug, Default)]
pub struct PanelColumn {
    /// Its name.
    pub title: String,
    /// A word beside it, such as "sculpted"; may be empty.
    pub mark: String,
}

/// A row of a [`PanelGrid`].
#[derive(Clone, Debug, Default)]
pub struct PanelRow {
    /// Its name.
    pub name: String,
    /// Its panels.
    pub panels: Vec<Panel>,
}

/// A panel of a [`PanelGrid`].
#[derive(Clone, Debug)]
pub struct Panel {
    /// The drawing.
    pub drawing: Drawing,
    /// What stands beneath it.
    pub caption: String,
    /// Whether it is the best of its column.
    pub best: bool,
}

/// Skins in 3D, by the viewer of the report: the shape wanted, a model's, another's.
#[derive(Clone, Debug, Default)]
pub struct SkinsIn3d {
    /// What stands above it.
    pub caption: String,
    /// What the shape wanted is; "target" when empty.
    pub target_name: String,
    /// What [`ShownPose::model`](crate::page::ShownPose::model) is.
    pub model_name: String,
    /// What [`ShownPose::baseline`](crate::page::ShownPose::baseline) is.
    pub baseline_name: String,
    /// How distances are shown.
    pub unit: LengthUnit,
    /// The skins.
    pub view: SkinView,
}

/// A rig in 3D, by the viewer of the report: weights or influence maps painted on the skin, a bone at a time or all together.
#[derive(Clone, Debug, Default)]
pub struct RigIn3d {
    /// What stands above it.
    pub caption: String,
    /// What is painted when it opens.
    pub paint: RigPaint,
    /// The bone that is chosen when it opens; all bones if there is none.
    pub bone: Option<u32>,
    /// The rig.
    pub view: RigView,
}

/// What is painted on a rig.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RigPaint {
    /// Skinning weights.
    #[default]
    Weights,
    /// Influence maps.
    Maps,
}

impl Measured {
    /// A number that stands for itself.
    pub fn plain(what: impl Into<String>, value: impl Into<String>) -> Self {
        Self { what: what.into(), value: value.into(), claim: String::new(), holds: None }
    }

    /// A number that bears out a claim, or contradicts it.
    pub fn claimed(what: impl Into<String>, value: impl Into<String>, claim: impl Into<String>, holds: bool) -> Self {
        Self { what: what.into(), value: value.into(), claim: claim.into(), holds: Some(holds) }
    }
}

impl Figure {
    /// Returns the [`outcome`](Self::outcome), or "differs" if a measured number contradicts a claim all the same.
    pub fn verdict(&self) -> Verdict {
        let broken: Vec<&str> =
            self.measured.iter().filter(|m| m.holds == Some(false)).map(|m| m.what.as_str()).collect();
        match &self.outcome {
            Verdict::Reproduced if !broken.is_empty() => {
                Verdict::Differs(format!("the measured numbers contradict the claim: {}", broken.join("; ")))
            }
            outcome => outcome.clone(),
        }
    }
}

impl Verdict {
    /// Returns the verdict in words: "reproduced", "differs because …", "not shown because …".
    pub fn words(&self) -> String {
        match self {
            Self::Reproduced => "reproduced".into(),
            Self::Differs(why) => format!("differs because {why}"),
            Self::NotShown(why) => format!("not shown because {why}"),
        }
    }

    /// Returns one word for it: `reproduced`, `differs`, `not-shown`.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differs(_) => "differs",
            Self::NotShown(_) => "not-shown",
        }
    }
}

impl FiguresPage {
    /// Returns the page as HTML, one file that needs nothing else.
    pub fn to_html(&self) -> String {
        html::whole(self)
    }

    /// Returns names, verdicts and measured numbers as lines for a terminal.
    pub fn lines(&self) -> Vec<String> {
        let wide = self.figures.iter().flat_map(|f| &f.measured).map(|m| m.what.chars().count()).max().unwrap_or(0);
        let mut lines = vec![self.title.clone()];
        for figure in &self.figures {
            lines.push(format!("{}, {}: {}", figure.name, figure.title, figure.verdict().words()));
            for m in &figure.measured {
                let claim = match (m.claim.is_empty(), m.holds) {
                    (true, _) => String::new(),
                    (false, Some(false)) => format!("   contradicts: {}", m.claim),
                    (false, _) => format!("   claim: {}", m.claim),
                };
                lines.push(format!("  {:<wide$}  {}{claim}", m.what, m.value));
            }
        }
        lines
    }
}
