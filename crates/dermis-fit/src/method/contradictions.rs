//! Examples that show different skins in one pose, or in nearly one.

use super::FitWarning;
use crate::mask::touched;
use crate::training::{BasePoses, Training};
use dermis_deform::lbs;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::{BoneTransforms, Example, Influences, Rig, pose_numbers};
use std::cell::OnceCell;

/// Degrees within which every bone of two poses that are nearly one lies.
const NEARLY: f64 = 10.0;
/// Examples whose poses are compared pair by pair; of more only equal poses are found.
const PAIRS: usize = 256;
/// Skins of one pose this far apart, in L, are the same: as files round.
const ROUNDING: f64 = 1e-5;
/// Corrections below this, in L, contradict nobody.
const SMALL: f64 = 1e-3;
/// Pairs that are named.
const LISTED: usize = 5;

/// Returns what examples say against each other: skins of one pose that differ, and corrections of nearly one pose that differ by more
/// than either of them moves the skin. Local sculpts speak of the vertices that they touch alone.
///
/// A correction is what takes the rig's own skin to the example, seen from the rest pose. Corrections that follow the pose smoothly
/// change by less than themselves over a few degrees.
pub fn contradictions(rig: &Rig, examples: &[Example]) -> Vec<FitWarning> {
    let length = rig.mesh().extent();
    let all: Vec<&Example> = examples.iter().filter(|example| example.importance > 0.0).collect();
    let numbers = pose_numbers(all.iter().map(|e| &e.transforms), length);
    let mut found = Vec::new();
    let touched = touched_by(rig, &all);
    let both = |a: usize, b: usize, v: usize| [a, b].iter().all(|s| touched[*s].as_ref().is_none_or(|mask| mask[v]));
    let mut of_pose: Vec<Vec<usize>> = vec![vec![]; all.len()];
    for (b, &number) in numbers.iter().enumerate() {
        // Whole skins of one pose are compared with the first of them, local sculpts with all that they may overlap.
        let earlier = |a: &&usize| touched[**a].is_some() || touched[b].is_some();
        let first = of_pose[number].iter().find(|a| !earlier(a));
        for &a in of_pose[number].iter().filter(earlier).chain(first) {
            let off = |v: usize| all[a].positions[v].distance(all[b].positions[v]);
            let of_both = |v: usize| if both(a, b, v) { off(v) } else { 0.0 };
            let (vertex, apart) = farthest((0..all[a].positions.len()).map(of_both));
            if apart > ROUNDING * length {
                found.push(match touched[a].is_some() || touched[b].is_some() {
                    true => FitWarning::SculptsDisagree {
                        earlier: all[a].label.clone(),
                        later: all[b].label.clone(),
                        apart,
                        vertex,
                    },
                    false => contradiction(all[a], all[b], None, apart, vertex),
                });
            }
        }
        of_pose[number].push(b);
    }
    let Some(weights) = rig.weights().filter(|_| all.len() <= PAIRS) else { return listed(found) };
    let turns: Vec<_> = all.iter().map(|e| e.turns()).collect();
    // Made where a pose has a neighbour: they are as large as the examples.
    let corrections: Vec<OnceCell<Vec<DVec3>>> = vec![OnceCell::new(); all.len()];
    let corrected = |at: usize| corrections[at].get_or_init(|| correction(rig, weights, all[at]));
    for (b, turned) in turns.iter().enumerate() {
        for a in (0..b).filter(|&a| numbers[a] != numbers[b]) {
            let angles = turned.iter().zip(&turns[a]).map(|(q, p)| q.angle_between(*p).to_degrees());
            let degrees = angles.fold(0.0, f64::max);
            let alike = degrees <= NEARLY && all[a].transforms.channels() == all[b].transforms.channels();
            if !alike {
                continue;
            }
            let against = corrected(a).iter().zip(corrected(b)).enumerate().map(|(v, (x, y))| {
                let moved = x.length().max(y.length()).max(SMALL * length);
                if both(a, b, v) && x.distance(*y) > moved { x.distance(*y) } else { 0.0 }
            });
            let (vertex, apart) = farthest(against);
            if apart > 0.0 {
                found.push(contradiction(all[a], all[b], Some(degrees), apart, vertex));
            }
        }
    }
    listed(found)
}

/// Which vertices each local sculpt touches, all where nothing tells; `None` for a whole skin.
fn touched_by(rig: &Rig, all: &[&Example]) -> Vec<Option<Vec<bool>>> {
    if all.iter().all(|example| example.local.is_none()) {
        return vec![None; all.len()];
    }
    let (rest, length) = (&rig.mesh().positions, rig.mesh().extent());
    let at = |transforms: &BoneTransforms, v: usize| match rig.weights() {
        Some(weights) => lbs::blend(weights.of(v), transforms).transform_point3(rest[v]),
        None => DVec3::INFINITY,
    };
    let of = |example: &&Example| {
        let examples = std::slice::from_ref(*example);
        let training = Training { skeleton: rig.skeleton(), rest, length, examples, base: BasePoses::Computed(&at) };
        example.local.is_some().then(|| touched(&training, 0))
    };
    all.iter().map(of).collect()
}

fn contradiction(a: &Example, b: &Example, degrees: Option<f64>, apart: f64, vertex: usize) -> FitWarning {
    FitWarning::Contradiction { first: a.label.clone(), second: b.label.clone(), degrees, apart, vertex }
}

/// The first of many contradictions, with the number of the others.
fn listed(mut found: Vec<FitWarning>) -> Vec<FitWarning> {
    let further = found.len().saturating_sub(LISTED);
    found.truncate(LISTED);
    found.extend((further > 0).then_some(FitWarning::FurtherContradictions { pairs: further }));
    found
}

fn farthest(distances: impl Iterator<Item = f64>) -> (usize, f64) {
    distances.enumerate().fold((0, 0.0), |most, (v, d)| if d > most.1 { (v, d) } else { most })
}

/// What takes the rig's own skin to the example at every vertex, seen from the rest pose; zero where the pose flattens the skin.
fn correction(rig: &Rig, weights: &Influences, example: &Example) -> Vec<DVec3> {
    let mut skin = vec![DVec3::ZERO; rig.mesh().positions.len()];
    lbs(&rig.mesh().positions, weights, &example.transforms, &mut skin);
    let back = |(v, (target, own)): (usize, (&DVec3, &DVec3))| {
        let blend =
            weights.of(v).iter().fold(DMat3::ZERO, |sum, &(bone, w)| sum + example.transforms[bone].matrix3 * w);
        if blend.determinant() > 0.1 { blend.inverse() * (*target - *own) } else { DVec3::ZERO }
    };
    example.positions.iter().zip(&skin).enumerate().map(back).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DAffine3;
    use dermis_rig::{BoneIndex, BoneTransforms, Mesh, Skeleton};

    /// A strip along y whose upper half follows a bone that turns at its middle; every example lifts the skin by a height of its own.
    fn examples(of: &[(f64, f64)]) -> (Rig, Vec<Example>) {
        let positions: Vec<DVec3> =
            (0..20).map(|v| DVec3::new(f64::from(v % 2) * 0.1, f64::from(v / 2) * 0.1, 0.0)).collect();
        let triangles = (0..18).map(|v| if v % 2 == 0 { [v, v + 1, v + 2] } else { [v + 1, v, v + 2] }).collect();
        let mesh = Mesh { positions: positions.clone(), triangles, ..Mesh::default() };
        let (bone, at) = (BoneIndex::new, DAffine3::from_translation(DVec3::Y * 0.45));
        let skeleton = Skeleton::new(
            ["a", "b"].map(String::from).to_vec(),
            vec![None, Some(bone(0))],
            vec![DAffine3::IDENTITY, at],
        )
        .unwrap();
        let weights =
            Influences::from_rows(positions.iter().map(|p| vec![(bone(usize::from(p.y > 0.45)), 1.0)])).unwrap();
        let rig = Rig::new(mesh, skeleton, Some(weights.clone())).unwrap();
        let examples = of.iter().enumerate().map(|(s, &(degrees, height))| {
            let transforms = BoneTransforms::new(vec![
                DAffine3::IDENTITY,
                at * DAffine3::from_rotation_z(degrees.to_radians()) * at.inverse(),
            ]);
            let mut skin = vec![DVec3::ZERO; 20];
            let lifted: Vec<DVec3> = positions.iter().map(|p| *p + DVec3::Z * height).collect();
            lbs(&lifted, &weights, &transforms, &mut skin);
            Example { label: format!("s{s}"), time: None, transforms, positions: skin, importance: 1.0, local: None }
        });
        let examples = examples.collect();
        (rig, examples)
    }

    fn found(of: &[(f64, f64)]) -> Vec<FitWarning> {
        let (rig, set) = examples(of);
        contradictions(&rig, &set)
    }

    #[test]
    fn one_pose_with_two_skins_and_opposite_corrections_a_few_degrees_apart_are_named() {
        for (of, names, text, expected) in [
            ([(20.0, 0.03), (90.0, 0.03), (90.0, 0.05)], ["s1", "s2"], "of the same pose", 0.02),
            (
                [(20.0, 0.03), (90.0, 0.03), (95.0, -0.03)],
                ["s1", "s2"],
                "of nearly the same pose (5 degrees apart)",
                0.06,
            ),
            ([(90.0, 0.03), (20.0, 0.03), (90.0, 0.04)], ["s0", "s2"], "of the same pose", 0.01),
        ] {
            let warnings = found(&of);
            let [FitWarning::Contradiction { first, second, apart, .. }] = &warnings[..] else {
                panic!("{warnings:?}")
            };
            assert_eq!([first, second], names);
            assert!((apart - expected).abs() < 1e-9 && warnings[0].to_string().contains(text), "{}", warnings[0]);
        }
        let many: Vec<_> = (0..9).map(|s| (90.0, f64::from(s) * 0.01)).collect();
        assert_eq!(found(&many)[5..], [FitWarning::FurtherContradictions { pairs: 3 }]);
    }

    /// Local sculpts of one pose disagree where both touched the skin, whatever each shows elsewhere.
    #[test]
    fn local_sculpts_of_one_pose_are_compared_where_both_touched() {
        let (rig, mut set) = examples(&[(90.0, 0.03), (90.0, 0.05), (90.0, 0.09)]);
        for (s, touched) in [0..12, 12..20, 10..14].into_iter().enumerate() {
            let mask = (0..20).map(|v| touched.contains(&v)).collect();
            set[s].local = Some(dermis_rig::LocalSculpt { mask: Some(mask), shown: None });
        }
        assert_eq!(contradictions(&rig, &set[..2]), []);
        let warnings = contradictions(&rig, &set);
        let of = |warning: &FitWarning| match warning {
            FitWarning::SculptsDisagree { earlier, later, apart, vertex } => {
                (earlier.clone(), later.clone(), (apart * 1e6).round(), *vertex)
            }
            other => panic!("{other}"),
        };
        let expected = [("s0".into(), "s2".into(), 6e4, 10), ("s1".into(), "s2".into(), 4e4, 12)];
        assert_eq!(warnings.iter().map(of).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn corrections_that_grow_with_the_pose_far_poses_and_roundings_are_not() {
        assert_eq!(found(&[(80.0, 0.03), (85.0, 0.05), (95.0, 0.06)]), []);
        assert_eq!(found(&[(60.0, 0.03), (90.0, -0.03)]), []);
        assert_eq!(found(&[(90.0, 0.03), (90.0, 0.03 + 1e-7), (92.0, 0.03)]), []);
    }
}
