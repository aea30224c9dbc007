//! Forward kinematics, bone transforms, linear blend skinning, normals, pruning.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_deform::{blend, lbs, skinned_normal};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneTransforms, BoneVec, Influences, Skeleton, WorldPose};

pub(crate) const METHODS: &[Method] = &[
    Method { name: "fk", inputs: &["parents", "local"], answers: &["T"], run: kinematics },
    Method { name: "enveloping", inputs: &["T", "B"], answers: &["M", "M_at_bind"], run: enveloping },
    Method { name: "normals", inputs: &["N", "W", "M"], answers: &["normals"], run: normals },
    Method { name: "lbs", inputs: &["P", "W", "M"], answers: &["posed", "blended"], run: linear },
    Method { name: "prune", inputs: &["W"], answers: &["K*"], run: prune },
];

/// Bones that have nothing but parents and bind matrices.
fn skeleton(parents: &[i64], bind: &[DAffine3]) -> Result<(Skeleton, Vec<usize>), CaseError> {
    CaseError::unless_equal(("parents", parents.len()), ("matrices", bind.len()))?;
    let names = (0..parents.len()).map(|bone| bone.to_string()).collect();
    Skeleton::sorted(names, parents, bind).map_err(CaseError::refused)
}

fn kinematics(case: &Case) -> Result<Answers, CaseError> {
    let parents = case.array("parents")?.integers("parents")?;
    let local = case.array("local")?;
    let (leading, poses) = local.poses("local")?;
    let (skeleton, order) = skeleton(&parents, &vec![DAffine3::IDENTITY; parents.len()])?;
    let mut all = Vec::new();
    for pose in &poses {
        CaseError::unless_equal(("bones", skeleton.len()), ("local matrices", pose.len()))?;
        let local = BoneVec::new(order.iter().map(|&old| pose.as_slice()[old]).collect());
        let world = skeleton.posed(local).map_err(CaseError::refused)?.world();
        let mut unsorted = vec![DAffine3::IDENTITY; order.len()];
        for (&old, matrix) in order.iter().zip(world.bones.iter()) {
            unsorted[old] = *matrix;
        }
        all.extend(unsorted);
    }
    let mut answers = Answers::default();
    answers.add("T", Array::from_affine(&[&leading[..], &[parents.len()]].concat(), &all));
    Ok(answers)
}

fn enveloping(case: &Case) -> Result<Answers, CaseError> {
    let (_, bind) = case.array("B")?.affine("B")?;
    let (leading, poses) = case.array("T")?.poses("T")?;
    let (skeleton, _) = skeleton(&vec![-1; bind.len()], &bind)?;
    let mut all = Vec::new();
    for world in poses {
        CaseError::unless_equal(("bind matrices", bind.len()), ("posed matrices", world.len()))?;
        all.extend_from_slice(skeleton.bone_transforms(&WorldPose::new(world.to_vec())).as_slice());
    }
    let at_bind = skeleton.bone_transforms(&WorldPose::new(bind.clone()));
    let mut answers = Answers::default();
    answers.add("M", Array::from_affine(&[&leading[..], &[bind.len()]].concat(), &all));
    answers.add("M_at_bind", Array::from_affine(&[bind.len()], at_bind.as_slice()));
    Ok(answers)
}

/// Rest positions, weights and poses that belong together.
pub(crate) struct Skin {
    pub rest: Vec<DVec3>,
    pub weights: Influences,
    pub poses: Vec<BoneTransforms>,
    /// The axes of the poses, then the vertices.
    pub leading: Vec<usize>,
}

impl Skin {
    /// From `W`, `M` and the positions or normals called `key`.
    pub fn read(case: &Case, key: &'static str) -> Result<Self, CaseError> {
        let (_, rest) = case.array(key)?.points(key)?;
        let (mut leading, poses) = case.array("M")?.poses("M")?;
        let bones = poses.first().map_or(0, |pose| pose.len());
        let weights = case.array("W")?.influences("W", bones)?;
        CaseError::unless_equal((key, rest.len()), ("rows of W", weights.vertices()))?;
        leading.push(rest.len());
        Ok(Self { rest, weights, poses, leading })
    }

    /// Every pose in turn, skinned by `deform(rest, weights, pose, out)`.
    pub fn posed(&self, mut deform: impl FnMut(&[DVec3], &Influences, &BoneTransforms, &mut [DVec3])) -> Array {
        let mut posed = vec![DVec3::ZERO; self.rest.len() * self.poses.len()];
        for (pose, out) in self.poses.iter().zip(posed.chunks_mut(self.rest.len().max(1))) {
            deform(&self.rest, &self.weights, pose, out);
        }
        Array::from_points(&self.leading, &posed)
    }

    fn blended(&self) -> Vec<DAffine3> {
        self.poses.iter().flat_map(|pose| self.weights.rows().map(|row| blend(row, pose))).collect()
    }
}

fn linear(case: &Case) -> Result<Answers, CaseError> {
    let skin = Skin::read(case, "P")?;
    let mut answers = Answers::default();
    answers.add("posed", skin.posed(lbs));
    answers.add("blended", Array::from_affine34(&skin.leading, &skin.blended()));
    Ok(answers)
}

fn normals(case: &Case) -> Result<Answers, CaseError> {
    let skin = Skin::read(case, "N")?;
    let blended = skin.blended();
    let given = match case.has("blended") {
        true => case.array("blended")?.affine("blended")?.1,
        false => blended.clone(),
    };
    CaseError::unless_equal(("blended matrices", given.len()), ("poses times vertices", blended.len()))?;
    let mut normals = Vec::with_capacity(given.len());
    for (at, blended) in given.iter().enumerate() {
        let (pose, v) = (&skin.poses[at / skin.rest.len()], at % skin.rest.len());
        let dominant = skin.weights.dominant(v).map_or(DAffine3::IDENTITY, |bone| pose[bone]);
        normals.push(skinned_normal(skin.rest[v], &blended.matrix3, &dominant.matrix3));
    }
    let mut answers = Answers::default();
    answers.add("normals", Array::from_points(&skin.leading, &normals));
    answers.add("blended", Array::from_affine34(&skin.leading, &blended));
    if case.expected_keys().any(|key| key == "posed") {
        answers.add("posed", Skin::read(case, "P")?.posed(lbs));
    }
    Ok(answers)
}

/// `K2`: two influences at most; `K3_eps`: three, and only those above `eps`.
fn prune(case: &Case) -> Result<Answers, CaseError> {
    let table = case.array("W")?;
    let bones = table.shape.last().copied().unwrap_or(0);
    let weights = table.influences("W", bones)?;
    let mut answers = Answers::default();
    for key in case.expected_keys() {
        let Some(setting) = key.strip_prefix('K') else { continue };
        let (most, eps) = match setting.strip_suffix("_eps") {
            Some(most) => (most, case.number("eps")?),
            None => (setting, 0.0),
        };
        let Ok(most) = most.parse() else { continue };
        let (pruned, _) = weights.pruned(most, eps);
        answers.add(key, Array::from_influences(&pruned, bones));
    }
    Ok(answers)
}
