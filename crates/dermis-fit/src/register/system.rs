//! The normal equations of a step: how joints move a point of the skin, what that does to its distance from the scan, and what
//! is known of joints without a scan.
//!
//! A turn δ_j of joint j in world axes moves the point x = Σ_k w_k M_k p by δ_j × a_j, with a_j = Σ_{k below j} w_k (M_k p − h_j) and
//! h_j the place of the joint. A pair with the point c and the normal n of the scan asks for n·(c − x) along the normal, and for
//! τ (c − x) in every direction.

use super::body::{Body, State};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::rotation_vector;
use dermis_solve::faer::linalg::solvers::Solve;
use dermis_solve::faer::{Mat, Side};

/// How strongly joints are held without a scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    /// Towards rest: what a turn of σ from rest costs, L².
    pub rest: f64,
    /// Towards the range of the joint, from outside: L² per square radian.
    pub range: f64,
}

/// What a joint moves a point by: its place among the free joints, and a_j.
pub(super) type Lever = (usize, DVec3);

/// Normal equations over the turns of the free joints, the turn of the character, and its move in L.
pub(super) struct System<'b, 'a> {
    body: &'b Body<'a>,
    transforms: &'b [DAffine3],
    heads: Vec<DVec3>,
    active: &'b [bool],
    /// Lower triangle.
    pub matrix: Mat<f64>,
    pub right: Vec<f64>,
    sums: Vec<(f64, DVec3)>,
    touched: Vec<usize>,
    levers: Vec<Lever>,
    place: DVec3,
}

/// Turns of more σ than the root of this are improbable as the reciprocal of their square, and not as a normal distribution has it.
const TAIL: f64 = 4.0;
/// The longest turn of a step, radians: beyond, derivatives say little.
const LONGEST: f64 = 0.5;

impl<'b, 'a> System<'b, 'a> {
    /// `active`: per free joint, whether it turns in this step.
    pub fn new(body: &'b Body<'a>, state: &State, transforms: &'b [DAffine3], active: &'b [bool]) -> Self {
        let size = 3 * body.free.len() + 6;
        Self {
            body,
            transforms,
            heads: body.free.iter().map(|bone| body.head(*bone, transforms)).collect(),
            active,
            matrix: Mat::zeros(size, size),
            right: vec![0.0; size],
            sums: vec![(0.0, DVec3::ZERO); body.free.len()],
            touched: Vec::new(),
            levers: Vec::new(),
            place: state.place,
        }
    }

    /// Adds a pair: a point of the skin that follows bones with weights, from its places at rest, shall go to `target`.
    pub fn add(
        &mut self,
        skin: impl Iterator<Item = (usize, f64, DVec3)>,
        target: DVec3,
        normal: DVec3,
        weight: f64,
        tangential: f64,
    ) {
        let mut point = DVec3::ZERO;
        for (bone, w, rest) in skin {
            let carried = self.transforms[bone].transform_point3(rest) * w;
            point += carried;
            for &joint in self.body.above[bone].iter().filter(|joint| self.active[**joint]) {
                let sum = &mut self.sums[joint];
                if sum.0 == 0.0 {
                    self.touched.push(joint);
                }
                sum.0 += w;
                sum.1 += carried;
            }
        }
        let size = 1.0 / self.body.length;
        let mut levers = std::mem::take(&mut self.levers);
        levers.clear();
        self.touched.sort_unstable();
        for joint in self.touched.drain(..) {
            let (w, sum) = std::mem::replace(&mut self.sums[joint], (0.0, DVec3::ZERO));
            levers.push((joint, (sum - self.heads[joint] * w) * size));
        }
        levers.push((self.heads.len(), (point - self.place) * size));
        self.add_levers(&levers, (target - point) * size, normal, weight, tangential);
        self.levers = levers;
    }

    fn add_levers(&mut self, levers: &[Lever], off: DVec3, normal: DVec3, weight: f64, tangential: f64) {
        let even = weight * tangential * tangential;
        let along = weight - even;
        let height = normal.dot(off);
        let last = self.right.len() - 3;
        for (at, &(i, a)) in levers.iter().enumerate() {
            let turn = a.cross(normal);
            let pull = turn * (along * height) + a.cross(off) * even;
            (0..3).for_each(|r| self.right[3 * i + r] += pull[r]);
            for &(j, b) in &levers[..=at] {
                // Σ over directions e of (a × e)(b × e)ᵀ = (a·b) 1 − b aᵀ.
                let other = b.cross(normal) * along;
                let dot = even * a.dot(b);
                for r in 0..3 {
                    for c in 0..3 {
                        let diagonal = if r == c { dot } else { 0.0 };
                        self.matrix[(3 * i + r, 3 * j + c)] += turn[r] * other[c] + diagonal - even * b[r] * a[c];
                    }
                }
            }
            // The move: Σ (a × e) eᵀ = [a]×, transposed for the lower triangle.
            let cross = DMat3::from_cols(a.cross(DVec3::X), a.cross(DVec3::Y), a.cross(DVec3::Z)) * even;
            for r in 0..3 {
                for c in 0..3 {
                    self.matrix[(last + r, 3 * i + c)] += along * normal[r] * turn[c] + cross.col(r)[c];
                }
            }
        }
        for r in 0..3 {
            self.right[last + r] += along * normal[r] * height + even * off[r];
            for c in 0..=r {
                let diagonal = if r == c { even } else { 0.0 };
                self.matrix[(last + r, last + c)] += along * normal[r] * normal[c] + diagonal;
            }
        }
    }

    /// Adds what is known without a scan.
    pub fn hold(&mut self, state: &State, hold: Hold) {
        for (joint, &bone) in self.body.free.iter().enumerate() {
            if !self.active[joint] {
                (0..3).for_each(|r| self.matrix[(3 * joint + r, 3 * joint + r)] += 1.0);
                continue;
            }
            let own = self.body.own_axes(bone, self.transforms);
            let q = state.joints[bone];
            let turn = rotation_vector(q);
            // Cauchy's weight: a turn of many σ is the scan's word against an opinion.
            let likely = (self.body.stiff(joint) * turn * turn).map(|squares| 1.0 / (1.0 + squares / TAIL));
            let stiff = self.body.stiff(joint) * likely * hold.rest;
            let axes = DMat3::from_quat(own);
            let (out, slopes) = self.body.excess_and_slopes(bone, q);
            let slopes = slopes * axes.transpose();
            let pull = axes * (stiff * turn) + slopes.transpose() * out * hold.range;
            let curvature =
                axes * DMat3::from_diagonal(stiff) * axes.transpose() + slopes.transpose() * slopes * hold.range;
            for r in 0..3 {
                self.right[3 * joint + r] -= pull[r];
                for c in 0..=r {
                    self.matrix[(3 * joint + r, 3 * joint + c)] += curvature.col(c)[r];
                }
            }
        }
        self.hold_alike(state, hold.rest);
    }

    /// Adds that joints turn alike: e = T r_i − r_j, r the rotation vectors of the joints in the world at rest.
    fn hold_alike(&mut self, state: &State, rest: f64) {
        for pair in self.body.alike.iter().filter(|pair| pair.joints.iter().all(|joint| self.active[*joint])) {
            // The turn of a joint, and from turns in the posed world to those in the world at rest.
            let turn = |joint: usize| {
                let bone = self.body.free[joint];
                let axes = self.body.axes(bone);
                let home = axes * self.body.own_axes(bone, self.transforms).conjugate();
                (axes * rotation_vector(state.joints[bone]), home)
            };
            let [(first, first_home), (second, second_home)] = pair.joints.map(turn);
            let apart = pair.turned * first - second;
            let stiff = rest * pair.stiff / (1.0 + pair.stiff * apart.length_squared() / TAIL);
            let slopes = [DMat3::from_quat(pair.turned * first_home), -DMat3::from_quat(second_home)];
            let sides = pair.joints.into_iter().zip(slopes);
            for (a, left) in sides.clone() {
                let pull = left.transpose() * apart * stiff;
                (0..3).for_each(|r| self.right[3 * a + r] -= pull[r]);
                for (b, right) in sides.clone().filter(|(b, _)| *b <= a) {
                    let block = left.transpose() * right * stiff;
                    for r in 0..3 {
                        for c in 0..3 {
                            self.matrix[(3 * a + r, 3 * b + c)] += block.col(c)[r];
                        }
                    }
                }
            }
        }
    }

    /// The state after the step; `None` if the equations cannot be solved.
    pub fn step(&self, state: &State) -> Option<State> {
        let size = self.right.len();
        let mut damped = self.matrix.clone();
        // Alike about all axes: turns of a joint lie along those of the world.
        for block in (0..size).step_by(3) {
            let mean = (0..3).map(|r| damped[(block + r, block + r)]).sum::<f64>() / 3.0;
            (0..3).for_each(|r| damped[(block + r, block + r)] += 1e-3 * mean + 1e-10);
        }
        let factor = damped.llt(Side::Lower).ok()?;
        let delta = factor.solve(Mat::from_fn(size, 1, |i, _| self.right[i]));
        let part = |at: usize| DVec3::new(delta[(at, 0)], delta[(at + 1, 0)], delta[(at + 2, 0)]);
        let joints = self.body.free.len();
        let turns: Vec<DVec3> = (0..joints)
            .map(|joint| if self.active[joint] { part(3 * joint).clamp_length_max(LONGEST) } else { DVec3::ZERO })
            .collect();
        let (whole, shift) = (part(3 * joints).clamp_length_max(LONGEST), part(3 * joints + 3) * self.body.length);
        let next = self.body.moved(state, self.transforms, &turns, whole, shift);
        (next.place.is_finite() && next.turn.is_finite() && next.joints.iter().all(|q| q.is_finite())).then_some(next)
    }
}
