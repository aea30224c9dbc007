//! The poses of the 3D view.

use super::{ModelOutcome, ScoredExamples, SetRole, farthest};
use crate::page::{PoseRef, ShownPose, SkinView, shown_positions};
use dermis_measure::WideRunner;
use dermis_rig::glam::DVec3;

impl ModelOutcome<'_> {
    /// Returns the worst poses of every set and a typical one, as many as a page can carry.
    ///
    /// Returns none if examples were streamed, or if the model needs given positions.
    pub(super) fn view(&self) -> Option<SkinView> {
        const MOST_BYTES: usize = 12 << 20;
        if self.model.baked().needs_given() {
            return None;
        }
        // The poses left out of fits are training poses, and their skins were those of other models.
        let shown = |set: &ScoredExamples<'_>| set.role != SetRole::CrossValidated;
        let held = |set: &ScoredExamples<'_>| set.examples.is_some_and(|all| all.len() >= set.scores.frames.len());
        if !self.sets.iter().filter(|set| shown(set)).all(held) {
            return None;
        }
        let rig = self.model.rig();
        let room = (MOST_BYTES / ShownPose::bytes_on_page(rig.mesh().positions.len()).max(1)).clamp(1, 8);
        let mut chosen: Vec<(usize, usize, &str)> = Vec::new();
        let most = self.sets.iter().rposition(shown);
        for (set, ScoredExamples { scores, .. }) in self.sets.iter().enumerate().rev().filter(|(_, set)| shown(set)) {
            let poses = &scores.model.per_pose;
            let mut by_rms: Vec<usize> = (0..poses.len()).collect();
            by_rms.sort_by(|&a, &b| poses[b].rms.total_cmp(&poses[a].rms));
            let by_max = (0..poses.len()).max_by(|&a, &b| poses[a].max.total_cmp(&poses[b].max));
            let last = Some(set) == most;
            let picks = [
                (by_rms.first().copied(), "largest rms"),
                (by_max, "largest error of a vertex"),
                (farthest(scores).map(|f| f.0).filter(|_| last), "farthest from training"),
                (by_rms.get(by_rms.len() / 2).copied(), "typical"),
                (by_rms.get(1).copied().filter(|_| last), "second largest rms"),
            ];
            for (pose, why) in picks {
                if let Some(pose) = pose.filter(|&p| !chosen.iter().any(|c| (c.0, c.1) == (set, p))) {
                    chosen.push((set, pose, why));
                }
            }
        }
        chosen.truncate(room);
        let base = self.model.baseline();
        let mut model_runner = WideRunner::new(self.model.baked());
        let mut base_runner = base.as_ref().map(WideRunner::new);
        let shown = |(set, pose, why): (usize, usize, &str)| {
            let ScoredExamples { role, examples, .. } = &self.sets[set];
            let example = &examples.as_ref()?.examples()[pose];
            let middle = middle_of(&example.positions);
            let about = |skin: &[DVec3]| shown_positions(&skin.iter().map(|p| *p - middle).collect::<Vec<_>>());
            Some(ShownPose {
                label: example.label.clone(),
                set: role.name().into(),
                note: why.into(),
                pose: Some(PoseRef { set, pose }),
                target: about(&example.positions),
                model: about(model_runner.run(&example.transforms, None).ok()?),
                baseline: base_runner.as_mut().and_then(|r| r.run(&example.transforms, None).ok().map(about)),
            })
        };
        let poses = chosen.into_iter().filter_map(shown).collect();
        let middle = middle_of(&rig.mesh().positions);
        let rest: Vec<DVec3> = rig.mesh().positions.iter().map(|p| *p - middle).collect();
        Some(SkinView { triangles: rig.mesh().triangles.clone(), rest: shown_positions(&rest), poses })
    }
}

/// Returns the mean of the finite points. A skin is shown about its own middle, so that a walk stays in view.
fn middle_of(skin: &[DVec3]) -> DVec3 {
    let finite = skin.iter().filter(|p| p.is_finite());
    let (sum, count) = finite.fold((DVec3::ZERO, 0usize), |(sum, count), p| (sum + *p, count + 1));
    sum / count.max(1) as f64
}
