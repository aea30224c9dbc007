//! What a text on skinning for characters shows: weights by bone; rigid binding, smooth binding, dual quaternions and pose blend
//! shapes side by side on a bend and on a twist; normals; and what learnt body models add.
//!
//! Closed forms for linear blending, with weights (1 − u, u) linear along a tube: a twist by a leaves the radius
//! √(1 − 2u(1 − u)(1 − cos a)) and 1 − (1 − cos a)/3 of the blend zone's volume; a bend leaves cos(a/2) of the thickness in its plane and
//! 1 − (1 − cos a)/6 of the volume.

mod learnt;
mod normals;
mod ways;
mod weights;

use crate::limb::TubeRig;
use crate::{Character, FigureError};
use dermis_fit::Progress;
use dermis_measure::Movement;
use dermis_report::figures::FiguresPage;

/// Makes and measures the figures.
///
/// # Errors
/// As [`Document::draw`](crate::Document::draw).
pub(crate) fn page(character: &Character, progress: Progress<'_>) -> Result<FiguresPage, FigureError> {
    let tube = TubeRig::new()?;
    let mut figures = vec![weights::figure(character)];
    dermis_rig::progress::proceed(progress, 1, 5)?;
    for (at, movement) in [Movement::Bend, Movement::Twist].into_iter().enumerate() {
        let ways = ways::Ways::new(&tube, movement)?;
        figures.push(ways.figure());
        figures.push(ways.along_the_tube());
        dermis_rig::progress::proceed(progress, at + 2, 5)?;
    }
    figures.push(normals::figure(&tube)?);
    figures.extend(learnt::figures(character)?);
    Ok(FiguresPage {
        title: "Skinning for characters in figures".into(),
        subtitle: "Weights of a character, and four ways to deform a tube that bends and twists: rigid binding, smooth binding (linear \
                   blend skinning), dual quaternions, and pose blend shapes learnt from sculpts. Volumes and radii are shares of those at rest."
            .into(),
        sources: vec![
            "A text on skinning for characters".into(),
            "Kavan, Collins, Žára & O'Sullivan 2007, Skinning with dual quaternions".into(),
            "Loper et al. 2015, SMPL; Osman, Bolkart & Black 2020, STAR".into(),
        ],
        figures,
        ..FiguresPage::default()
    })
}
