//! Whole skeletons of conventions, each name with its part.

use super::{JudgedBy, Part, Recognised, Side};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, Skeleton};
use std::collections::BTreeSet;

/// A skeleton and what every bone of it is.
pub(crate) struct Known {
    pub convention: &'static str,
    pub is_biped: bool,
    pub skeleton: Skeleton,
    pub expected: Vec<(String, Side)>,
}

/// The skeletons of the table.
pub(crate) fn known() -> Vec<Known> {
    include_str!("skeletons.txt").split("== ").skip(1).map(read).collect()
}

fn read(text: &'static str) -> Known {
    let (header, lines) = text.split_once('\n').unwrap();
    let fields: Vec<&str> = header.rsplitn(3, ", ").collect();
    let sides: Vec<&str> = match fields[0].starts_with('"') {
        true => fields[0].split('"').filter(|side| !side.trim().is_empty()).collect(),
        false => fields[0].split(' ').collect(),
    };
    // A space begins or ends a name where the side is there.
    let mirrored = |name: &str| {
        let name = format!(" {name} ");
        let at = name.rfind(sides[0]).map(|at| format!("{}{}{}", &name[..at], sides[1], &name[at + sides[0].len()..]));
        at.unwrap_or(name).trim().to_owned()
    };
    let (mut names, mut parents, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    let mut open: Vec<[usize; 2]> = Vec::new();
    for line in lines.lines() {
        let depth = line.len() - line.trim_start().len();
        let (name, part) = line.trim_start().rsplit_once(" : ").unwrap();
        let (part, is_left) = part.strip_suffix(" L").map_or((part, false), |part| (part, true));
        open.truncate(depth);
        let above = open.last().copied();
        let first = names.len();
        let mut add = |name: String, side: Side, at: usize| {
            names.push(name);
            parents.push(above.map(|above| BoneIndex::new(above[at])));
            expected.push((part.to_owned(), side));
        };
        add(name.to_owned(), if is_left { Side::Left } else { Side::Middle }, 0);
        if is_left {
            let other = match mirrored(name) {
                // Carnegie Mellon's files say some sides with one letter.
                same if same == name => name.replacen('L', "R", 1),
                other => other,
            };
            add(other, Side::Right, 1);
        }
        open.push([first, if is_left { first + 1 } else { first }]);
    }
    let bind = (0..names.len()).map(|at| DAffine3::from_translation(DVec3::new(0.0, at as f64, 0.0))).collect();
    let skeleton = Skeleton::new(names, parents, bind).unwrap();
    Known { convention: fields[2], is_biped: fields[1] == "biped", skeleton, expected }
}

/// Oracle: the parts written by hand beside every name.
#[test]
fn every_name_of_every_convention_has_its_part() {
    let (known, mut wrong, mut names) = (known(), Vec::new(), BTreeSet::new());
    for Known { convention, skeleton, expected, .. } in &known {
        let found = Recognised::new(skeleton);
        for ((name, role), (part, side)) in skeleton.names().iter().zip(found.roles.iter()).zip(expected) {
            names.insert(name.clone());
            let said = role.map_or("-".to_owned(), |role| format!("{:?}", role.part));
            if said != *part || role.is_some_and(|role| role.side != *side) {
                wrong.push(format!("{convention}: {name} is {part} {side:?}, found {role:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(known.len() >= 12 && names.len() >= 185, "{} conventions, {} names", known.len(), names.len());
}

/// The same trees without names, at rest positions of a planted body: parts by place alone.
#[test]
fn a_body_without_names_is_recognised_by_its_place() {
    use Part::{Clavicle, Foot, Forearm, Hand, Head, Hips, Neck, Shin, Spine, Thigh, Toes, UpperArm};
    let mut bones =
        vec![(Hips, None, [0.0, 1.0, 0.0]), (Spine, Some(0), [0.0, 1.2, 0.0]), (Spine, Some(1), [0.0, 1.4, 0.0])];
    bones.extend([(Neck, Some(2), [0.0, 1.55, 0.0]), (Head, Some(3), [0.0, 1.65, 0.0])]);
    for x in [1.0, -1.0] {
        let at = bones.len();
        bones.extend([
            (Clavicle, Some(2), [0.05 * x, 1.5, 0.0]),
            (UpperArm, Some(at), [0.2 * x, 1.5, 0.0]),
            (Forearm, Some(at + 1), [0.45 * x, 1.5, 0.0]),
            (Hand, Some(at + 2), [0.7 * x, 1.5, 0.0]),
            (Thigh, Some(0), [0.1 * x, 0.95, 0.0]),
            (Shin, Some(at + 4), [0.1 * x, 0.5, 0.0]),
            (Foot, Some(at + 5), [0.1 * x, 0.1, 0.0]),
            (Toes, Some(at + 6), [0.1 * x, 0.02, 0.15]),
        ]);
    }
    for quarter in 0..4 {
        let turn = DAffine3::from_rotation_y(f64::from(quarter) * std::f64::consts::FRAC_PI_2);
        let names = (0..bones.len()).map(|at| format!("Bone.{at:03}")).collect();
        let parents = bones.iter().map(|(_, parent, _)| parent.map(BoneIndex::new)).collect();
        let place = |at: &[f64; 3]| DAffine3::from_translation(turn.transform_point3(DVec3::from_array(*at)));
        let bind = bones.iter().map(|(.., at)| place(at)).collect();
        let found = Recognised::new(&Skeleton::new(names, parents, bind).unwrap());
        assert!(found.by.iter().all(|by| *by == JudgedBy::Place));
        for (role, (part, _, at)) in found.roles.iter().zip(&bones) {
            let side = if at[0] > 0.0 {
                Side::Left
            } else if at[0] < 0.0 {
                Side::Right
            } else {
                Side::Middle
            };
            assert_eq!(role.map(|role| (role.part, role.side)), Some((*part, side)), "{at:?}, {quarter} quarters");
        }
    }
}
