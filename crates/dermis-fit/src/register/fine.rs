//! A pose close to the scan's becomes the scan's: all joints, all of the skin, and closest points of surfaces.

use super::body::{Body, State};
use super::coarse::SkinPoints;
use super::samples::Samples;
use super::system::{Hold, System};
use crate::surface::{Bordered, Surface};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::{principal_axes, rotation_vector};
use dermis_solve::faer::linalg::solvers::Solve;
use dermis_solve::faer::{Mat, Side};

/// A scan and a skin, to be brought together.
pub(super) struct Fine<'b, 'a> {
    pub body: &'b Body<'a>,
    pub skin: &'b SkinPoints,
    pub scan: &'b Bordered,
    pub points: &'b Samples,
    pub hold: Hold,
    /// ε: by how much weights may be wrong.
    pub doubt: f64,
}

/// A pair of a point of the skin and a point of the scan.
struct Pair {
    /// Vertices of the skin and their shares in the point.
    corners: [(usize, f64); 3],
    target: DVec3,
    normal: DVec3,
    weight: f64,
    distance: f64,
    /// Σ w_k |M_k p − x|²: how far the bones disagree about where the point of the skin goes, L².
    spread: f64,
}

/// A pose and how it lies on the scan.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub state: State,
    /// Root mean square distance of the pairs along the normal, metres.
    pub rms: f64,
    /// The share of the scan within [`NEAR`] of the skin, facing the same way.
    pub of_scan: f64,
    /// The share of the skin within [`NEAR`] of the scan, facing the same way.
    pub of_skin: f64,
    /// Mean over the scan of d²/(d² + w²), w half of [`NEAR`].
    pub cost: f64,
}

/// Pairs farther apart are no pairs in the first round, in L.
const REACH: f64 = 0.05;
/// By how much the reach shrinks in a round, and to what.
const NARROWING: (f64, f64) = (0.75, 0.012);
/// How much a distance along the surface counts.
const TANGENTIAL: f64 = 0.05;
/// The least cosine between the normals of a pair.
const FACING: f64 = 0.5;
/// Rounds at most.
const ROUNDS: usize = 40;
/// What is nearer, in L, is explained.
pub const NEAR: f64 = 0.012;
/// The scale of robust weights, in standard deviations of the distances.
const SIGMAS: f64 = 4.0;
/// A standard deviation in medians of the distances, if errors are normal.
const OF_MEDIAN: f64 = 1.4826;
/// What is not the weights' fault, in L: a disagreement of the bones as large as this over ε halves what a pair counts. Two
/// millimetres on a body.
const SOUND: f64 = 1e-3;
/// Pairs whose errors are one error: skin and its weights are wrong over patches, not point by point. With 4, fingers in the scans of a body
/// grow less exact from round to round; with 16, a twisted forearm, where bones disagree, is drawn to rest by four degrees.
const PATCH: f64 = 8.0;

/// No scan is more exact, in L: half a millimetre on a body.
const FINEST: f64 = 3e-4;
/// A joint with less curvature, L² per square radian, turns nothing that the scan shows.
const BLIND: f64 = 1e-10;

impl Fine<'_, '_> {
    /// The pose that lies on the scan, beginning with one that is near.
    pub fn fit(&self, start: &State) -> Fitted {
        let active = vec![true; self.body.free.len()];
        let mut state = start.clone();
        let mut reach = REACH;
        for _ in 0..ROUNDS {
            let transforms = self.body.transforms(&state);
            let pairs = self.pairs(&transforms, reach * self.body.length);
            let scale = robust_scale(&pairs).max(0.2 * reach * self.body.length);
            let mut system = System::new(self.body, &state, &transforms, &active);
            self.fill(&mut system, &pairs, scale, self.doubt);
            system.hold(&state, Hold { rest: self.hold.rest * self.noise(&pairs), ..self.hold });
            let Some(next) = system.step(&state) else { break };
            let turned = (state.joints.iter().zip(&next.joints))
                .map(|(a, b)| rotation_vector(a.conjugate() * *b).length())
                .fold(rotation_vector(state.turn.conjugate() * next.turn).length(), f64::max);
            let still = turned < 5e-4 && state.place.distance(next.place) < 1e-5 * self.body.length;
            state = next;
            if still && reach <= NARROWING.1 {
                break;
            }
            reach = (reach * NARROWING.0).max(NARROWING.1);
        }
        self.measure(state)
    }

    /// What the noise of the scan adds to the cost: the variance of a distance over the number of independent ones, L².
    fn noise(&self, pairs: &[Pair]) -> f64 {
        let sd = (robust_scale(pairs) / (SIGMAS * self.body.length)).clamp(FINEST, SOUND);
        sd * sd * PATCH / pairs.len().max(1) as f64
    }

    fn fill(&self, system: &mut System<'_, '_>, pairs: &[Pair], scale: f64, doubt: f64) {
        for pair in pairs {
            let trust = SOUND * SOUND / (SOUND * SOUND + doubt * doubt * pair.spread);
            let weight = 0.5 * pair.weight * trust * (1.0 + (pair.distance / scale).powi(2)).powi(-2);
            let entries = pair.corners.iter().filter(|(_, share)| *share > 0.0).flat_map(|&(v, share)| {
                let rest = self.body.mesh.positions[v];
                self.body.weights.of(v).iter().map(move |(bone, w)| (bone.get(), w * share, rest))
            });
            system.add(entries, pair.target, pair.normal, weight, TANGENTIAL);
        }
    }

    /// Pairs both ways.
    fn pairs(&self, transforms: &[DAffine3], reach: f64) -> Vec<Pair> {
        let skin = self.body.skin(transforms);
        let spread = self.body.spread(transforms, &skin);
        let mut pairs = Vec::with_capacity(self.skin.vertices.len() + self.points.points.len());
        let posed = self.skin.posed(self.body, transforms);
        for ((&v, (at, facing)), &weight) in self.skin.vertices.iter().zip(posed).zip(&self.skin.weights) {
            let Some(triangle) = self.scan.closest(at, reach) else { continue };
            let spot = self.scan.on(triangle, at);
            if spot.border || spot.normal.dot(facing) < FACING {
                continue;
            }
            let corners = [(v, 1.0), (v, 0.0), (v, 0.0)];
            let distance = spot.point.distance(at);
            pairs.push(Pair { corners, target: spot.point, normal: spot.normal, weight, distance, spread: spread[v] });
        }
        let triangles = &self.body.mesh.triangles;
        let surface = Surface::new(&skin, triangles);
        for ((&p, &normal), &weight) in self.points.points.iter().zip(&self.points.normals).zip(&self.points.weights) {
            let Some(closest) = surface.closest(p, reach) else { continue };
            let names = triangles[closest.triangle].map(|c| c as usize);
            let [a, b, c] = names.map(|c| skin[c]);
            let whole = (b - a).cross(c - a);
            if whole.normalize_or_zero().dot(normal) < FACING {
                continue;
            }
            let share = |u: DVec3, v: DVec3| (u.cross(v).dot(whole) / whole.length_squared()).clamp(0.0, 1.0);
            let at = closest.point;
            let (first, second) = (share(b - at, c - at), share(c - at, a - at));
            let corners = [(names[0], first), (names[1], second), (names[2], (1.0 - first - second).max(0.0))];
            let spread = corners.iter().map(|&(v, share)| share * spread[v]).sum();
            let distance = closest.distance_squared.sqrt();
            pairs.push(Pair { corners, target: p, normal, weight, distance, spread });
        }
        pairs
    }

    /// The share of the skin that follows a bone and what is below it for which the scan speaks: whose points are the nearest ones of points of
    /// the scan. Above 1 if the scan is denser there.
    pub fn support(&self, state: &State, bone: usize) -> f64 {
        let transforms = self.body.transforms(state);
        let skin = self.body.skin(&transforms);
        let below = self.body.below(bone);
        let follows = |v: usize| below[self.body.bone_of(v)];
        let surface = Surface::new(&skin, &self.body.mesh.triangles);
        let (near, mut of_scan) = (NEAR * self.body.length, 0.0);
        for (&p, &weight) in self.points.points.iter().zip(&self.points.weights) {
            let closest = surface.closest(p, near);
            let on_limb = closest.is_some_and(|c| follows(self.body.mesh.triangles[c.triangle][0] as usize));
            of_scan += if on_limb { weight } else { 0.0 };
        }
        let of_skin: f64 = self
            .skin
            .vertices
            .iter()
            .zip(&self.skin.weights)
            .filter(|(v, _)| follows(**v))
            .map(|(_, weight)| weight)
            .sum();
        of_scan / of_skin.max(f64::MIN_POSITIVE)
    }

    /// How a pose lies on the scan.
    pub fn measure(&self, state: State) -> Fitted {
        let transforms = self.body.transforms(&state);
        let skin = self.body.skin(&transforms);
        let near = NEAR * self.body.length;
        let surface = Surface::new(&skin, &self.body.mesh.triangles);
        let (mut of_scan, mut cost) = (0.0, 0.0);
        for ((&p, &normal), &weight) in self.points.points.iter().zip(&self.points.normals).zip(&self.points.weights) {
            let closest = surface.closest(p, 8.0 * near);
            let faces = |t: usize| {
                let [a, b, c] = self.body.mesh.triangles[t].map(|c| skin[c as usize]);
                (b - a).cross(c - a).dot(normal) > 0.0
            };
            let distance = closest.filter(|c| faces(c.triangle)).map_or(f64::INFINITY, |c| c.distance_squared.sqrt());
            of_scan += if distance < near { weight } else { 0.0 };
            cost += weight * (1.0 - 1.0 / (1.0 + (2.0 * distance / near).powi(2)));
        }
        let pairs = self.pairs(&transforms, near);
        let of_skin =
            pairs.iter().filter(|pair| pair.corners[1].1 == 0.0 && pair.corners[2].1 == 0.0).map(|p| p.weight).sum();
        let along = |pair: &Pair| {
            let at: DVec3 = pair.corners.iter().map(|&(v, share)| skin[v] * share).sum();
            pair.weight * (pair.target - at).dot(pair.normal).powi(2)
        };
        let whole: f64 = pairs.iter().map(|p| p.weight).sum();
        let rms = (pairs.iter().map(along).sum::<f64>() / whole.max(f64::MIN_POSITIVE)).sqrt();
        Fitted { state, rms, of_scan, of_skin, cost }
    }

    /// The standard deviation of every free joint's turn, about its least certain axis, radians: by the curvature of the distances
    /// at the pose.
    pub fn deviations(&self, fitted: &Fitted) -> Vec<f64> {
        let transforms = self.body.transforms(&fitted.state);
        let pairs = self.pairs(&transforms, NEAR * self.body.length);
        let active = vec![true; self.body.free.len()];
        let mut system = System::new(self.body, &fitted.state, &transforms, &active);
        let scale = robust_scale(&pairs).max(1e-6 * self.body.length);
        // What a scan shows does not depend on how well the weights are known.
        self.fill(&mut system, &pairs, scale, 0.0);
        let size = system.right.len();
        let diagonal: Vec<f64> = (0..size).map(|i| system.matrix[(i, i)]).collect();
        for i in 0..size {
            system.matrix[(i, i)] += 1e-12;
        }
        let joints = self.body.free.len();
        let Ok(factor) = system.matrix.llt(Side::Lower) else { return vec![f64::INFINITY; joints] };
        let inverse = factor.solve(Mat::<f64>::identity(size, size));
        let noise = (fitted.rms / self.body.length).max(FINEST).powi(2) * PATCH / pairs.len().max(1) as f64;
        let deviation = |joint: usize| {
            if diagonal[3 * joint..3 * joint + 3].iter().sum::<f64>() <= BLIND {
                return f64::INFINITY;
            }
            let column = |c: usize| DVec3::from_array([0, 1, 2].map(|r| inverse[(3 * joint + r, 3 * joint + c)]));
            let block = DMat3::from_cols(column(0), column(1), column(2));
            (noise * principal_axes(&block)[0].0.max(0.0)).sqrt()
        };
        (0..joints).map(deviation).collect()
    }
}

fn robust_scale(pairs: &[Pair]) -> f64 {
    let mut distances: Vec<f64> = pairs.iter().map(|pair| pair.distance).collect();
    if distances.is_empty() {
        return 0.0;
    }
    let middle = distances.len() / 2;
    SIGMAS * OF_MEDIAN * *distances.select_nth_unstable_by(middle, f64::total_cmp).1
}
