//! Pages of figures: what a paper shows and says, beside the same figure made again and measured.
//!
//! A [`FiguresPage`] is one paper, a [`Figure`] one figure or experiment of it, named as the paper names it. The caller
//! makes the figures and measures them; this module arranges them. The page is one HTML file in the style of the report that
//! asks nothing of the network. Its [views in 3D](SkinsIn3d) are those of the report.
//!
//! A figure whose measured numbers contradict a claim of the paper is never called reproduced, whatever its maker says, nor is one that holds no
//! number against a claim: see [`Figure::verdict`]. A page also lists the [parts](Part) of the paper, each with the figure that shows it or
//! the reason why none does.
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
    /// What the paper has, in its order: its figures, or its topics where they have no number. Empty if the figures are all.
    pub parts: Vec<Part>,
}

/// What a paper has: a figure, a slide, a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// As the paper names it: "Figure 4".
    pub name: String,
    /// What it shows, a few words.
    pub what: String,
    /// Where it is on the page.
    pub shown: Shown,
}

/// Where a part of a paper is on its page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// In the figure of this name.
    In(String),
    /// Nowhere, because …
    Nowhere(String),
}

impl Default for Shown {
    fn default() -> Self {
        Self::Nowhere("nobody made it".into())
    }
}

/// A row of the list of what a paper has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// As the paper names it.
    pub name: &'a str,
    /// What it shows.
    pub what: &'a str,
    /// The verdict of the figure that shows it, or why none does.
    pub verdict: Verdict,
    /// The figure, by its place on the page.
    pub figure: Option<usize>,
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
    /// Returns the [`outcome`](Self::outcome) as the numbers bear it out: "differs" if one contradicts a claim, or none is held against one. A
    /// contradicted claim is named.
    pub fn verdict(&self) -> Verdict {
        let held = |holds: bool| self.measured.iter().filter(move |m| m.holds == Some(holds)).map(|m| m.what.as_str());
        let broken: Vec<&str> = held(false).collect();
        match &self.outcome {
            Verdict::Reproduced if !broken.is_empty() => {
                Verdict::Differs(format!("the measured numbers contradict the claim: {}", broken.join("; ")))
            }
            Verdict::Reproduced if held(true).next().is_none() => {
                Verdict::Differs("no number could be held against a claim".into())
            }
            Verdict::Differs(why) if !broken.is_empty() => {
                Verdict::Differs(format!("{why}; and the measured numbers contradict a claim: {}", broken.join("; ")))
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
    /// Returns what the paper has, with the verdict of each: the [`parts`](Self::parts), or the figures if there are none.
    pub fn listed(&self) -> Vec<Listed<'_>> {
        let mut listed = Vec::new();
        if self.parts.is_empty() {
            for (at, figure) in self.figures.iter().enumerate() {
                let (name, what) = (figure.name.as_str(), figure.title.as_str());
                listed.push(Listed { name, what, verdict: figure.verdict(), figure: Some(at) });
            }
        }
        for part in &self.parts {
            let (verdict, figure) = match &part.shown {
                Shown::In(name) => match self.figures.iter().position(|figure| figure.name == *name) {
                    Some(at) => (self.figures[at].verdict(), Some(at)),
                    None => (Verdict::NotShown(format!("the page has no figure \"{name}\"")), None),
                },
                Shown::Nowhere(why) => (Verdict::NotShown(why.clone()), None),
            };
            listed.push(Listed { name: &part.name, what: &part.what, verdict, figure });
        }
        listed
    }

    /// Returns the page as HTML, one file that needs nothing else.
    pub fn to_html(&self) -> String {
        html::whole(self)
    }

    /// Returns names, verdicts and measured numbers as lines for a terminal, and what the page does not show.
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
        let without = self.listed().into_iter().filter(|listed| listed.figure.is_none());
        lines.extend(without.map(|listed| format!("{}, {}: {}", listed.name, listed.what, listed.verdict.words())));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(outcome: Verdict, holds: &[Option<bool>]) -> Figure {
        let measured = holds.iter().enumerate().map(|(at, holds)| Measured {
            what: format!("number {at}"),
            value: "1".into(),
            claim: "1".into(),
            holds: *holds,
        });
        Figure { name: "Figure 1".into(), outcome, measured: measured.collect(), ..Figure::default() }
    }

    /// A verdict is never better than its numbers, and a contradicted claim is never passed over.
    #[test]
    fn a_verdict_is_what_the_numbers_bear_out() {
        let differs = || Verdict::Differs("the body is another".into());
        let hidden = || Verdict::NotShown("there is no body".into());
        for (outcome, holds, words) in [
            (Verdict::Reproduced, &[Some(true), None][..], "reproduced"),
            (
                Verdict::Reproduced,
                &[Some(true), Some(false)],
                "differs because the measured numbers contradict the claim: number 1",
            ),
            (Verdict::Reproduced, &[None], "differs because no number could be held against a claim"),
            (Verdict::Reproduced, &[], "differs because no number could be held against a claim"),
            (differs(), &[Some(true)], "differs because the body is another"),
            (
                differs(),
                &[Some(false)],
                "differs because the body is another; and the measured numbers contradict a claim: number 0",
            ),
            (hidden(), &[Some(true)], "not shown because there is no body"),
        ] {
            assert_eq!(figure(outcome, holds).verdict().words(), words);
        }
    }

    /// What a page does not show stands there with its reason, and without a mark that says otherwise.
    #[test]
    fn what_is_not_shown_is_listed_with_its_reason() {
        let part = |name: &str, shown: Shown| Part { name: name.into(), what: "a shape".into(), shown };
        let page = FiguresPage {
            figures: vec![figure(Verdict::Reproduced, &[Some(true)])],
            parts: vec![
                part("Figure 1", Shown::In("Figure 1".into())),
                part("Figure 2", Shown::Nowhere("it is drawn by hand".into())),
                part("Figure 3", Shown::In("Figure 9".into())),
            ],
            ..FiguresPage::default()
        };
        let words: Vec<String> = page.listed().iter().map(|listed| listed.verdict.words()).collect();
        let expected = [
            "reproduced",
            "not shown because it is drawn by hand",
            "not shown because the page has no figure \"Figure 9\"",
        ];
        assert_eq!(words, expected);
        assert_eq!(page.lines().iter().filter(|line| line.contains("not shown because")).count(), 2);
        let (html, index) = (page.to_html(), index_page(&[IndexEntry { file: "a.html", page: &page }]));
        for html in [&html, &index] {
            assert!(html.contains("not shown because it is drawn by hand") && html.contains("1 reproduced"), "{html}");
        }
        // A figure that is not shown has no ticks, whatever its numbers say.
        let hidden = FiguresPage {
            figures: vec![figure(Verdict::NotShown("there is no body".into()), &[Some(true)])],
            ..FiguresPage::default()
        };
        assert!(html.contains('✓') && !hidden.to_html().contains('✓'));
        // A skin without triangles has no view; the page says so.
        let empty =
            Figure { exhibits: vec![Exhibit::Skins(Box::default())], ..figure(Verdict::Reproduced, &[Some(true)]) };
        let html = FiguresPage { figures: vec![empty], ..FiguresPage::default() }.to_html();
        assert!(html.contains("The 3D view is not shown because"), "{html}");
    }
}
