//! Which frames of a motion to sculpt next: those after which least is left to guess in the whole motion.
//!
//! The correction of a vertex v is taken for a Gaussian process over the poses of the joints around it,
//!
//! ```text
//! k_v(x, y) = s_v² Σ_j b_vj [ g(|x_j − y_j|) − g(|x_j|) g(|y_j|) ],      g(r) = exp(−r²/σ²),
//! ```
//!
//! x_j the joint's feature ([`TrainingPoses`]; distances are chords, 2 sin(angle/2)), zero at the bind pose, where the
//! correction is known to be zero. b_vj says how much joint j matters to v: the larger squared influence map of its two
//! bones. Training poses are observations with a noise ρ, because a sum over joints
//! does not hold all that a skin does. What is still
//! unknown in frame f is the posterior variance C_v(f, f), and the frame c to sculpt is the one that takes most from it:
//!
//! ```text
//! gain(c) = Σ_v m_v Σ_f C_v(f, c)² / (C_v(c, c) + ρ),      C ← C − C_·c C_c· / (C_cc + ρ),
//! ```
//!
//! C for s_v = 1, and m_v = s_v² times the area of skin at v. The second line makes a chosen frame one of the training, so that the next is no twin of it.
//! A frame that lies far out but says little of the others is passed over: it is the motion as a whole that improves. The frames c
//! to choose from are those of the motion, or poses of another file.
//!
//! s_v², how much the skin of v is corrected, is learnt: s_v² = (ν s₀² + c_v²)/(ν + q_v), c_v the largest correction the
//! examples asked of v (the guard's radius), q_v the prior variance of its training poses for s = 1, s₀² the same ratio over
//! all skin. Skin whose joints never moved has the average. Models without a guard weigh all skin alike.
//!
//! Skin is looked at in 256 places of equal share, taken in vertex order. Source of the criterion: Cohn, Ghahramani &
//! Jordan 1996, "Active learning with statistical models" (expected variance), for Gaussian processes Seo et al. 2000.

use crate::error::Error;
use dermis_deform::TrainingPoses;
use dermis_deform::guard::BALL_FACTOR;
use dermis_deform::training::degrees;
use dermis_fit::maps::{self, MapSettings};
use dermis_fit::{Cancelled, Progress};
use dermis_io::{Contents, Format, ModelFile, Record};
use dermis_rig::{BoneIndex, Motion, Rig};
use dermis_solve::Interpolation;
use dermis_solve::faer::Mat;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// Places of the skin that are looked at.
const PLACES: usize = 256;
/// Frames looked at; more are thinned evenly.
const FRAMES: usize = 192;
/// Width of the kernel, in chords: σ. Joints that turn by 60 degrees are one chord apart. With 2 the frames chosen for a body and
/// a human serve as well; the expected error falls faster than the true one.
const SIGMA: f64 = 1.0;
/// Variance of what a training pose leaves unsaid, where the prior variance of a far pose is one per joint: ρ. With 0.1 the same
/// frames are chosen but for one in eight.
const NOISE: f64 = 0.01;
/// Training poses that the average correction counts for: ν.
const PRIOR: f64 = 1.0;
/// A joint counts as new from so many degrees away from training.
pub const NEW: f64 = 10.0;

/// A frame to sculpt.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// Its number in the file that offers it, from zero.
    pub frame: usize,
    /// Its label.
    pub label: String,
    /// Seconds.
    pub time: Option<f64>,
    /// Bones of the joints that are [`NEW`] degrees or more from their training, and from the frames suggested before this one,
    /// with those degrees; the one that moves most skin, times degrees, first.
    pub new: Vec<(String, f64)>,
    /// The joint farthest from training, and its degrees.
    pub farthest: (String, f64),
    /// Share of the skin's area that the new joints move.
    pub skin: f64,
    /// Part of the expected squared error of the whole motion that this frame takes away, of what it was before any.
    pub gain: f64,
    /// Expected rms error of the motion after it, over that before any.
    pub left: f64,
}

/// What to sculpt, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestions {
    /// The frames.
    pub list: Vec<Suggestion>,
    /// Frames of the motion.
    pub frames: usize,
    /// Frames of it that were looked at.
    pub looked_at: usize,
    /// Poses that were there to choose from.
    pub offered: usize,
    /// Training poses of the model, as far as it holds them.
    pub trained: usize,
    /// Share of the motion's expected squared correction that training does not tell, before any suggestion.
    pub unknown: f64,
}

/// The `count` poses to sculpt next for a motion, best first: its own frames, or poses of `among`. Fewer if there are fewer or
/// nothing is left to learn.
///
/// Motions of more than 192 frames are thinned evenly.
///
/// # Errors
/// [`Error::Option`]: a model without training poses, a motion without frames, of another skeleton, or not finite;
/// [`Error::Cancelled`].
pub fn suggest(
    model: &ModelFile,
    motion: &Motion,
    among: Option<&Motion>,
    count: usize,
    progress: Progress<'_>,
) -> Result<Suggestions, Error> {
    let training = training_of(model)?;
    let thinned = |motion: &Motion| -> Vec<usize> {
        let all = motion.frames.len();
        (0..all).step_by(all.div_ceil(FRAMES).max(1)).collect()
    };
    let mut features = known_features(training);
    let trained = features.len();
    let frames = thinned(motion);
    add_features(model, training, motion, &frames, &mut features)?;
    let frames = frames.len();
    // Poses beyond training are counted from the first frame of the motion.
    let (from, offered) = (among.unwrap_or(motion), thinned(among.unwrap_or(motion)));
    let first = if among.is_some() { frames } else { 0 };
    if among.is_some() {
        add_features(model, training, from, &offered, &mut features)?;
    }
    let skin = Skin::new(model, training);
    let kernels = Kernels::new(&features);
    let places = skin.places(model, &kernels, trained);
    let (done, total) = (AtomicU64::new(0), places.len() as u64);
    let mut unknown = places
        .par_iter()
        .map(|place| {
            if let ControlFlow::Break(Cancelled) = progress(done.fetch_add(1, Ordering::Relaxed), total) {
                return Err(Error::Cancelled);
            }
            Ok(Unknown::new(place, &kernels, trained, frames))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let prior: f64 = unknown.iter().map(|u| u.prior).sum();
    let before: f64 = unknown.iter().map(Unknown::total).sum();
    let mut known: Vec<usize> = (0..trained).collect();
    let mut left = before;
    let mut list: Vec<Suggestion> = Vec::new();
    while list.len() < count.min(offered.len()) {
        let gains: Vec<Vec<f64>> = unknown.par_iter().map(Unknown::gains).collect();
        let mut best: Option<(usize, f64)> = None;
        for c in (first..first + offered.len()).filter(|c| !known.contains(&(trained + c))) {
            let gain = gains.iter().map(|g| g[c]).sum::<f64>();
            if best.is_none_or(|(_, most)| gain > most) {
                best = Some((c, gain));
            }
        }
        // Frames in the bind pose have nothing to learn.
        let Some((c, gain)) = best.filter(|(_, gain)| *gain > 1e-6 * prior) else { break };
        unknown.par_iter_mut().for_each(|u| u.learn(c));
        left = (left - gain).max(0.0);
        let number = offered[c - first];
        let frame = &from.frames[number];
        let far = far_joints(&features, trained + c, &known);
        let new = skin.new_joints(&far);
        let farthest = (0..far.len()).fold(0, |most, j| if far[j] > far[most] { j } else { most });
        let named = |j: usize| (skin.names[j].clone(), far[j]);
        list.push(Suggestion {
            frame: number,
            label: frame.label.clone(),
            time: frame.time,
            skin: skin.share(&new),
            new: new.iter().map(|&j| named(j)).collect(),
            farthest: named(farthest),
            gain: gain / before,
            left: (left / before).sqrt(),
        });
        known.push(trained + c);
    }
    let unknown = if prior > 0.0 { before / prior } else { 0.0 };
    Ok(Suggestions { list, frames: motion.frames.len(), looked_at: frames, offered: offered.len(), trained, unknown })
}

impl Suggestions {
    /// The JSON of `suggest`.
    pub fn json(&self) -> Value {
        let joint = |(bone, degrees): &(String, f64)| json!({"bone": bone, "degrees": degrees});
        let line = |s: &Suggestion| {
            json!({
                "frame": s.frame,
                "label": s.label,
                "time": s.time,
                "new_joints": s.new.iter().map(joint).collect::<Vec<_>>(),
                "farthest": joint(&s.farthest),
                "skin_share": s.skin,
                "gain": s.gain,
                "error_left": s.left,
            })
        };
        json!({
            "suggestions": self.list.iter().map(line).collect::<Vec<_>>(),
            "frames": self.frames,
            "frames_looked_at": self.looked_at,
            "poses_to_choose_from": self.offered,
            "training_poses": self.trained,
            "unknown_share": self.unknown,
        })
    }

    /// The suggested poses as a bundle: the rig with their matrices and labels, for the sculptor to fill with skins. Labels that
    /// occur twice get the frame's number. `from` is the motion that offered them.
    pub fn bundle(&self, model: &ModelFile, from: &Motion) -> Contents {
        let rig = &model.rig;
        let twice = |s: &Suggestion| self.list.iter().filter(|other| other.label == s.label).count() > 1;
        let record = |s: &Suggestion| Record {
            label: if twice(s) { format!("{} (frame {})", s.label, s.frame) } else { s.label.clone() },
            time: None,
            pose: Some(from.frames[s.frame].pose.clone()),
            positions: None,
            importance: 1.0,
        };
        Contents {
            name: from.name.clone(),
            format: Format::Npz,
            space: model.space.clone(),
            mesh: Some(rig.mesh.clone()),
            skeleton: Some(rig.skeleton.clone()),
            weights: rig.weights.clone(),
            influence_maps: rig.influence_maps.clone(),
            records: self.list.iter().map(record).collect(),
            ..Contents::default()
        }
    }
}

/// The training poses of a model.
fn training_of(model: &ModelFile) -> Result<&TrainingPoses, Error> {
    match &model.training {
        Some(training) if training.poses() > 0 => Ok(training),
        Some(training) if training.joints.is_empty() => {
            Err(Error::Option("the model has no joint that moves skin: no pose differs from another".into()))
        }
        _ => Err(Error::Option(format!(
            "the model does not hold the poses it was trained on (its method is \"{}\"): nothing is known to be new",
            model.header.method
        ))),
    }
}

/// The features of a pose, joints in order.
type Features = Vec<[f64; 12]>;

/// Those of the training poses.
fn known_features(training: &TrainingPoses) -> Vec<Features> {
    let poses = training.features.chunks(training.joints.len());
    poses.map(|pose| pose.iter().map(|f| f.map(f64::from)).collect()).collect()
}

/// Adds the features of a motion's frames.
fn add_features(
    model: &ModelFile,
    training: &TrainingPoses,
    motion: &Motion,
    frames: &[usize],
    features: &mut Vec<Features>,
) -> Result<(), Error> {
    let skeleton = &model.rig.skeleton;
    let refuse = |what: String| Err(Error::Option(format!("the motion \"{}\" {what}", motion.name)));
    if frames.is_empty() {
        return refuse("has no frames".into());
    }
    for frame in frames.iter().map(|&f| &motion.frames[f]) {
        let (found, bones, label) = (frame.pose.bones.len(), skeleton.len(), &frame.label);
        if found != bones {
            return refuse(format!("has {found} bones in frame \"{label}\", but the model's rig has {bones}"));
        }
        let transforms = skeleton.bone_transforms(&frame.pose);
        let of_frame = training.features_of(&transforms);
        if !transforms.is_finite() || of_frame.iter().flatten().any(|x| !x.is_finite()) {
            return refuse(format!("is not finite in frame \"{label}\""));
        }
        features.push(of_frame);
    }
    Ok(())
}

/// |x − y|² of a joint's features.
fn square(x: &[f64; 12], y: &[f64; 12]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum()
}

/// Degrees of every joint of a pose from the nearest of the known ones.
fn far_joints(features: &[Features], pose: usize, known: &[usize]) -> Vec<f64> {
    let nearest =
        |j: usize| known.iter().map(|&s| square(&features[pose][j], &features[s][j])).fold(f64::INFINITY, f64::min);
    (0..features[pose].len()).map(|j| degrees(nearest(j).sqrt())).collect()
}

/// g(|x_j − y_j|) − g(|x_j|) g(|y_j|) of every joint and pair of poses: the lower triangle, row after row.
struct Kernels {
    poses: usize,
    joints: Vec<Vec<f32>>,
}

impl Kernels {
    fn new(features: &[Features]) -> Self {
        let g = |square: f64| (-square / (SIGMA * SIGMA)).exp();
        let joint = |j: usize| {
            let rest: Vec<f64> = features.iter().map(|x| g(square(&x[j], &[0.0; 12]))).collect();
            let mut values = Vec::with_capacity(features.len() * (features.len() + 1) / 2);
            for (s, x) in features.iter().enumerate() {
                let row = features[..=s].iter().zip(&rest);
                values.extend(row.map(|(y, at_rest)| (g(square(&x[j], &y[j])) - rest[s] * at_rest) as f32));
            }
            values
        };
        let joints = features.first().map_or(0, Vec::len);
        Self { poses: features.len(), joints: (0..joints).into_par_iter().map(joint).collect() }
    }

    fn at(&self, joint: usize, s: usize, t: usize) -> f64 {
        let (low, high) = (s.min(t), s.max(t));
        f64::from(self.joints[joint][high * (high + 1) / 2 + low])
    }
}

/// How joints and skin belong together.
struct Skin {
    /// Of the joints' bones.
    names: Vec<String>,
    /// Per vertex: joints that matter, with b.
    relevance: Vec<Vec<(usize, f64)>>,
    /// Per vertex, in parts of the whole.
    area: Vec<f64>,
}

/// Skin that stands for its share of all.
struct Place {
    joints: Vec<(usize, f64)>,
    mass: f64,
}

impl Skin {
    fn new(model: &ModelFile, training: &TrainingPoses) -> Self {
        let rig = &model.rig;
        let maps = rig.influence_maps.clone().or_else(|| {
            let weights = model.weights()?;
            Some(maps::from_weights(&rig.skeleton, &rig.mesh, weights, MapSettings::default()))
        });
        let relevance = |v: usize| -> Vec<(usize, f64)> {
            let joints = training.joints.iter().enumerate();
            let Some(maps) = &maps else { return joints.map(|(j, _)| (j, 1.0)).collect() };
            let square = |bone: BoneIndex| maps.value(v, bone).powi(2);
            let all = joints.map(|(j, &(parent, bone))| (j, square(parent).max(square(bone))));
            all.filter(|(_, b)| *b > 0.0).collect()
        };
        Self {
            names: training.joints.iter().map(|&(_, bone)| rig.skeleton.names()[bone].clone()).collect(),
            relevance: (0..rig.mesh.positions.len()).into_par_iter().map(relevance).collect(),
            area: areas(rig),
        }
    }

    /// Places of equal share along the vertex order, which runs over a mesh piece by piece.
    fn places(&self, model: &ModelFile, kernels: &Kernels, trained: usize) -> Vec<Place> {
        let corrected = self.corrected(model, kernels, trained);
        let mass: Vec<f64> = self.area.iter().zip(&corrected).map(|(area, s2)| area * s2).collect();
        let whole: f64 = mass.iter().sum();
        let (mut places, mut sum) = (Vec::with_capacity(PLACES), 0.0);
        for (v, m) in mass.iter().enumerate() {
            sum += m;
            while places.len() < PLACES && sum * PLACES as f64 > (places.len() as f64 + 0.5) * whole {
                places.push(Place { joints: self.relevance[v].clone(), mass: whole / PLACES as f64 });
            }
        }
        places
    }

    /// s² of every vertex over its average.
    fn corrected(&self, model: &ModelFile, kernels: &Kernels, trained: usize) -> Vec<f64> {
        let radii = model.baked.correction.as_ref().map_or(&[][..], |c| c.radii());
        if radii.len() != self.relevance.len() || radii.iter().all(|r| *r <= 0.0) {
            return vec![1.0; self.relevance.len()];
        }
        let prior = |row: &Vec<(usize, f64)>| {
            let of = |s: usize| row.iter().map(|&(j, b)| b * kernels.at(j, s, s)).sum::<f64>();
            (0..trained).map(of).fold(0.0, f64::max)
        };
        let seen: Vec<f64> = self.relevance.par_iter().map(prior).collect();
        let asked: Vec<f64> = radii.iter().map(|&r| (f64::from(r) / BALL_FACTOR).powi(2)).collect();
        let all = seen.iter().sum::<f64>();
        if all <= 0.0 {
            return vec![1.0; self.relevance.len()];
        }
        let average = asked.iter().sum::<f64>() / all;
        asked.iter().zip(&seen).map(|(c2, q)| (PRIOR + c2 / average) / (PRIOR + q)).collect()
    }

    /// Joints far enough from all that is known, the one first that is far and moves much skin.
    fn new_joints(&self, far: &[f64]) -> Vec<usize> {
        let mut new: Vec<(usize, f64)> =
            (0..far.len()).filter(|&j| far[j] >= NEW).map(|j| (j, far[j] * self.share(&[j]))).collect();
        new.sort_by(|a, b| b.1.total_cmp(&a.1));
        new.into_iter().map(|(j, _)| j).collect()
    }

    /// Share of the area that some of the joints move.
    fn share(&self, joints: &[usize]) -> f64 {
        let moved = |row: &Vec<(usize, f64)>| {
            row.iter().filter(|(j, _)| joints.contains(j)).map(|(_, b)| *b).fold(0.0, f64::max)
        };
        self.relevance.iter().zip(&self.area).map(|(row, area)| area * moved(row)).sum()
    }
}

/// A third of each triangle to each of its corners, in parts of the whole; equal parts without triangles.
fn areas(rig: &Rig) -> Vec<f64> {
    let p = &rig.mesh.positions;
    let mut area = vec![0.0; p.len()];
    for corners in &rig.mesh.triangles {
        let [a, b, c] = corners.map(|v| p[v as usize]);
        let size = (b - a).cross(c - a).length();
        corners.iter().for_each(|&v| area[v as usize] += size);
    }
    let whole: f64 = area.iter().sum();
    match whole > 0.0 && whole.is_finite() {
        true => area.iter().map(|a| a / whole).collect(),
        false => vec![1.0 / p.len() as f64; p.len()],
    }
}

/// What is not known at a place: the posterior covariance C of the poses beyond training, for s = 1.
struct Unknown {
    /// The motion's frames come first.
    frames: usize,
    poses: usize,
    mass: f64,
    /// The sum over frames of the prior variance, times the mass.
    prior: f64,
    covariance: Vec<f32>,
}

impl Unknown {
    fn new(place: &Place, kernels: &Kernels, trained: usize, frames: usize) -> Self {
        let k = |s: usize, t: usize| place.joints.iter().map(|&(j, b)| b * kernels.at(j, s, t)).sum::<f64>();
        let (n, m) = (trained, kernels.poses - trained);
        let own = Mat::from_fn(n, n, |s, t| if s >= t { k(s, t) } else { 0.0 });
        let cross = Mat::from_fn(n, m, |s, f| k(s, n + f));
        let prior = Mat::from_fn(m, m, |e, f| if e >= f { k(n + e, n + f) } else { 0.0 });
        // A sum of Gaussians and a noise is positive definite; if rounding says otherwise, nothing is known here.
        let explained = Interpolation::new(own.as_ref(), &vec![NOISE; n])
            .map_or_else(|_| Mat::zeros(m, m), |solved| cross.transpose() * solved.weights(cross.as_ref()));
        let entry = |at: usize| {
            let (e, f) = ((at / m).max(at % m), (at / m).min(at % m));
            (prior[(e, f)] - explained[(e, f)]) as f32
        };
        Self {
            frames,
            poses: m,
            mass: place.mass,
            prior: place.mass * (0..frames).map(|f| prior[(f, f)]).sum::<f64>(),
            covariance: (0..m * m).map(entry).collect(),
        }
    }

    fn row(&self, f: usize) -> &[f32] {
        &self.covariance[f * self.poses..][..self.poses]
    }

    /// C(f, f), which rounding may take below zero.
    fn variance(&self, f: usize) -> f64 {
        f64::from(self.row(f)[f]).max(0.0)
    }

    fn total(&self) -> f64 {
        self.mass * (0..self.frames).map(|f| self.variance(f)).sum::<f64>()
    }

    /// What each pose would take from the total.
    fn gains(&self) -> Vec<f64> {
        let squares = |c: usize| self.row(c)[..self.frames].iter().map(|&c| f64::from(c).powi(2)).sum::<f64>();
        (0..self.poses).map(|c| self.mass * squares(c) / (self.variance(c) + NOISE)).collect()
    }

    /// Makes a pose known.
    fn learn(&mut self, f: usize) {
        let (row, scale) = (self.row(f).to_vec(), 1.0 / (self.variance(f) + NOISE));
        for (line, &a) in self.covariance.chunks_mut(self.poses).zip(&row) {
            let a = f64::from(a) * scale;
            line.iter_mut().zip(&row).for_each(|(c, &b)| *c = (f64::from(*c) - a * f64::from(b)) as f32);
        }
    }
}

#[cfg(test)]
mod tests;
