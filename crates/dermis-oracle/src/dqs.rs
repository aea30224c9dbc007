//! Dual quaternion skinning.

use crate::skinning::Skin;
use crate::{Answers, Case, CaseError, Method};
use dermis_deform::DualQuaternions;

pub(crate) const METHODS: &[Method] =
    &[Method { name: "dqs", inputs: &["P", "W", "M"], answers: &["posed"], run: blended }];

fn blended(case: &Case) -> Result<Answers, CaseError> {
    let skin = Skin::read(case, "P")?;
    let bones = skin.poses.first().map_or(0, |pose| pose.len());
    let mut blend = DualQuaternions::at_origin(bones);
    let posed = skin.posed(|rest, weights, pose, out| {
        blend.prepare(pose);
        blend.deform(rest, weights, out);
    });
    let mut answers = Answers::default();
    answers.add("posed", posed);
    Ok(answers)
}
