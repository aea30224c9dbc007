//! The poses of the 3D view: every pose of every set, as far as a page can carry them.

use super::{ModelOutcome, ScoredExamples, SetRole, farthest};
use crate::page::{DrawnSurface, PoseRef, Precision, ShownPose, SkinView, shown_positions};
use dermis_io::base_colour_image;
use dermis_measure::WideRunner;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, Image};

/// The most bytes that the skins of a page take. A browser opens such a page in a second or two, and mail still carries it.
///
/// 54 poses of the bundled body (13,380 vertices) take half of it.
pub const MOST_BYTES: usize = 24_000_000;

/// The most bytes of it that the poses with a name for being here take: their errors are stored in full.
const MOST_KEY_BYTES: usize = MOST_BYTES / 2;

/// The most bytes of the pictures of a page, before base64.
const MOST_PICTURE_BYTES: usize = 8_000_000;

/// The kinds of pictures that every browser shows.
const SHOWN_PICTURES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// A pose of a page: set, pose, and why it is there, for those that have a reason.
type Chosen = (PoseRef, &'static str);

impl ModelOutcome<'_> {
    /// Returns every pose of every set, the set that counts first, or as many evenly spaced ones as [`MOST_BYTES`] holds.
    ///
    /// The worst poses of every set and a typical one are always among them. Returns none if examples were streamed, or if
    /// the model needs given positions.
    pub(super) fn view(&self) -> Option<SkinView> {
        if self.model.baked().needs_given() {
            return None;
        }
        // The poses left out of fits are training poses, and their skins were those of other models.
        let shown = |set: &ScoredExamples<'_>| set.role != SetRole::CrossValidated;
        let held = |set: &ScoredExamples<'_>| set.examples.is_some_and(|all| all.len() >= set.scores.frames.len());
        if !self.sets.iter().filter(|set| shown(set)).all(held) {
            return None;
        }
        let sets: Vec<usize> = (0..self.sets.len()).rev().filter(|&set| shown(&self.sets[set])).collect();
        let rig = self.model.rig();
        let vertices = rig.mesh().positions.len();
        let bytes = |precision| ShownPose::bytes_on_page(vertices, precision).max(1);
        let keys = self.key_poses(&sets, (MOST_KEY_BYTES / bytes(Precision::Full)).clamp(1, 8));
        let room = MOST_BYTES.saturating_sub(keys.len() * bytes(Precision::Full)) / bytes(Precision::Played);
        let counts: Vec<usize> = sets.iter().map(|&set| self.sets[set].scores.frames.len()).collect();
        let (chosen, left_out) = self.played(&sets, &keys, every(&counts, keys.len(), room));

        let base = self.model.baseline();
        let mut model_runner = WideRunner::new(self.model.baked());
        let mut base_runner = base.as_ref().map(WideRunner::new);
        let middles: Vec<Vec<DVec3>> = self.sets.iter().map(|set| middles(set, rig.mesh().diagonal())).collect();
        let shown = |(at, why): Chosen| {
            let ScoredExamples { role, examples, .. } = &self.sets[at.set];
            let example = &examples.as_ref()?.examples()[at.pose];
            let middle = middles[at.set][at.pose];
            let about = |skin: &[DVec3]| shown_positions(&skin.iter().map(|p| *p - middle).collect::<Vec<_>>());
            let world = rig.skeleton().world_pose(&example.transforms);
            Some(ShownPose {
                label: example.label.clone(),
                set: role.name().into(),
                note: why.into(),
                pose: Some(at),
                time: example.time,
                precision: if why.is_empty() { Precision::Played } else { Precision::Full },
                joints: about(&world.bones.iter().map(|bone| bone.translation).collect::<Vec<_>>()),
                target: about(&example.positions),
                model: about(model_runner.run(&example.transforms, None).ok()?),
                baseline: base_runner.as_mut().and_then(|r| r.run(&example.transforms, None).ok().map(about)),
            })
        };
        let (surface, no_pictures) = self.surface();
        let poses: Vec<ShownPose> = chosen.into_iter().filter_map(shown).collect();
        let worst = keys.first().map(|key| key.0);
        let middle = middle_of(&rig.mesh().positions);
        let rest: Vec<DVec3> = rig.mesh().positions.iter().map(|p| *p - middle).collect();
        Some(SkinView {
            triangles: rig.mesh().triangles.clone(),
            rest: shown_positions(&rest),
            parents: rig.skeleton().parents().iter().map(|parent| parent.map(|bone| bone.get() as u32)).collect(),
            first: poses.iter().position(|pose| pose.pose == worst).unwrap_or(0),
            poses,
            surface,
            left_out: left_out.into_iter().chain(no_pictures).collect(),
        })
    }

    /// Returns the drawn mesh with the pictures of its materials, and what is left out in words.
    fn surface(&self) -> (Option<DrawnSurface>, Option<String>) {
        let Some(drawn) = &self.model.rig().mesh().render else { return (None, None) };
        let Some(appearance) = drawn.appearance.as_ref().filter(|_| drawn.uvs.len() == drawn.source.len()) else {
            return (None, None);
        };
        let mut pictures: Vec<&Image> = Vec::new();
        let mut parts = Vec::new();
        for part in &drawn.parts {
            let image = part.material.and_then(|material| base_colour_image(appearance, material));
            let picture = image.filter(|image| SHOWN_PICTURES.contains(&image.media_type.as_str())).map(|image| {
                pictures.iter().position(|known| std::ptr::eq(*known, image)).unwrap_or_else(|| {
                    pictures.push(image);
                    pictures.len() - 1
                })
            });
            parts.push((part.start, part.count, picture));
        }
        let bytes: usize = pictures.iter().map(|image| image.bytes.len()).sum();
        if pictures.is_empty() {
            return (None, None);
        }
        if bytes > MOST_PICTURE_BYTES {
            let most = MOST_PICTURE_BYTES / 1_000_000;
            let bytes = bytes.div_ceil(1_000_000);
            return (
                None,
                Some(format!("The pictures of the materials take {bytes} MB; above {most} MB the page has none.")),
            );
        }
        let surface = DrawnSurface {
            source: drawn.source.clone(),
            uvs: drawn.uvs.iter().map(|uv| uv.to_array().map(|x| x as f32)).collect(),
            triangles: drawn.triangles.clone(),
            parts,
            pictures: pictures.into_iter().map(|image| (image.media_type.clone(), image.bytes.clone())).collect(),
        };
        (Some(surface), None)
    }

    /// Returns the worst poses of the sets and typical ones, `most` at most, worst of the first set first.
    fn key_poses(&self, sets: &[usize], most: usize) -> Vec<Chosen> {
        let mut chosen: Vec<Chosen> = Vec::new();
        for (nth, &set) in sets.iter().enumerate() {
            let scores = self.sets[set].scores;
            let poses = &scores.model.per_pose;
            let mut by_rms: Vec<usize> = (0..poses.len()).collect();
            by_rms.sort_by(|&a, &b| poses[b].rms.total_cmp(&poses[a].rms));
            let by_max = (0..poses.len()).max_by(|&a, &b| poses[a].max.total_cmp(&poses[b].max));
            let counts = nth == 0;
            let picks = [
                (by_rms.first().copied(), "largest rms"),
                (by_max, "largest error of a vertex"),
                (farthest(scores).map(|f| f.0).filter(|_| counts), "farthest from training"),
                (by_rms.get(by_rms.len() / 2).copied(), "typical"),
                (by_rms.get(1).copied().filter(|_| counts), "second largest rms"),
            ];
            for (pose, why) in picks {
                let at = pose.map(|pose| PoseRef { set, pose });
                if let Some(at) = at.filter(|&at| !chosen.iter().any(|c| c.0 == at)) {
                    chosen.push((at, why));
                }
            }
        }
        chosen.truncate(most);
        chosen
    }

    /// Returns every `every`-th pose of the sets with the key poses among them, and what is left out in words.
    fn played(&self, sets: &[usize], keys: &[Chosen], every: Option<usize>) -> (Vec<Chosen>, Vec<String>) {
        let (mut chosen, mut left_out) = (Vec::new(), Vec::new());
        for &set in sets {
            let ScoredExamples { role, scores, .. } = &self.sets[set];
            let all = scores.frames.len();
            let before = chosen.len();
            for pose in 0..all {
                let at = PoseRef { set, pose };
                match keys.iter().find(|key| key.0 == at) {
                    Some(key) => chosen.push(*key),
                    None if every.is_some_and(|every| pose % every == 0) => chosen.push((at, "")),
                    None => {}
                }
            }
            let here = chosen.len() - before;
            if here < all {
                let which = every.map_or(String::new(), |every| format!("one in {every} and "));
                left_out.push(format!(
                    "{}: {here} of {all} poses are shown, {which}those with the largest errors. The page keeps its skins \
                     below {} MB.",
                    role.name(),
                    MOST_BYTES / 1_000_000
                ));
            }
        }
        (chosen, left_out)
    }
}

/// Returns the smallest k such that every k-th pose of sets with so many poses fits into `room`, beside `keys` key poses.
/// Returns none if there is no room for any.
fn every(counts: &[usize], keys: usize, room: usize) -> Option<usize> {
    let all: usize = counts.iter().sum();
    if all <= keys + room {
        return Some(1);
    }
    let taken = |k: usize| counts.iter().map(|count| count.div_ceil(k)).sum::<usize>();
    (2..=counts.iter().copied().max().unwrap_or(0)).find(|&k| taken(k) <= room)
}

/// Returns the point about which each skin of a set is shown.
///
/// A skin is shown about its own middle, so that a walk stays in view. Its height is that of the set as far as the set
/// stays on one level, so that a step goes up and down.
fn middles(set: &ScoredExamples<'_>, diagonal: f64) -> Vec<DVec3> {
    let examples: &[Example] = set.examples.map_or(&[], |examples| examples.examples());
    let mut middles: Vec<DVec3> = examples.iter().map(|example| middle_of(&example.positions)).collect();
    let (low, high) = middles.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), m| (l.min(m.y), h.max(m.y)));
    if high - low < 0.25 * diagonal {
        middles.iter_mut().for_each(|middle| middle.y = 0.5 * (low + high));
    }
    middles
}

/// Returns the mean of the finite points.
fn middle_of(skin: &[DVec3]) -> DVec3 {
    let finite = skin.iter().filter(|p| p.is_finite());
    let (sum, count) = finite.fold((DVec3::ZERO, 0usize), |(sum, count), p| (sum + *p, count + 1));
    sum / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poses_are_left_out_evenly_when_a_page_cannot_hold_them() {
        assert_eq!(every(&[12, 42], 8, 46), Some(1));
        assert_eq!(every(&[12, 42], 8, 45), Some(2));
        assert_eq!(every(&[900], 8, 120), Some(8)); // 113 of 900
        assert_eq!(every(&[900], 1, 1), Some(900));
        assert_eq!(every(&[900, 1], 1, 1), None);
        assert_eq!(every(&[0], 0, 0), Some(1));
    }
}
