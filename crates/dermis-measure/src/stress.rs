//! Stress test: does a model keep the promise of its guard in random poses that no animator would draw?
//!
//! Every joint is turned about its own place at rest, M_k = M_parent · T(c) R T(−c) with c the head of the bone, R about
//! an axis uniform on the sphere by an angle uniform up to a level's limit. Roots turn as well. Every vertex of every
//! pose is compared with the base alone, run by the same code: |p' − base| ≤ the radius of its ball (1.5 ρ_v, see
//! [`dermis_deform::guard`]), p' = base exactly where the radius is zero, and every number is finite.

use crate::MeasureError;
use crate::{Quantiles, WideRunner};
use dermis_deform::{Guarded, RiggedDeformer};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::progress::proceed;
use dermis_rig::{BoneTransforms, Progress, Skeleton};
use dermis_solve::Random;

/// The largest turn of a joint at each level, degrees.
pub const LEVELS: [f64; 3] = [60.0, 120.0, 180.0];

/// What bounds a model's correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Nothing is corrected.
    NoCorrection,
    /// The guard is off.
    NoGuard,
    /// A ball around the base's position of every vertex.
    Ball,
}

/// What a stress test found.
#[derive(Clone, Debug, PartialEq)]
pub struct Stress {
    /// What bounds the correction.
    pub bound: Bound,
    /// The largest radius of a ball, metres; zero without the guard.
    pub largest_radius: f64,
    /// The rest diagonal, metres.
    pub diagonal: f64,
    /// Vertices of the model.
    pub vertices: usize,
    /// Joints that were turned.
    pub joints: usize,
    /// Where the random numbers started.
    pub seed: u64,
    /// One per entry of [`LEVELS`].
    pub levels: Vec<Level>,
}

/// What was found in the poses of one level. Lengths in metres.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The largest turn of a joint, degrees.
    pub degrees: f64,
    /// How many poses.
    pub poses: usize,
    /// The largest |p' − base|.
    pub largest: f64,
    /// Pose and vertex where it is; `None` if nothing is corrected.
    pub largest_at: Option<(usize, usize)>,
    /// The 99th percentile of |p' − base| over vertices and poses.
    pub p99: f64,
    /// Share of vertices and poses where the ball held the correction back.
    pub held: f64,
    /// Share of features and poses whose limit acted: pairs of bones, or joints.
    pub limited: f64,
    /// The largest |p' − base| − radius, zero if there is none above.
    pub excess: f64,
    /// Vertices and poses beyond the ball by more than rounding, or not at the base although their radius is zero.
    pub beyond: usize,
    /// Vertices and poses where a coordinate of p' or of the base is not finite.
    pub not_finite: usize,
}

/// Runs a model in `poses` random poses at each of [`LEVELS`].
///
/// A model over given positions runs over its rest positions: the correction does not depend on them. Same model, count
/// and seed, same result, for any number of threads.
///
/// # Errors
/// [`MeasureError::Cancelled`]; [`MeasureError::Pose`] if the deformer is not of the rig.
pub fn stress(model: &RiggedDeformer, poses: usize, seed: u64, progress: Progress<'_>) -> Result<Stress, MeasureError> {
    let skeleton = model.rig().skeleton();
    let (rest, length) = (&model.rig().mesh().positions, model.rig().mesh().diagonal());
    let bounds = model.baked().bounds();
    let radii = bounds.as_deref().unwrap_or_default();
    let alone = model.baked().clone().without_correction();
    let given = model.baked().needs_given().then_some(rest.as_slice());
    let (mut corrected, mut base) = (WideRunner::new(model.baked()), WideRunner::new(&alone));
    let mut levels = Vec::new();
    for (at, degrees) in LEVELS.into_iter().enumerate() {
        let mut random = Random::new(seed, at as u64);
        let mut tally = Tally::new(radii, length);
        for pose in 0..poses {
            proceed(progress, at * poses + pose, LEVELS.len() * poses)?;
            let transforms = random_pose(skeleton, &mut random, degrees.to_radians());
            let skin = corrected.run(&transforms, given)?;
            tally.add(base.run(&transforms, given)?, skin);
            tally.add_guarded(corrected.guarded());
        }
        levels.push(tally.finish(degrees));
    }
    Ok(Stress {
        bound: match bounds {
            _ if model.baked().corrections().is_empty() => Bound::NoCorrection,
            None => Bound::NoGuard,
            Some(_) => Bound::Ball,
        },
        largest_radius: radii.iter().fold(0.0, |most, &r| most.max(f64::from(r))),
        diagonal: length,
        vertices: rest.len(),
        joints: skeleton.len(),
        seed,
        levels,
    })
}

/// A pose in which every joint is turned about its own head by up to `most` radians.
pub fn random_pose(skeleton: &Skeleton, random: &mut Random, most: f64) -> BoneTransforms {
    let mut transforms: Vec<DAffine3> = Vec::with_capacity(skeleton.len());
    for bone in skeleton.bones() {
        let turn = DMat3::from_quat(DQuat::from_axis_angle(random.direction().into(), most * random.unit()));
        let head = skeleton.bind()[bone].translation;
        let about_head = DAffine3 { matrix3: turn, translation: head - turn * head };
        transforms.push(match skeleton.parents()[bone] {
            Some(parent) => transforms[parent.get()] * about_head,
            None => about_head,
        });
    }
    BoneTransforms::new(transforms)
}

/// Counts over poses how far skins leave their base: knows the bound and nothing of models.
pub struct Tally<'a> {
    radii: &'a [f32],
    /// L.
    length: f64,
    distances: Quantiles,
    poses: usize,
    vertices: usize,
    largest: f64,
    largest_at: Option<(usize, usize)>,
    excess: f64,
    beyond: usize,
    not_finite: usize,
    held: usize,
    limited: usize,
    features: usize,
}

impl<'a> Tally<'a> {
    /// Nothing counted yet. `radii` bound each vertex, metres; empty without a bound. `length` is L, metres.
    pub fn new(radii: &'a [f32], length: f64) -> Self {
        Self {
            radii,
            length,
            distances: Quantiles::default(),
            poses: 0,
            vertices: 0,
            largest: 0.0,
            largest_at: None,
            excess: 0.0,
            beyond: 0,
            not_finite: 0,
            held: 0,
            limited: 0,
            features: 0,
        }
    }

    /// The skin and the base of one more pose, both as they come out of `f32`.
    pub fn add(&mut self, base: &[DVec3], skin: &[DVec3]) {
        let mut distances = Vec::with_capacity(skin.len());
        for (v, (base, skin)) in base.iter().zip(skin).enumerate() {
            if !(base.is_finite() && skin.is_finite()) {
                self.not_finite += 1;
                continue;
            }
            let distance = base.distance(*skin);
            distances.push(distance);
            if distance > self.largest {
                (self.largest, self.largest_at) = (distance, Some((self.poses, v)));
            }
            if let Some(&radius) = self.radii.get(v) {
                let radius = f64::from(radius);
                self.excess = self.excess.max(distance - radius);
                let allowed = if radius == 0.0 { 0.0 } else { radius + rounding(self.length, radius, *base) };
                self.beyond += usize::from(distance > allowed);
            }
        }
        self.distances.extend(&distances);
        self.vertices += skin.len();
        self.poses += 1;
    }

    /// What the guard did in that pose.
    pub fn add_guarded(&mut self, guarded: Guarded) {
        self.held += guarded.held;
        self.limited += guarded.limited;
        self.features += guarded.features;
    }

    /// What was found, as the level of this largest turn.
    pub fn finish(&self, degrees: f64) -> Level {
        let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
        Level {
            degrees,
            poses: self.poses,
            largest: self.largest,
            largest_at: self.largest_at,
            p99: self.distances.at(0.99).unwrap_or(0.0),
            held: share(self.held, self.vertices),
            limited: share(self.limited, self.features),
            excess: self.excess,
            beyond: self.beyond,
            not_finite: self.not_finite,
        }
    }
}

/// How far `f32` may carry a vertex out of its ball.
///
/// A result is rounded once about the character's middle and once at its place, the base at its place: a length changes
/// by √3 · 2⁻²⁴ ≈ 1.03e-7 of a position each time. A flung limb is within 9 L of the middle. The radius itself, and
/// the projection to it, are rounded within 1e-6 of it.
fn rounding(length: f64, radius: f64, base: DVec3) -> f64 {
    1e-6 * (length + radius) + 2.1e-7 * base.length()
}

impl Stress {
    /// Whether every number is finite, and no vertex beyond its ball where there is one.
    pub fn passed(&self) -> bool {
        self.levels.iter().all(|level| level.beyond == 0 && level.not_finite == 0)
    }

    /// The largest |p' − base| − radius, metres; zero if every vertex is within its ball.
    pub fn excess(&self) -> f64 {
        self.levels.iter().map(|level| level.excess).fold(0.0, f64::max)
    }

    /// [`Stress::excess`] in rest diagonals.
    pub fn relative_excess(&self) -> f64 {
        if self.diagonal > 0.0 { self.excess() / self.diagonal } else { 0.0 }
    }

    /// The verdict, a sentence or two.
    pub fn verdict(&self) -> String {
        let sum = |of: fn(&Level) -> usize| self.levels.iter().map(of).sum::<usize>();
        let (beyond, not_finite) = (sum(|l| l.beyond), sum(|l| l.not_finite));
        let poses = sum(|l| l.poses);
        let all = self.vertices * poses;
        let mut said = Vec::new();
        if not_finite > 0 {
            said.push(format!("NOT FINITE: {not_finite} of {all} positions (vertices times poses)"));
        }
        said.push(match self.bound {
            Bound::Ball if beyond > 0 => {
                format!("NOT BOUNDED: {beyond} of {all} positions (vertices times poses) lie beyond the guard's bound")
            }
            Bound::Ball if not_finite > 0 => "all others lie within the guard's bound".into(),
            Bound::Ball => format!(
                "bounded: in all {poses} poses every vertex is finite and stays within the guard's bound of the base"
            ),
            Bound::NoGuard => "the guard is off: there is no bound to hold the correction to".into(),
            Bound::NoCorrection => "the model has no correction: there is nothing to bound".into(),
        });
        said.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::BoneIndex;

    /// By definition: a joint's motion keeps the bone's head and turns by less than the limit, whatever the bind pose.
    #[test]
    fn every_joint_turns_about_its_own_head_by_any_angle_up_to_the_limit() {
        let stretched = DAffine3::from_scale(DVec3::new(2.0, 0.5, 1.0));
        let bind = |x: f64| DAffine3::from_translation(DVec3::new(x, 1.0, 0.2 * x)) * stretched;
        let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(0)), Some(BoneIndex::new(2))];
        let names = ["a", "b", "c", "d"].map(String::from).to_vec();
        let skeleton = Skeleton::new(names, parents, [0.3, 1.0, 2.0, 3.0].map(bind).to_vec()).unwrap();
        let (most, mut random) = (2.0, Random::new(4, 0));
        let mut largest = 0.0f64;
        for _ in 0..200 {
            let pose = random_pose(&skeleton, &mut random, most);
            for bone in skeleton.bones() {
                let above = skeleton.parents()[bone].map_or(DAffine3::IDENTITY, |p| pose[p]);
                let joint = above.inverse() * pose[bone];
                let head = skeleton.bind()[bone].translation;
                assert!(joint.transform_point3(head).distance(head) < 1e-13);
                let r = joint.matrix3;
                assert!((r * r.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-13) && r.determinant() > 0.0);
                let trace = r.x_axis.x + r.y_axis.y + r.z_axis.z;
                let angle = ((trace - 1.0) / 2.0).clamp(-1.0, 1.0).acos();
                assert!(angle <= most + 1e-7, "{angle}");
                largest = largest.max(angle);
            }
        }
        assert!(largest > 0.95 * most, "800 angles up to {most}, and none above {largest}");
    }

    /// Known distances: 0.1 and 0.3 against radii of 0.2, and moved vertices of radius zero.
    #[test]
    fn what_leaves_its_ball_is_counted_with_its_excess() {
        let radii = [0.2, 0.2, 0.0, 0.0];
        let base = vec![DVec3::new(1.0, 2.0, 3.0); 4];
        let moved = |by: [f64; 4]| -> Vec<DVec3> { base.iter().zip(by).map(|(p, x)| *p + DVec3::X * x).collect() };
        let mut tally = Tally::new(&radii, 1.0);
        tally.add(&base, &moved([0.1, 0.2, 0.0, 0.0]));
        let inside = tally.finish(60.0);
        assert_eq!((inside.beyond, inside.not_finite, inside.poses), (0, 0, 1));
        assert!(inside.excess < 1e-8 && (inside.largest - 0.2).abs() < 1e-12 && inside.largest_at == Some((0, 1)));
        // One per million of L beyond a ball is rounding; but where the radius is zero nothing may move at all.
        tally.add(&base, &moved([0.2 + 5e-7, 0.1, 0.0, 0.0]));
        assert_eq!(tally.finish(60.0).beyond, 0);
        tally.add(&base, &moved([0.3, 0.0, 1e-9, 0.0]));
        let level = tally.finish(60.0);
        assert_eq!((level.beyond, level.poses, level.largest_at), (2, 3, Some((2, 0))));
        assert!((level.excess - 0.1).abs() < 1e-7, "{}", level.excess);
        let mut no_bound = Tally::new(&[], 1.0);
        no_bound.add(&base, &moved([9.0, 0.0, 0.0, 0.0]));
        assert_eq!((no_bound.finish(60.0).beyond, no_bound.finish(60.0).largest), (0, 9.0));
    }

    #[test]
    fn numbers_that_are_not_finite_are_counted_and_spoil_nothing_else() {
        let base = vec![DVec3::ZERO; 3];
        let mut tally = Tally::new(&[1.0; 3], 1.0);
        tally.add(&base, &[DVec3::X * f64::NAN, DVec3::X * 0.5, DVec3::Y * f64::INFINITY]);
        tally.add(&[DVec3::NAN, DVec3::ZERO, DVec3::ZERO], &base);
        let level = tally.finish(180.0);
        assert_eq!((level.not_finite, level.beyond, level.largest), (3, 0, 0.5));
        let stress = Stress {
            bound: Bound::Ball,
            largest_radius: 1.0,
            diagonal: 1.0,
            vertices: 3,
            joints: 1,
            seed: 0,
            levels: vec![level],
        };
        assert!(!stress.passed() && stress.verdict().starts_with("NOT FINITE: 3 of 6"), "{}", stress.verdict());
    }
}
