//! Figures of multi-weight enveloping: Wang & Phillips 2002.
//!
//! - `two_poses`: collapse and candy wrapper with single weights, cured from few poses (figures 1 to 3)
//! - `maps`: influence maps (figure 4)
//! - `ridges`: no regularisation, ordinary ridge, local ridge (figure 5), and the threshold of the principal axes
//! - `sculpting`: a session of seven steps (figure 6 and its text), as a script
//! - `side_by_side`: single weights, enveloping and pose space (figures 7 to 10)
//! - `shots`: a session that reuses simulated shots
//! - `operations`: multiplications and additions of equation 3, counted
//! - `sizes`: time and memory at the sizes of the two creatures

mod maps;
mod operations;
mod ridges;
mod sculpting;
mod shots;
mod side_by_side;
mod sizes;
mod two_poses;

use crate::{Character, FigureError};
use dermis_fit::Progress;
use dermis_report::figures::FiguresPage;

/// Makes and measures the figures.
///
/// # Errors
/// As [`Document::draw`](crate::Document::draw).
pub(crate) fn page(character: &Character, progress: Progress<'_>) -> Result<FiguresPage, FigureError> {
    const STEPS: u64 = 9;
    let mut done = 0;
    let mut step = || {
        done += 1;
        crate::error::go_on(progress(done - 1, STEPS))
    };
    let thin = character.thinned(4000)?;
    let mut figures = Vec::new();
    step()?;
    figures.extend(two_poses::figures()?);
    step()?;
    figures.push(maps::figure(character)?);
    step()?;
    figures.push(ridges::regularisation(character, &thin)?);
    step()?;
    figures.push(sculpting::figure(&thin)?);
    step()?;
    figures.push(side_by_side::figure(character)?);
    step()?;
    figures.push(shots::figure(&thin)?);
    step()?;
    figures.push(operations::figure());
    step()?;
    figures.push(ridges::thresholds(&thin)?);
    step()?;
    figures.push(sizes::figure()?);
    Ok(FiguresPage {
        title: "Multi-weight enveloping in figures".into(),
        subtitle: format!(
            "Enveloping by least squares beside linear blending with one weight per bone, and beside pose space. Tubes have their \
             shape wanted in closed form; the character is \"{}\" ({} vertices, {} bones, {} examples, {} held out). Lengths are in \
             millimetres where a unit of the character is a metre.",
            character.rig().name(),
            character.rig().mesh().positions.len(),
            character.rig().skeleton().len(),
            character.examples().len(),
            character.held_out().len()
        ),
        sources: vec![
            "Wang & Phillips 2002, Multi-weight enveloping: least-squares approximation techniques for skin animation"
                .into(),
        ],
        figures,
        ..FiguresPage::default()
    })
}

/// Writes a length of the character in thousandths of its unit.
fn mm(length: f64) -> String {
    format!("{:.3} mm", 1e3 * length)
}
