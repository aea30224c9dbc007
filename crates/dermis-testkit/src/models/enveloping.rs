//! Multi-weight enveloping.

use super::{FEW, length, limit, radii, weld};
use crate::{Random, Tree};
use dermis_deform::enveloping::{EnvelopingForm, Pair};
use dermis_deform::{Correction, Enveloping};
use dermis_rig::BoneIndex;

/// Multi-weight enveloping with anchors and without, limits, welded joints, constants, balls.
pub fn enveloping(tree: &Tree, rows: EnvelopingForm, guarded: bool, random: &mut Random) -> Enveloping {
    let bones = tree.rig.skeleton().len();
    let mut made = Enveloping { weld: weld(tree, guarded), ..Enveloping::empty(rows, length(tree)) };
    for anchor in (0..bones).map(|b| Some(BoneIndex::new(b))).chain([None]) {
        for bone in tree.rig.skeleton().bones() {
            made.pairs.push(Pair { anchor, bone, limit: limit(guarded, random) });
        }
    }
    for _ in &tree.rig.mesh().positions {
        let anchor = random.below(bones + 1);
        made.anchors.push((anchor < bones).then(|| BoneIndex::new(anchor)));
        let mut terms = Vec::new();
        for _ in 0..random.below(4) {
            terms.push((anchor * bones + random.below(bones)) as u32);
            made.coefficients.extend((0..rows.coefficients()).map(|_| 0.02 * random.normal()));
        }
        made.terms.push(terms).expect(FEW);
        made.constants.push(random.direction() * 0.01);
    }
    made.radii = radii(tree, guarded, random);
    made
}

/// Anchors every vertex that has none to the root: features of the world see the motion of the character.
pub fn anchor(correction: &mut Correction) {
    if let Correction::Enveloping(correction) = correction {
        let root = BoneIndex::new(0);
        correction.anchors.iter_mut().for_each(|a| *a = Some(a.unwrap_or(root)));
        correction.pairs.iter_mut().for_each(|p| p.anchor = Some(p.anchor.unwrap_or(root)));
    }
}

/// Whether a correction has features of the world, which grow with the distance from the origin.
pub fn reads_world(correction: &Correction) -> bool {
    matches!(correction, Correction::Enveloping(correction) if correction.anchors.contains(&None))
}
