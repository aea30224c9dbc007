//! Multi-weight enveloping in a model file.

use super::{Reader, StoredCorrection, Tensors, damaged, positive, read_coefficients, write_coefficients};
use crate::contents::ReadError;
use dermis_deform::baked::{BakedEnveloping, NO_ANCHOR};
use dermis_deform::enveloping::{Enveloping, EnvelopingForm, Pair};
use dermis_deform::guard::Weld;
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{BoneIndex, Rig};
use std::borrow::Cow;

/// The arrays of a correction; its rows by name.
pub(super) fn write<'a>(t: &mut Tensors<'a>, c: &'a BakedEnveloping, rig: &Rig) -> String {
    let pairs = &c.shared.pairs;
    let anchor = |p: &Pair| p.anchor.map_or(NO_ANCHOR, |a| a.get() as u32);
    t.u32("correction.pairs", &[pairs.len(), 2], pairs.iter().flat_map(move |p| [anchor(p), p.bone.get() as u32]));
    t.f64("correction.limits", &[pairs.len()], pairs.iter().map(|p| p.limit));
    let mut frozen = vec![0; rig.skeleton().len()];
    c.shared.weld.frozen().for_each(|bone| frozen[bone.get()] = 1);
    t.u32("correction.frozen", &[frozen.len()], frozen);
    t.u32("correction.anchors", &[c.anchors.len()], c.anchors.iter().copied());
    t.rows(("correction.offsets", "correction.terms"), &c.terms);
    let size = c.shared.rows.coefficients();
    write_coefficients(t, &[size], Cow::Borrowed(&c.coefficients));
    t.f32("correction.constants", &[c.constants.len(), 3], c.constants.iter().flat_map(|x| x.to_array()));
    t.f32("correction.radii", &[c.radii.len()], c.radii.iter().copied());
    match c.shared.rows {
        EnvelopingForm::Row => "row".into(),
        EnvelopingForm::Full => "full".into(),
    }
}

/// A correction from its arrays.
pub(super) fn read(
    r: &Reader<'_>,
    rig: &Rig,
    stored: &StoredCorrection,
    rows: &str,
) -> Result<BakedEnveloping, ReadError> {
    let (vertices, bones) = (rig.mesh().positions.len(), rig.skeleton().len());
    let rows = match rows {
        "row" => EnvelopingForm::Row,
        "full" => EnvelopingForm::Full,
        other => return Err(ReadError::Unsupported { feature: format!("rows \"{other}\"") }),
    };
    let length = stored.length.filter(|l| positive(*l)).ok_or_else(|| damaged("the correction has no length"))?;
    let origin = stored.origin.map_or(DVec3::ZERO, DVec3::from);
    if !origin.is_finite() {
        return Err(damaged("what features are seen from is not finite"));
    }
    let anchor = |a: u32| -> Result<Option<BoneIndex>, ReadError> {
        match a {
            NO_ANCHOR => Ok(None),
            a if (a as usize) < bones => Ok(Some(BoneIndex::new(a as usize))),
            a => Err(damaged(format!("an anchor is bone {a}, but there are {bones}"))),
        }
    };
    let limits = r.f64("correction.limits", 1)?;
    let pairs = r.u32("correction.pairs", 2)?;
    r.count("correction.limits", limits.len(), pairs.len() / 2)?;
    let pairs = pairs
        .chunks_exact(2)
        .zip(limits)
        .map(|(pair, limit)| match (pair[1] as usize) < bones && limit >= 0.0 {
            true => Ok(Pair { anchor: anchor(pair[0])?, bone: BoneIndex::new(pair[1] as usize), limit }),
            false => Err(damaged("a pair of bones names a bone that does not exist, or has no limit")),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let frozen: Vec<bool> = r.indices("correction.frozen", 1, 2)?.into_iter().map(|f| f == 1).collect();
    r.count("correction.frozen", frozen.len(), bones)?;
    let anchors = r.u32("correction.anchors", 1)?;
    r.count("correction.anchors", anchors.len(), vertices)?;
    anchors.iter().try_for_each(|&a| anchor(a).map(|_| ()))?;
    let terms = r.rows("correction.offsets", vertices, r.indices("correction.terms", 1, pairs.len())?)?;
    let coefficients = read_coefficients(r, rows.coefficients(), vertices)?;
    r.count("correction.coefficients", coefficients.len() / rows.coefficients(), terms.entries().len())?;
    let constants: Vec<Vec3> = r.f32("correction.constants", 3)?.chunks_exact(3).map(Vec3::from_slice).collect();
    let radii = r.f32("correction.radii", 1)?;
    for (name, count) in [("correction.constants", constants.len()), ("correction.radii", radii.len())] {
        if count != 0 {
            r.count(name, count, vertices)?;
        }
    }
    if radii.iter().any(|r| *r < 0.0) {
        return Err(damaged("a radius of the guard is negative"));
    }
    let shared =
        Enveloping { weld: Weld::along(rig.skeleton(), &frozen), pairs, origin, ..Enveloping::empty(rows, length) };
    Ok(BakedEnveloping { shared, anchors, terms, coefficients, constants, radii })
}
