//! Whether skins are those of the poses they come with: in the unit, the axes and the vertex order that were assumed. What is
//! wrong in one of these would be learnt without complaint. The rig's own weights say what is expected.

use crate::error::FileError;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, Rig};
use std::path::Path;

/// Examples that are looked at: what is wrong with a file is wrong with all of them.
const LOOKED_AT: usize = 4;

/// Compares unit, axes and vertex order of the examples of one file with what the rig makes of their poses.
pub(crate) fn check_skins(rig: &Rig, examples: &[Example], path: &Path) -> Result<(), FileError> {
    check_axes(rig, examples, path)?;
    examples.iter().take(LOOKED_AT).try_for_each(|example| check_neighbours(rig, example, path))
}

/// Skins in another unit or other axes than assumed.
pub(crate) fn check_axes(rig: &Rig, examples: &[Example], path: &Path) -> Result<(), FileError> {
    let Some(weights) = rig.weights() else { return Ok(()) };
    let turned = |p: DVec3| [DVec3::new(p.x, p.z, -p.y), DVec3::new(p.x, -p.z, p.y)];
    let (mut plain, mut best_turned) = (0.0, [0.0, 0.0]);
    let (mut size, mut expected) = (0.0, 0.0);
    let middle = |skin: &[DVec3]| skin.iter().sum::<DVec3>() / skin.len().max(1) as f64;
    let mut skin = vec![DVec3::ZERO; rig.mesh().positions.len()];
    for e in examples.iter().take(LOOKED_AT) {
        dermis_deform::lbs(&rig.mesh().positions, weights, &e.transforms, &mut skin);
        let (here, there) = (middle(&e.positions), middle(&skin));
        for (x, y) in e.positions.iter().zip(&skin) {
            size += x.distance_squared(here);
            expected += y.distance_squared(there);
            plain += x.distance_squared(*y);
            for (sum, t) in best_turned.iter_mut().zip(turned(*x)) {
                *sum += t.distance_squared(*y);
            }
        }
    }
    // Between a character that swells in its motion and one in inches that was taken for one in centimetres (2.54).
    let ratio = (size / expected).sqrt();
    if !(0.45..=2.2).contains(&ratio) && expected > 0.0 {
        let what = format!("the skins are {ratio:.3} times as large as the rig makes them");
        let hint = "state the unit of this file: `unit` 1 for metres, `unit` 0.01 for centimetres; or correct the one that it states";
        return Err(FileError::lacks(path, what, hint));
    }
    // A quarter turn misplaces a body by about its size; a tenth of the error means that the axes are the explanation.
    if best_turned.iter().any(|t| *t < 0.01 * plain) {
        return Err(FileError::lacks(
            path,
            "the skins fit the poses only after a quarter turn about x",
            "name the axis that points up in this file: `up` z or `up` y; or correct the one that it states",
        ));
    }
    Ok(())
}

/// Vertices in another order lie far from their neighbours, which shows even without faces.
pub(crate) fn check_neighbours(rig: &Rig, sculpt: &Example, path: &Path) -> Result<(), FileError> {
    let Some(weights) = rig.weights() else { return Ok(()) };
    let mut skin = vec![DVec3::ZERO; rig.mesh().positions.len()];
    dermis_deform::lbs(&rig.mesh().positions, weights, &sculpt.transforms, &mut skin);
    let length = |of: &[DVec3], (a, b): (u32, u32)| of[a as usize].distance(of[b as usize]);
    let mut ratios: Vec<f64> = edges(&rig.mesh().triangles)
        .map(|edge| length(&sculpt.positions, edge) / length(&skin, edge))
        .filter(|ratio| ratio.is_finite())
        .collect();
    ratios.sort_by(f64::total_cmp);
    // Between a skin that is larger as a whole (up to 2.2) and a coarse tube in random order (above 2.8); on the bundled body it is 88.
    match ratios.get(ratios.len() / 2) {
        Some(&median) if median > 2.8 => Err(FileError::lacks(
            path,
            format!(
                "the vertices of \"{}\" seem to be in another order than the rig's: neighbours are {median:.1} times as far apart as in its pose",
                sculpt.label
            ),
            "export with the vertex order kept, from the mesh that the rig has",
        )),
        _ => Ok(()),
    }
}

/// Edges of triangles, those of two triangles twice.
pub(crate) fn edges(triangles: &[[u32; 3]]) -> impl Iterator<Item = (u32, u32)> + '_ {
    triangles.iter().flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]).map(|(a, b)| (a.min(b), a.max(b)))
}
