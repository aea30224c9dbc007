//! Poses that bring some hundred points of the skin near some hundred points of the scan, and back: where a search begins.
//!
//! The cost of a pose is the mean, over the points of the skin and over those of the scan, of d²/(d² + σ²), d² the squared distance to the
//! other's nearest point plus κ² |n − n'|². It is bounded, so that holes and clutter cost the same everywhere; and it counts both ways, so
//! that neither a limb beside the scan nor a part of the scan beside the skin is overlooked.

use super::body::{Body, State};
use super::samples::Samples;
use super::system::{Hold, System};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::rotation::from_rotation_vector;

/// Points of the skin.
pub(super) struct SkinPoints {
    pub vertices: Vec<usize>,
    /// Unit, at rest.
    normals: Vec<DVec3>,
    /// Sum 1.
    pub weights: Vec<f64>,
}

/// A point with its normal, scaled by κ.
type Six = [f64; 6];

/// The normal's share in distances, κ in L: opposite sides of a limb are as far apart as twice that.
const NORMAL: f64 = 0.04;
/// The width σ of the cost, in L.
const WIDTH: f64 = 0.03;
/// Numbers that differ by less, in parts of themselves, are equal: rounding is no reason to choose one.
const EQUAL: f64 = 1e-9;
/// How much a distance along the surface counts in a step: points are sparse, so theirs are not on a common surface.
const TANGENTIAL: f64 = 0.3;

impl SkinPoints {
    /// At most about `most` vertices, spread over the skin of every bone; every bone gets `least` if its skin has them.
    pub fn new(body: &Body<'_>, areas: &[f64], normals: &[DVec3], most: usize, least: usize) -> Self {
        let mut of_bone: Vec<Vec<usize>> = vec![Vec::new(); body.bones()];
        for v in (0..areas.len()).filter(|v| areas[*v] > 0.0 && normals[*v] != DVec3::ZERO) {
            of_bone[body.bone_of(v)].push(v);
        }
        let mut points = Self { vertices: vec![], normals: vec![], weights: vec![] };
        for own in of_bone.iter().filter(|own| !own.is_empty()) {
            let area: f64 = own.iter().map(|v| areas[*v]).sum();
            let wanted = ((most as f64 * area / body.area) as usize).max(least).min(own.len());
            for v in apart(&body.mesh.positions, own, wanted) {
                points.vertices.push(v);
                points.normals.push(normals[v].normalize());
                points.weights.push((area / wanted as f64).sqrt());
            }
        }
        let sum: f64 = points.weights.iter().sum();
        points.weights.iter_mut().for_each(|w| *w /= sum);
        points
    }

    /// Where the points are, and which way they face.
    pub fn posed(&self, body: &Body<'_>, transforms: &[DAffine3]) -> Vec<(DVec3, DVec3)> {
        let posed = |(&v, normal): (&usize, &DVec3)| {
            let (mut point, mut facing) = (DVec3::ZERO, DVec3::ZERO);
            for &(bone, w) in body.weights.of(v) {
                let m = &transforms[bone.get()];
                point += m.transform_point3(body.mesh.positions[v]) * w;
                facing += m.matrix3 * *normal * w;
            }
            (point, facing.normalize_or_zero())
        };
        self.vertices.iter().zip(&self.normals).map(posed).collect()
    }
}

/// `wanted` of some points, each the farthest from those before it, beginning with the first.
fn apart(positions: &[DVec3], own: &[usize], wanted: usize) -> Vec<usize> {
    if wanted >= own.len() {
        return own.to_vec();
    }
    let mut distance = vec![f64::INFINITY; own.len()];
    let (mut chosen, mut at) = (Vec::with_capacity(wanted), 0);
    while chosen.len() < wanted {
        chosen.push(own[at]);
        let p = positions[own[at]];
        let (mut far, mut next) = (0.0, 0);
        for (i, d) in distance.iter_mut().enumerate() {
            *d = d.min(positions[own[i]].distance_squared(p));
            // Of equally far ones the first, also where rounding says otherwise.
            if *d > far * (1.0 + EQUAL) {
                (far, next) = (*d, i);
            }
        }
        at = next;
    }
    chosen
}

/// A scan as a few points, to be compared with poses.
pub(super) struct Coarse<'b, 'a> {
    pub body: &'b Body<'a>,
    pub skin: &'b SkinPoints,
    pub scan: &'b Samples,
    six: Vec<Six>,
    /// Per free joint, whether it is one of the body's larger ones.
    pub large: Vec<bool>,
}

/// The nearest points both ways: index and squared distance.
struct Nearest {
    of_skin: Vec<(usize, f64)>,
    of_scan: Vec<(usize, f64)>,
}

/// What candidates are ordered by: in single precision, so that of equally good ones the first stays the first.
pub(super) fn by(candidate: &Candidate) -> f32 {
    candidate.cost as f32
}

/// A pose and its cost.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub state: State,
    pub cost: f64,
    /// The part of the cost that the scan's points make: what of the scan lies beside the skin.
    scan: f64,
}

/// Joints that carry less of the skin's area wait for the fine search.
const LARGE: f64 = 0.012;

impl<'b, 'a> Coarse<'b, 'a> {
    pub fn new(body: &'b Body<'a>, skin: &'b SkinPoints, scan: &'b Samples) -> Self {
        let kappa = NORMAL * body.length;
        let six = scan.points.iter().zip(&scan.normals).map(|(p, n)| joined(*p, *n, kappa)).collect();
        let large = body.free.iter().map(|bone| body.share[*bone] >= LARGE).collect();
        Self { body, skin, scan, six, large }
    }

    fn nearest(&self, posed: &[(DVec3, DVec3)]) -> Nearest {
        let kappa = NORMAL * self.body.length;
        let mut of_scan = vec![(0, f64::INFINITY); self.six.len()];
        let of_skin = posed
            .iter()
            .enumerate()
            .map(|(m, &(p, n))| {
                let own = joined(p, n, kappa);
                let mut best = (0, f64::INFINITY);
                for (s, (other, theirs)) in self.six.iter().zip(&mut of_scan).enumerate() {
                    let d: f64 = (0..6).map(|i| (own[i] - other[i]) * (own[i] - other[i])).sum();
                    if d < best.1 * (1.0 - EQUAL) {
                        best = (s, d);
                    }
                    if d < theirs.1 * (1.0 - EQUAL) {
                        *theirs = (m, d);
                    }
                }
                best
            })
            .collect();
        Nearest { of_skin, of_scan }
    }

    /// The cost of a pose, and the part of it that the scan's points make.
    fn cost_of(&self, nearest: &Nearest, state: &State) -> (f64, f64) {
        let width = (WIDTH * self.body.length).powi(2);
        let mean = |found: &[(usize, f64)], weights: &[f64]| -> f64 {
            found.iter().zip(weights).map(|((_, d), w)| w * d / (d + width)).sum()
        };
        let out: f64 = self.body.free.iter().map(|b| self.body.excess(*b, state.joints[*b]).length_squared()).sum();
        let scan = 0.5 * mean(&nearest.of_scan, &self.scan.weights);
        (0.5 * mean(&nearest.of_skin, &self.skin.weights) + scan + OUT * out, scan)
    }

    fn candidate(&self, state: State) -> Candidate {
        let transforms = self.body.transforms(&state);
        let (cost, scan) = self.cost_of(&self.nearest(&self.skin.posed(self.body, &transforms)), &state);
        Candidate { state, cost, scan }
    }

    /// The cost of a pose.
    pub fn cost(&self, state: &State) -> f64 {
        self.candidate(state.clone()).cost
    }

    /// Closest points and steps in turn, from wide to narrow. Returns the best pose met.
    pub fn descend(&self, start: &State, rounds: usize, wide: f64, active: &[bool]) -> Candidate {
        let mut state = start.clone();
        let mut best: Option<Candidate> = None;
        for round in 0..=rounds {
            let transforms = self.body.transforms(&state);
            let posed = self.skin.posed(self.body, &transforms);
            let nearest = self.nearest(&posed);
            let (cost, scan) = self.cost_of(&nearest, &state);
            if best.as_ref().is_none_or(|b| cost < b.cost) {
                best = Some(Candidate { state: state.clone(), cost, scan });
            }
            if round == rounds {
                break;
            }
            let part = round as f64 / rounds as f64;
            let width = (wide.powf(1.0 - part) * WIDTH.powf(part) * self.body.length).powi(2);
            let mut system = System::new(self.body, &state, &transforms, active);
            let robust = |d: f64| (1.0 + d / width).powi(-2);
            let mut pair = |m: usize, s: usize, weight: f64| {
                let v = self.skin.vertices[m];
                let rest = self.body.mesh.positions[v];
                let entries = self.body.weights.of(v).iter().map(|(bone, w)| (bone.get(), *w, rest));
                system.add(entries, self.scan.points[s], self.scan.normals[s], weight, TANGENTIAL);
            };
            for (m, &(s, d)) in nearest.of_skin.iter().enumerate() {
                pair(m, s, 0.5 * self.skin.weights[m] * robust(d));
            }
            for (s, &(m, d)) in nearest.of_scan.iter().enumerate() {
                pair(m, s, 0.5 * self.scan.weights[s] * robust(d));
            }
            system.hold(&state, Hold { rest: 1e-8, range: 1e-4 });
            let Some(next) = system.step(&state) else { break };
            state = next;
        }
        best.unwrap_or(Candidate { state, cost: f64::INFINITY, scan: f64::INFINITY })
    }

    /// Turns large joints, parents first, by what no descent finds: to where the limb lies on the scan. A turn counts only if more of the
    /// scan lies on the skin afterwards: a limb that the scan does not show is not folded onto what it shows. Such a limb goes
    /// back to rest ([`Self::unfold`]).
    pub fn search_limbs(&self, mut best: Candidate) -> Candidate {
        for &bone in self.body.free.iter().filter(|bone| self.body.share[**bone] >= LARGE) {
            if self.left_over(&best.state, bone) < SEARCH {
                continue;
            }
            let mut tried: Vec<Candidate> = turns(self.body, bone)
                .map(|q| {
                    let mut state = best.state.clone();
                    state.joints[bone] = q;
                    self.candidate(state)
                })
                .collect();
            tried.sort_by(|a, b| by(a).total_cmp(&by(b)));
            for start in tried.into_iter().take(3) {
                let found = self.descend(&start.state, 8, 2.0 * WIDTH, &self.large);
                if found.cost < best.cost - 1e-4 && found.scan < best.scan - 1e-4 {
                    best = found;
                }
            }
        }
        self.unfold(best)
    }

    /// Large joints at rest, the last of each chain first, wherever the scan lies on the skin as well without their turn.
    fn unfold(&self, mut best: Candidate) -> Candidate {
        for &bone in self.body.free.iter().rev().filter(|bone| self.body.share[**bone] >= LARGE) {
            let mut state = best.state.clone();
            state.joints[bone] = DQuat::IDENTITY;
            let straight = self.candidate(state);
            if straight.scan <= best.scan + UNFOLD * self.body.share[bone] {
                best = straight;
            }
        }
        best
    }

    /// The mean cost of the skin that follows a bone and what is below it.
    fn left_over(&self, state: &State, bone: usize) -> f64 {
        let transforms = self.body.transforms(state);
        let nearest = self.nearest(&self.skin.posed(self.body, &transforms));
        let below = self.body.below(bone);
        let width = (WIDTH * self.body.length).powi(2);
        let (mut sum, mut whole) = (0.0, 1e-12);
        for (m, (_, d)) in nearest.of_skin.iter().enumerate() {
            if below[self.body.bone_of(self.skin.vertices[m])] {
                sum += self.skin.weights[m] * d / (d + width);
                whole += self.skin.weights[m];
            }
        }
        sum / whole
    }
}

/// What a square radian outside of a joint's range costs.
const OUT: f64 = 0.02;
/// A turn is kept if it lowers the scan's part of the cost by this share of the limb's area.
pub(super) const UNFOLD: f64 = 0.005;
/// A limb whose mean cost is above this is searched for.
const SEARCH: f64 = 0.2;

fn joined(p: DVec3, n: DVec3, kappa: f64) -> Six {
    let n = n * kappa;
    [p.x, p.y, p.z, n.x, n.y, n.z]
}

/// Turns of a joint, spread over its range: swings of up to 150 degrees in ten directions, each with three twists about where the bone
/// points.
fn turns<'x>(body: &'x Body<'_>, bone: usize) -> impl Iterator<Item = DQuat> + 'x {
    let mut all: Vec<DQuat> = Vec::new();
    for axis in directions() {
        for step in 1..=4 {
            let q = body.within(bone, from_rotation_vector(axis * (0.6 * f64::from(step))));
            if all.iter().all(|known| known.angle_between(q) > 0.25) {
                all.push(q);
            }
        }
    }
    all.into_iter()
}

/// The 26 directions to the neighbours in a grid.
fn directions() -> Vec<DVec3> {
    let step = |digit: usize| digit as f64 - 1.0;
    let all = (0..27).map(|at| DVec3::new(step(at % 3), step(at / 3 % 3), step(at / 9)));
    all.filter(|v| *v != DVec3::ZERO).map(DVec3::normalize).collect()
}

/// Turns of the whole character: the identity, then the rotations that carry a cube along its principal axes to itself, then those of a finer grid.
pub(super) fn whole_turns(axes: DQuat) -> Vec<DQuat> {
    let mut all = vec![DQuat::IDENTITY];
    let sides = [DVec3::X, DVec3::Y, DVec3::Z, -DVec3::X, -DVec3::Y, -DVec3::Z];
    for x in sides {
        for y in sides.into_iter().filter(|y| y.dot(x) == 0.0) {
            let q = DQuat::from_mat3(&DMat3::from_cols(x, y, x.cross(y)));
            for half in [DQuat::IDENTITY, from_rotation_vector(DVec3::new(0.5, 0.35, 0.2) * 1.2)] {
                let q = (half * q).normalize();
                if all.iter().all(|known| known.angle_between(q) > 0.3) {
                    all.push(q);
                }
            }
        }
    }
    all.into_iter().map(|q| axes * q * axes.conjugate()).collect()
}
