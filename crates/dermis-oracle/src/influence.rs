//! Which bones move a vertex, from poses that move one joint each.

use crate::weights::triangles;
use crate::{Answers, Array, Case, CaseError, Method};
use dermis_fit::influence::{Class, InfluenceSettings, classify, half_longest_edges, shares};
use dermis_fit::{BasePoses, Training};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Mesh, Skeleton};

pub(crate) const METHODS: &[Method] = &[
    Method {
        name: "single_bone",
        inputs: &["parents", "P", "W_true", "F", "M", "vmin_factor"],
        answers: &["class", "omega_subtree", "vmin_unscaled"],
        run: single_bone,
    },
    crate::heat::CLOSEST_POINT,
];

/// Pose b turns the joint of bone b alone; its skin is the linear blend with the true weights.
fn single_bone(case: &Case) -> Result<Answers, CaseError> {
    let parents = case.array("parents")?.integers("parents")?;
    let (_, positions) = case.array("P")?.points("P")?;
    let (_, poses) = case.array("M")?.poses("M")?;
    let bones = parents.len();
    CaseError::unless_equal(("poses", poses.len()), ("bones", bones))?;
    let weights = case.array("W_true")?.influences("W_true", bones)?;
    CaseError::unless_equal(("rows of W_true", weights.vertices()), ("P", positions.len()))?;
    let names = (0..bones).map(|b| b.to_string()).collect();
    let (skeleton, order) =
        Skeleton::sorted(names, &parents, &vec![DAffine3::IDENTITY; bones]).map_err(CaseError::refused)?;
    if order.windows(2).any(|w| w[0] > w[1]) {
        return Err(CaseError::Malformed { key: "parents".into(), reason: "has a bone before its parent".into() });
    }
    let mesh = Mesh { triangles: triangles(case, positions.len())?, positions, ..Mesh::default() };
    let least = half_longest_edges(&mesh.positions, &mesh.neighbours());
    let factor = case.number("vmin_factor")?;
    let skin = |pose: &BoneTransforms| -> Vec<DVec3> {
        let blend = |(p, row): (&DVec3, &[(BoneIndex, f64)])| {
            row.iter().map(|&(bone, w)| w * pose[bone].transform_point3(*p)).sum()
        };
        mesh.positions.iter().zip(weights.rows()).map(blend).collect()
    };
    let (mut classes, mut omega) = (Vec::new(), Vec::new());
    for (bone, pose) in skeleton.bones().zip(&poses) {
        let x = skin(pose);
        for (v, p) in mesh.positions.iter().enumerate() {
            let code = match classify(*p, pose[bone].transform_point3(*p), x[v], factor * least[v]) {
                Class::NotMoved => 0.0,
                Class::Alone => 1.0,
                Class::WithOthers => 2.0,
                Class::Undecided => 3.0,
            };
            classes.push(code);
        }
        let example = Example {
            label: String::new(),
            time: None,
            transforms: pose.clone(),
            positions: x,
            importance: 1.0,
            local: None,
        };
        let examples = [example];
        let training = Training {
            skeleton: &skeleton,
            rest: &mesh.positions,
            length: 1.0,
            examples: &examples,
            base: BasePoses::NONE,
        };
        let found = shares(&training, &InfluenceSettings::default()).map_err(CaseError::refused)?;
        let row = found.omega[bone].clone().ok_or_else(|| CaseError::refused("a pose does not turn its joint"))?;
        omega.extend(row);
    }
    let vertices = mesh.positions.len();
    let mut answers = Answers::default();
    answers.add("class", Array::new(&[bones, vertices], classes));
    answers.add("omega_subtree", Array::new(&[bones, vertices], omega));
    answers.add("vmin_unscaled", Array::new(&[vertices], least));
    Ok(answers)
}
