//! What a lecture on animation and skinning shows (MIT 6.837), and the papers beside it: collapse, candy wrapper, bind pose, a face with
//! controls of meaning, keys, a clock, bodies that fall, kinematics, motion capture, rotational regression, decomposition, automatic weights.

mod capture;
mod controls;
mod embedding;
mod kinematics;
mod papers;
mod physical;
mod skin;

use crate::{Character, FigureError};
use dermis_fit::Progress;
use dermis_report::figures::FiguresPage;

/// Makes and measures the figures.
///
/// # Errors
/// As [`Document::draw`](crate::Document::draw).
pub(crate) fn page(character: &Character, progress: Progress<'_>) -> Result<FiguresPage, FigureError> {
    let mut figures = skin::figures(character)?;
    dermis_rig::progress::proceed(progress, 1, 4)?;
    figures.extend(controls::figures()?);
    figures.push(physical::figure()?);
    figures.push(kinematics::figure()?);
    figures.push(capture::figure()?);
    dermis_rig::progress::proceed(progress, 2, 4)?;
    figures.extend(papers::figures(progress)?);
    figures.push(embedding::figure(character, &|_, _| progress(3, 4))?);
    Ok(FiguresPage {
        title: "A lecture on animation and skinning in figures".into(),
        subtitle: "Skeletal animation from keys to skin, on a character and on shapes made for the purpose, and the papers that a lecture names \
                   beside it."
            .into(),
        sources: vec![
            "MIT 6.837, Computer Graphics, lecture on animation and skinning".into(),
            "Wang, Pulli & Popović 2007, Real-time enveloping with rotational regression".into(),
            "James & Twigg 2005, Skinning mesh animations".into(),
            "Baran & Popović 2007, Automatic rigging and animation of 3D characters".into(),
        ],
        figures,
        ..FiguresPage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_fit::silent;
    use dermis_report::figures::Figure;

    /// No number contradicts its claim; the bundled character has no part in these.
    #[test]
    fn claims_are_borne_out() {
        let mut figures: Vec<Figure> = controls::figures().unwrap();
        figures.push(kinematics::figure().unwrap());
        figures.extend(papers::figures(&silent).unwrap());
        figures.extend(skin::tube_figures().unwrap());
        for figure in &figures {
            for m in &figure.measured {
                assert_ne!(m.holds, Some(false), "{}: {} {} against {}", figure.name, m.what, m.value, m.claim);
            }
        }
    }
}
