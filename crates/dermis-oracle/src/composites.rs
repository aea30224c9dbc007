//! Composite joints: their pairs, features, gates and relevances.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_deform::joints::{JointFeature, joint_feature};
use dermis_fit::joints::composite::{composite_gate, composite_pairs, composite_relevance};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms};

pub(crate) const METHODS: &[Method] = &[Method {
    name: "composites",
    inputs: &["R", "edges", "a"],
    answers: &["pairs", "gamma", "phi", "relevance"],
    run: composites,
}];

fn composites(case: &Case) -> Result<Answers, CaseError> {
    let (leading, turns) = case.array("R")?.matrices("R")?;
    let [_, bones] = leading[..] else {
        return Err(CaseError::Malformed { key: "R".into(), reason: "is not poses × bones".into() });
    };
    let pose = |turns: &[_]| BoneTransforms::new(turns.iter().map(|turn| DAffine3::from_mat3(*turn)).collect());
    let poses: Vec<BoneTransforms> = turns.chunks_exact(bones.max(1)).map(pose).collect();
    let ends: Vec<BoneIndex> = case
        .array("edges")?
        .integers("edges")?
        .into_iter()
        .map(|bone| usize::try_from(bone).ok().filter(|bone| *bone < bones).map(BoneIndex::new))
        .collect::<Option<_>>()
        .ok_or_else(|| CaseError::Malformed {
            key: "edges".into(),
            reason: "names a bone that does not exist".into(),
        })?;
    let edges: Vec<(BoneIndex, BoneIndex)> = ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let a = &case.array("a")?.data;
    let vertices = a.len() / edges.len().max(1);
    let pairs = composite_pairs(&edges);
    // The slide about any centre plays no part in the gate.
    let features = |ends, centre: Option<DVec3>| -> Vec<JointFeature> {
        poses.iter().map(|pose| joint_feature(pose.as_slice(), ends, centre, 1.0)).collect()
    };
    let (mut names, mut gates, mut phi) = (vec![], vec![], vec![]);
    let mut relevance = vec![0.0; vertices * pairs.len()];
    for (at, pair) in pairs.iter().enumerate() {
        let (e, f) = pair.joints;
        names.extend([e, f, pair.outer.0.get(), pair.outer.1.get()].map(|i| i as f64));
        let (first, second) = (features(edges[e], Some(DVec3::ONE)), features(edges[f], Some(DVec3::ONE)));
        let gate = composite_gate(first.iter(), second.iter());
        gates.push(gate);
        let of_pose = |f: JointFeature| (0..12).filter(|i| i % 4 < 3).map(move |i| f[i]);
        phi.extend(features(pair.outer, None).into_iter().flat_map(of_pose));
        for v in 0..vertices {
            let both = (a[v * edges.len() + e], a[v * edges.len() + f]);
            relevance[v * pairs.len() + at] = composite_relevance(both, gate, 1.0);
        }
    }
    let mut answers = Answers::default();
    answers.add("pairs", Array::new(&[pairs.len(), 4], names));
    answers.add("gamma", Array::new(&[pairs.len()], gates));
    answers.add("phi", Array::new(&[pairs.len(), poses.len(), 9], phi));
    answers.add("relevance", Array::new(&[vertices, pairs.len()], relevance));
    Ok(answers)
}
