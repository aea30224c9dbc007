//! The morph targets that a mesh came with, in what is written of it.

use dermis_io::gltf::{GlbClip, GlbScene};
use dermis_rig::MorphTarget;
use std::collections::{HashMap, HashSet};

/// What is said of morph targets that the mesh came with and that stay away, because other ones of the scene have their names; `None` if
/// there are none.
pub(crate) fn displaced(scene: &GlbScene<'_>) -> Option<String> {
    let own: HashMap<&str, &MorphTarget> = scene.morphs.iter().map(|morph| (morph.name.as_str(), morph)).collect();
    let is_other = |target: &&MorphTarget| own.get(target.name.as_str()).is_some_and(|own| **own != **target);
    let mut lost = scene.mesh?.morph_targets().iter().filter(is_other);
    let first = &lost.next()?.name;
    let plural = if lost.clone().next().is_some() { "s" } else { "" };
    Some(format!(
        "{} morph target{plural} that the rig came with, because a learnt one has its name (first: \"{first:.60}\"); rename it in the rig's file to keep both",
        1 + lost.count()
    ))
}

/// Morph targets of a scene, and behind them those that its mesh came with. Where two have one name, the scene's own stands.
pub(crate) struct Carried {
    morphs: Vec<MorphTarget>,
    weights: Vec<f64>,
    shaded_at: Vec<f64>,
    clips: Vec<GlbClip>,
}

impl Carried {
    /// `None` if the scene has all of them. Its clips are frames: they hold the targets that are added at their own weights.
    pub(crate) fn of(scene: &GlbScene<'_>) -> Option<Self> {
        let mesh = scene.mesh?;
        let known: HashSet<&str> = scene.morphs.iter().map(|morph| morph.name.as_str()).collect();
        let weight = |at: usize| mesh.morph_weights().get(at).copied().unwrap_or(0.0);
        let targets = mesh.morph_targets().iter().enumerate();
        let added: Vec<(MorphTarget, f64)> = targets
            .filter(|(_, target)| !known.contains(target.name.as_str()))
            .map(|(at, target)| (target.clone(), weight(at)))
            .collect();
        if added.is_empty() {
            return None;
        }
        let (targets, of_targets): (Vec<MorphTarget>, Vec<f64>) = added.into_iter().unzip();
        let own = scene.morphs.len();
        let with = |weights: &[f64]| -> Vec<f64> {
            let missing = if weights.is_empty() { own } else { 0 };
            weights.iter().copied().chain(std::iter::repeat_n(0.0, missing)).chain(of_targets.iter().copied()).collect()
        };
        let clips = scene.clips.iter().cloned().map(|mut clip| {
            clip.morph_weights.iter_mut().for_each(|row| row.extend(&of_targets));
            clip
        });
        Some(Self {
            weights: with(scene.morph_weights),
            shaded_at: if scene.shaded_at.is_empty() { vec![] } else { with(scene.shaded_at) },
            clips: clips.collect(),
            morphs: scene.morphs.iter().cloned().chain(targets).collect(),
        })
    }

    /// The scene with them.
    pub(crate) fn scene<'a>(&'a self, scene: &GlbScene<'a>) -> GlbScene<'a> {
        GlbScene {
            morphs: &self.morphs,
            morph_weights: &self.weights,
            shaded_at: &self.shaded_at,
            clips: &self.clips,
            ..*scene
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::MorphTargets;
    use dermis_rig::glam::DVec3;
    use dermis_testkit::Arm;
    use std::sync::Arc;

    #[test]
    fn a_target_whose_name_a_learnt_one_has_is_counted_and_one_that_is_the_same_is_not() {
        let rig = Arm::new(3, 4).rig;
        let mut mesh = rig.mesh().clone();
        let target =
            |name: &str, x: f64| MorphTarget { name: name.into(), deltas: vec![DVec3::X * x; mesh.positions.len()] };
        let (came, learnt) =
            ([target("smile", 1.0), target("blink", 1.0)], [target("smile", 2.0), target("blink", 1.0)]);
        mesh.morphs = Some(Arc::new(MorphTargets { targets: came.to_vec(), weights: vec![0.0; 2] }));
        let scene = |morphs| GlbScene { mesh: Some(&mesh), morphs, ..GlbScene::default() };
        let said = displaced(&scene(&learnt)).unwrap();
        assert!(said.starts_with("1 morph target that the rig came with") && said.contains("\"smile\""), "{said}");
        assert_eq!(displaced(&scene(&came)), None);
        assert_eq!(displaced(&scene(&[])), None);
    }
}
