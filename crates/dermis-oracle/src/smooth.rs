//! Corrective smoothing.

use crate::ddm::mesh_of;
use crate::skinning::Skin;
use crate::{Answers, Array, Case, CaseError, Method};
use dermis_deform::smoothing::Smoothing;
use dermis_deform::{Base, CorrectiveSmooth};

pub(crate) const METHODS: &[Method] =
    &[Method { name: "smooth*", inputs: &["P", "W", "M", "faces"], answers: &["base", "weights"], run: smoothed }];

fn smoothed(case: &Case) -> Result<Answers, CaseError> {
    let skin = Skin::read(case, "P")?;
    let mesh = mesh_of(case, &skin)?;
    let (steps, factor) = ([case.count("n")? as u32], case.number("factor")?);
    let smoothing = Smoothing { steps: &steps, factor, least_weight: case.number("cut")?, ..Smoothing::default() };
    let made = CorrectiveSmooth::of_smoothing(&mesh, &skin.weights, &smoothing).remove(0);
    let bones = skin.poses.first().map_or(0, |pose| pose.len());
    let mut weights = vec![0.0; skin.rest.len() * bones];
    for (v, row) in made.smoothed().terms.iter().enumerate() {
        row.iter().for_each(|(bone, a)| weights[v * bones + bone.get()] = a.w);
    }
    let mut base = Base::CorrectiveSmooth(made);
    let posed = skin.posed(|rest, _, pose, out| base.evaluate(rest, pose, None, out));
    let mut answers = Answers::default();
    answers.add("base", posed);
    answers.add("weights", Array::new(&[skin.rest.len(), bones], weights));
    Ok(answers)
}
