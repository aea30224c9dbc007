//! The joint model: a correction driven by joint rotations, at a cost that does not depend on the number of examples.
//!
//! ```text
//! p'   = base + Π_v( T_a ( F_v Σ_e U_ve z_e  +  shared_v ) )
//! z_e  = C_e⁻¹ [ k(φ_e, φ_e1), k(φ_e, φ_e2), … ]
//! ```
//!
//! Where skin sags, bones that see down are terms beside the joints, with z = h ([`crate::gravity`]).
//!
//! **Joints.** A joint e is a pair of bones (a, b), Q = M_a⁻¹ M_b = (R, t) the one seen from the other. Its feature is
//! φ = [ (R − I)/√2, t/L − (I − R) c ], twelve numbers: the rotation, and the slide away from the fixed centre c, zero
//! for a true joint, of which |φ| = 2 sin(angle/2). It is scaled back to [`LIMIT_FACTOR`](crate::guard::LIMIT_FACTOR)
//! times its largest norm in training.
//!
//! A **composite** joint reads the outer bones a and c of two tree joints (a, b), (b, c) that share a bone, or of (b, a),
//! (b, c): what the two do together. It has no fixed centre, its rotation alone counts, and its slide is zero.
//!
//! **Parts** ([`JointReading`]). A joint may be read in two terms about an axis a: where the axis goes, and how the bone turns about it.
//! A **product** reads two joints e, f of the model, by the kernel k(x_e, y_e) k(x_f, y_f)/σ²: it is zero unless both moved, so it learns
//! what neither does alone, such as muscles that contract together.
//!
//! **Kernel.** k vanishes at the bind pose in either argument and is φ(x)·φ(y) for small angles ([`JointKernel`]). It is read at a few
//! **inducing rotations** per joint, C Cᵀ their own kernel matrix, so a pose costs a few kernels per joint, shared by all vertices,
//! and |z_e|² ≤ k(φ, φ), at most σ² of the Gaussian and |φ|² of the arc-cosine kernel.
//!
//! **Shared part.** With the base weights w and B = Σ_k w_k M_k p,
//!
//! ```text
//! shared_v = Σ_k b_vk [ (R_k − F_v) q_vk/√2 + ω_vk (M_k p − B)/l ],      l = L/10,
//! ```
//!
//! a change of weights (ω) and an offset (q) per bone whose coefficients serve all three axes. Its features are scaled
//! back to `LIMIT_FACTOR` times their largest norm in training, per vertex.
//!
//! **Frame.** F_v is the linear part of the anchor's transform, or of the vertex's linear blend, or the rotation of its
//! normalised quaternion blend. When joints are welded, all of this is computed on the welded pose N and turned back by
//! T_a = R(M_a) R(N_a)⁻¹ of the anchor a; else T_a = 1.
//!
//! **Layer.** A model may remember sculpts: shapes of one weight each ([`CompiledShapes`]), in the frame F.
//!
//! ```text
//! p'  = base + Π_v( T_a ( F_v (g_v Σ_e U_ve z_e + Σ_s w_s e_sv / max(1, Σ_s w_s)) + shared_v ) )
//! g_v = 1 − Π_s (1 − h(r_s)),      h(r) = 1 − smoothstep(4 (r − 1))
//! ```
//!
//! s counts the sculpts that moved the vertex. w_s is one in the pose of s and zero in those of the others; between poses their sum may
//! be more than one, and the shapes are then averaged. r_s is the distance of a pose
//! from that of s, one at the bind pose, as the window of s has it. The gate g ends the free part of a vertex where a pose is
//! farther than that from all sculpts that moved the vertex: they say nothing of it there. A vertex that none moved has g = 1.
//!
//! Everything is seen from bones, so moving the character moves the result, and everything vanishes at the bind pose.

use crate::features::relative;
use crate::gravity::{self, Gravity};
use crate::guard::{Link, Weld, project};
use crate::joint_kernel::JointKernel;
use crate::pose_space::{CompiledShapes, KernelValues};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3, DVec4};
use dermis_rig::influences::dominant;
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis_rig::skeleton::{invert, row};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Rows};

/// What a vertex's correction is seen from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CorrectionFrame {
    /// The anchor, the vertex's dominant bone. Where that changes from one vertex to the next, so may the correction.
    Anchor,
    /// The linear blend of the vertex's bones: the correction precedes skinning, as morph targets do.
    Rest,
    /// The rotation of the normalised quaternion blend.
    #[default]
    Blend,
}

/// Inducing rotations a joint may have. Their factor grows with the square of their number and its time with the cube, so
/// that a small file could ask for any amount of either.
pub const MOST_INDUCING: usize = 256;

/// Twelve numbers: per row of the rotation (R − I)/√2, then the slide along that axis.
pub type JointFeature = [f64; 12];

/// What is read of a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum JointReading {
    /// φ.
    #[default]
    Whole,
    /// The swing about an axis a of length one: R a − a in place of the rotation, and the slide.
    Swing(DVec3),
    /// The twist about an axis a of length one: (Sᵀ R − I)/√2, S the shortest turn of a to R a. The slide is zero.
    Twist(DVec3),
    /// Two joints at the same time, which stand before it in the model and are no products.
    Product([u32; 2]),
}

/// The part of φ that a reading takes; zero for a product, which has no feature of its own.
pub fn part_of(feature: &JointFeature, reading: JointReading) -> JointFeature {
    let mut part = [0.0; 12];
    let entry = |j: usize, i: usize| feature[4 * j + i] * std::f64::consts::SQRT_2;
    let turn = || DMat3::from_cols_array_2d(&[0, 1, 2].map(|i| [0, 1, 2].map(|j| entry(j, i)))) + DMat3::IDENTITY;
    match reading {
        JointReading::Whole => return *feature,
        JointReading::Swing(axis) => {
            let swing = turn() * axis - axis;
            for j in 0..3 {
                (part[4 * j], part[4 * j + 3]) = (swing[j], feature[4 * j + 3]);
            }
        }
        JointReading::Twist(axis) => {
            let turn = turn();
            let twist = shortest_turn(axis, turn * axis).transpose() * turn - DMat3::IDENTITY;
            for j in 0..3 {
                (0..3).for_each(|i| part[4 * j + i] = twist.col(i)[j] * std::f64::consts::FRAC_1_SQRT_2);
            }
        }
        JointReading::Product(_) => {}
    }
    part
}

/// φ of a joint from its swing and its twist about an axis.
pub fn whole_of(axis: DVec3, swing: &JointFeature, twist: &JointFeature) -> JointFeature {
    let moved = axis + DVec3::new(swing[0], swing[4], swing[8]);
    let entry = |j: usize, i: usize| twist[4 * j + i] * std::f64::consts::SQRT_2;
    let twist = DMat3::from_cols_array_2d(&[0, 1, 2].map(|i| [0, 1, 2].map(|j| entry(j, i)))) + DMat3::IDENTITY;
    let turn = shortest_turn(axis, moved.normalize_or(axis)) * twist - DMat3::IDENTITY;
    std::array::from_fn(|at| match at % 4 {
        3 => swing[at],
        i => turn.col(i)[at / 4] * std::f64::consts::FRAC_1_SQRT_2,
    })
}

/// 1 + cos of an angle is taken for this at least: half a turn has no shortest way.
const HALF_TURN: f64 = 1e-3;

/// The shortest turn from a direction to another, both of length one.
fn shortest_turn(from: DVec3, to: DVec3) -> DMat3 {
    let (v, cosine) = (from.cross(to), from.dot(to));
    let k = DMat3::from_cols(DVec3::new(0.0, v.z, -v.y), DVec3::new(-v.z, 0.0, v.x), DVec3::new(v.y, -v.x, 0.0));
    DMat3::IDENTITY + k + k * k * (1.0 / (1.0 + cosine).max(HALF_TURN))
}

/// A joint: two bones, and how the one is read from the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// The bone seen from.
    pub from: BoneIndex,
    /// The bone seen.
    pub to: BoneIndex,
    /// c, the fixed point of the joint's rotations, in units of L; `None` for a composite, of which the rotation alone is
    /// read.
    pub centre: Option<DVec3>,
    /// What is read of it.
    pub reading: JointReading,
    /// Largest norm φ, or its part, may have; infinite without limits, and for a product.
    pub limit: f64,
    /// φ, or its part, of the inducing rotations; of a product that of its first joint.
    pub inducing: Vec<JointFeature>,
    /// The same of the second joint of a product; empty otherwise.
    pub second: Vec<JointFeature>,
    /// C, lower triangular, row after row.
    factor: Vec<f64>,
}

impl Joint {
    /// A joint with its inducing rotations; `None` if their kernel matrix is not positive definite, or there are more than
    /// [`MOST_INDUCING`].
    pub fn new(
        ends: (BoneIndex, BoneIndex),
        centre: Option<DVec3>,
        limit: f64,
        inducing: Vec<JointFeature>,
        kernel: JointKernel,
    ) -> Option<Self> {
        Self::read_as(JointReading::Whole, (ends, centre), limit, (inducing, vec![]), kernel)
    }

    /// A joint of which a part is read, or a product.
    ///
    /// - `inducing`: its features; of a product those of its first joint, and of its second
    /// - result: `None` as of [`Self::new`], and if features of the second joint are missing or too many
    pub fn read_as(
        reading: JointReading,
        ((from, to), centre): ((BoneIndex, BoneIndex), Option<DVec3>),
        limit: f64,
        (inducing, second): (Vec<JointFeature>, Vec<JointFeature>),
        kernel: JointKernel,
    ) -> Option<Self> {
        let m = inducing.len();
        let seconds = if matches!(reading, JointReading::Product(_)) { m } else { 0 };
        if m > MOST_INDUCING || second.len() != seconds {
            return None;
        }
        let mut made = Self { from, to, centre, reading, limit, inducing, second, factor: vec![] };
        let mut factor = Vec::with_capacity(m * (m + 1) / 2);
        for i in 0..m {
            let start = factor.len();
            for j in 0..=i {
                let (row_i, row_j) = (start, j * (j + 1) / 2);
                let known: f64 = (0..j).map(|l| factor[row_i + l] * factor[row_j + l]).sum();
                let both = (&made.inducing[i], made.second.get(i));
                let left = made.kernel_at(both, j, kernel) - known;
                if j < i {
                    factor.push(left / factor[row_j + j]);
                } else if left > 0.0 && left.is_finite() {
                    factor.push(left.sqrt());
                } else {
                    return None;
                }
            }
        }
        made.factor = factor;
        Some(made)
    }

    /// The kernel of a feature, of a product those of both its joints, with an inducing rotation.
    fn kernel_at(&self, (x, y): (&JointFeature, Option<&JointFeature>), i: usize, kernel: JointKernel) -> f64 {
        let first = kernel.at(x, &self.inducing[i]);
        match (y, self.second.get(i)) {
            (Some(y), Some(second)) => first * kernel.at(y, second) / (kernel.sigma * kernel.sigma),
            _ => first,
        }
    }

    /// C⁻¹, lower triangular: row i has i + 1 numbers.
    pub fn inverse_factor(&self) -> Vec<Vec<f64>> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(self.inducing.len());
        for i in 0..self.inducing.len() {
            let c = &self.factor[i * (i + 1) / 2..];
            // Row i of C times column j of C⁻¹ is zero.
            let known = |j: usize| (j..i).map(|l| c[l] * rows[l][j]).sum::<f64>();
            let row = (0..i).map(|j| -known(j) / c[i]).chain([1.0 / c[i]]).collect();
            rows.push(row);
        }
        rows
    }

    /// φ, or its part, before the limit; zero for a product. A bone that cannot be seen from the other, being singular, stands at rest.
    pub fn feature(&self, transforms: &[DAffine3], length: f64) -> JointFeature {
        part_of(&joint_feature(transforms, (self.from, self.to), self.centre, length), self.reading)
    }

    /// φ with its limit, and whether that acted.
    pub fn limited(&self, mut feature: JointFeature) -> (JointFeature, bool) {
        let norm = feature.iter().map(|x| x * x).sum::<f64>().sqrt();
        let acts = norm > self.limit;
        if acts {
            feature.iter_mut().for_each(|x| *x *= self.limit / norm);
        }
        (feature, acts)
    }

    /// Appends z = C⁻¹ [k(φ, inducing)].
    ///
    /// - `features`: those of the joints before it, and its own last, with their limits
    pub fn coordinates(&self, features: &[JointFeature], kernel: JointKernel, out: &mut Vec<f64>) {
        let none = [0.0; 12];
        let of = |at: u32| features.get(at as usize).unwrap_or(&none);
        let both = match self.reading {
            JointReading::Product([e, f]) => (of(e), Some(of(f))),
            _ => (features.last().unwrap_or(&none), None),
        };
        let start = out.len();
        for i in 0..self.inducing.len() {
            let row = &self.factor[i * (i + 1) / 2..];
            let known: f64 = out[start..].iter().zip(row).map(|(z, c)| z * c).sum();
            out.push((self.kernel_at(both, i, kernel) - known) / row[i]);
        }
    }
}

/// φ of a pair of bones about a centre in units of L; without a centre the rotation alone, with a slide of zero.
pub fn joint_feature(
    transforms: &[DAffine3],
    (from, to): (BoneIndex, BoneIndex),
    centre: Option<DVec3>,
    length: f64,
) -> JointFeature {
    let mut f = [0.0; 12];
    let Some(q) = relative(&transforms[from.get()], &transforms[to.get()]) else { return f };
    for j in 0..3 {
        let r = row(&q, j);
        for c in 0..3 {
            f[4 * j + c] = (r[c] - f64::from(u8::from(c == j))) * std::f64::consts::FRAC_1_SQRT_2;
        }
    }
    if let Some(centre) = centre {
        let slide = q.translation / length - (centre - q.matrix3 * centre);
        (0..3).for_each(|j| f[4 * j + 3] = slide[j]);
    }
    f
}

/// The shared part of one vertex and bone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedTerm {
    /// The bone.
    pub bone: BoneIndex,
    /// b, its relevance.
    pub relevance: f64,
    /// q, metres.
    pub offset: DVec3,
    /// ω, metres.
    pub weight: f64,
}

/// The joint model's correction in `f64`, the reference.
#[derive(Clone, Debug)]
pub struct Joints {
    /// L: slides divide by it, and l = L/10.
    pub length: f64,
    /// k.
    pub kernel: JointKernel,
    /// F.
    pub frame: CorrectionFrame,
    /// The joints that have influence.
    pub joints: Vec<Joint>,
    /// The bones that see down, if the skin sags.
    pub gravity: Option<Gravity>,
    /// The forest of joints, and which of them never moved.
    pub weld: Weld,
    /// The skinning weights w; those of the base where that blends linearly.
    pub weights: Influences,
    /// The free terms of every vertex: the joint of each; bones that see down are counted on after the joints.
    pub terms: Rows<u32>,
    /// U of every vertex, relevance included: per term three rows of as many numbers as the term [has](Self::numbers), metres.
    pub coefficients: Rows<f64>,
    /// The shared part of every vertex.
    pub shared: Rows<SharedTerm>,
    /// Largest norm the features of the shared part may have, per vertex; empty without that limit.
    pub shared_limits: Vec<f64>,
    /// Radius of the ball per vertex, metres; empty without the guard.
    pub radii: Vec<f64>,
    /// The sculpts that the model remembers, each with a window. Its carrier and its radii are not read.
    pub layer: Option<CompiledShapes>,
}

/// What one pose gives to all vertices.
#[derive(Clone, Debug, Default)]
pub struct JointPose {
    /// z of all joints, one after the other, then h of the bones that see down.
    pub z: Vec<f64>,
    /// Where the numbers of each of them start in `z`; one more entry than there are.
    pub starts: Vec<usize>,
    /// Joints and bones that see down whose limit acted.
    pub limited: usize,
    /// N: the welded pose.
    pub welded: Vec<DAffine3>,
    /// T per bone; empty when nothing is welded.
    pub turns: Vec<DMat3>,
    quaternions: Vec<DQuat>,
    /// φ, or its part, of every joint, with its limit.
    features: Vec<JointFeature>,
    /// w of every shape of the layer.
    pub shapes: Vec<f64>,
    /// h of every shape of the layer.
    pub reaches: Vec<f64>,
    kernel: KernelValues,
    values: Vec<f64>,
}

/// max(1, Σ w) over the shapes of a vertex.
fn at_least_one(layer: &CompiledShapes, v: usize, weights: &[f64]) -> f64 {
    layer.terms.of(v).iter().map(|&shape| weights[shape as usize]).sum::<f64>().max(1.0)
}

/// g of a vertex from h of the sculpts that moved it; one if there are none.
pub(crate) fn gate(reaches: impl ExactSizeIterator<Item = f64>) -> f64 {
    match reaches.len() {
        0 => 1.0,
        _ => 1.0 - reaches.map(|h| 1.0 - h).product::<f64>(),
    }
}

impl JointPose {
    /// Prepares a pose for a model.
    pub fn prepare(&mut self, model: &Joints, transforms: &BoneTransforms) {
        model.weld.apply(transforms, &mut self.welded);
        self.limited = 0;
        self.turns.clear();
        if model.weld.frozen().next().is_some() {
            let turn = |(m, n): (&DAffine3, &DAffine3)| invert(n).map_or(DMat3::IDENTITY, |n| m.matrix3 * n.matrix3);
            self.turns.extend(transforms.iter().zip(&self.welded).map(turn));
        }
        self.z.clear();
        self.starts.clear();
        self.features.clear();
        for joint in &model.joints {
            let (feature, acts) = joint.limited(joint.feature(&self.welded, model.length));
            self.limited += usize::from(acts);
            self.starts.push(self.z.len());
            self.features.push(feature);
            joint.coordinates(&self.features, model.kernel, &mut self.z);
        }
        let first = self.z.len();
        if let Some(gravity) = &model.gravity {
            self.limited += gravity.append(transforms, &mut self.z);
        }
        self.starts.extend((first..=self.z.len()).step_by(gravity::NUMBERS));
        self.quaternions.clear();
        if model.frame == CorrectionFrame::Blend {
            let turn = |n: &DAffine3| quat_from_matrix(&nearest_rotation(&n.matrix3));
            self.quaternions.extend(self.welded.iter().map(turn));
        }
        self.shapes.clear();
        self.reaches.clear();
        if let Some(layer) = &model.layer {
            self.values.resize(layer.kernel.values(), 0.0);
            layer.kernel.evaluate(transforms, &mut self.kernel, &mut self.values, |k| k);
            layer.weights(&self.values, &self.kernel, |w| w, &mut self.shapes);
            self.reaches.extend(layer.reaches(&self.kernel));
        }
    }

    /// z of a joint, or h of a bone that sees down.
    pub fn of(&self, joint: usize) -> &[f64] {
        &self.z[self.starts[joint]..self.starts[joint + 1]]
    }

    /// Rotations of the welded bones; empty unless the frame is a quaternion blend.
    pub fn quaternions(&self) -> &[DQuat] {
        &self.quaternions
    }

    /// F of a vertex, and B, the linear blend of its rest position.
    pub fn frame(&self, frame: CorrectionFrame, weights: &[(BoneIndex, f64)], rest: DVec3) -> (DMat3, DVec3) {
        let mut blend = DAffine3 { matrix3: DMat3::ZERO, translation: DVec3::ZERO };
        for &(bone, w) in weights {
            let m = &self.welded[bone.get()];
            blend.matrix3 += m.matrix3 * w;
            blend.translation += m.translation * w;
        }
        let turn = match frame {
            CorrectionFrame::Anchor => {
                dominant(weights).map_or(DMat3::IDENTITY, |bone| self.welded[bone.get()].matrix3)
            }
            CorrectionFrame::Rest => blend.matrix3,
            CorrectionFrame::Blend => DMat3::from_quat(self.blended(weights)),
        };
        (turn, blend.transform_point3(rest))
    }

    /// The normalised blend of quaternions, each on the dominant bone's side of the sphere.
    fn blended(&self, weights: &[(BoneIndex, f64)]) -> DQuat {
        let Some(dominant) = dominant(weights) else { return DQuat::IDENTITY };
        let reference = self.quaternions[dominant.get()];
        let sum: DVec4 = weights
            .iter()
            .map(|&(bone, w)| {
                let q = self.quaternions[bone.get()];
                DVec4::from(q) * if q.dot(reference) < 0.0 { -w } else { w }
            })
            .sum();
        if sum.length() < 1e-9 { reference } else { DQuat::from_vec4(sum.normalize()) }
    }
}

/// The feature of one bone in the shared part, before its relevance: (R_k − F)/√2 and (N_k p − B)/l.
pub fn shared_feature(bone: &DAffine3, (frame, blend): (&DMat3, DVec3), rest: DVec3, length: f64) -> (DMat3, DVec3) {
    let turn = (bone.matrix3 - *frame) * std::f64::consts::FRAC_1_SQRT_2;
    (turn, (bone.transform_point3(rest) - blend) * (10.0 / length))
}

impl Joints {
    /// A model of no vertices: what all of them share, without weights and coefficients.
    pub fn empty(length: f64, kernel: JointKernel, frame: CorrectionFrame, joints: Vec<Joint>, weld: Weld) -> Self {
        Self {
            length,
            kernel,
            frame,
            joints,
            gravity: None,
            weld,
            weights: Influences::default(),
            terms: Rows::default(),
            coefficients: Rows::default(),
            shared: Rows::default(),
            shared_limits: vec![],
            radii: vec![],
            layer: None,
        }
    }

    /// The correction of vertex `v` in posed world, and whether the ball held it back.
    pub fn at(&self, v: usize, rest: DVec3, pose: &JointPose) -> (DVec3, bool) {
        let (delta, _) = self.without_ball(v, rest, pose);
        match self.radii.get(v) {
            Some(&radius) => project(delta, radius),
            None => (delta, false),
        }
    }

    /// The correction of vertex `v` in posed world before the ball, and T F, which carries the shapes of the layer.
    pub fn without_ball(&self, v: usize, rest: DVec3, pose: &JointPose) -> (DVec3, DMat3) {
        let weights = self.weights.of(v);
        let (frame, blend) = pose.frame(self.frame, weights, rest);
        let mut free = DVec3::ZERO;
        let (coefficients, mut at) = (self.coefficients.of(v), 0);
        for &joint in self.terms.of(v) {
            let z = pose.of(joint as usize);
            for axis in 0..3 {
                free[axis] += z.iter().zip(&coefficients[at..]).map(|(z, u)| z * u).sum::<f64>();
                at += z.len();
            }
        }
        let (mut shared, mut squares) = (DVec3::ZERO, 0.0);
        for term in self.shared.of(v) {
            let (turn, shift) = shared_feature(&pose.welded[term.bone.get()], (&frame, blend), rest, self.length);
            shared += (turn * term.offset + shift * term.weight) * term.relevance;
            let columns = turn.to_cols_array().iter().map(|x| x * x).sum::<f64>() + shift.length_squared();
            squares += term.relevance * term.relevance * columns;
        }
        if let Some(&limit) = self.shared_limits.get(v) {
            let norm = squares.sqrt();
            if norm > limit {
                shared *= limit / norm;
            }
        }
        if let Some(layer) = &self.layer {
            let reaches = layer.terms.of(v).iter().map(|&shape| pose.reaches[shape as usize]);
            free = free * gate(reaches) + layer.displacement(v, &pose.shapes) / at_least_one(layer, v, &pose.shapes);
        }
        let delta = frame * free + shared;
        match dominant(weights).filter(|_| !pose.turns.is_empty()) {
            Some(bone) => (pose.turns[bone.get()] * delta, pose.turns[bone.get()] * frame),
            None => (delta, frame),
        }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.terms.len()
    }

    /// How many numbers each joint has in z, one per inducing rotation, and then each bone that sees down.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + Clone {
        let sagging = self.gravity.iter().flat_map(|gravity| &gravity.bones);
        self.joints.iter().map(|joint| joint.inducing.len()).chain(sagging.map(|_| gravity::NUMBERS))
    }
}

/// The links of a forest whose edges are joints: each tree is walked from its root, the bone with the fewest ancestors
/// in the skeleton, then of lowest index.
pub fn forest_links(joints: &[(BoneIndex, BoneIndex)], frozen: &[bool], ancestors: &[usize]) -> Vec<Link> {
    let bones = ancestors.len();
    let mut neighbours: Vec<Vec<(usize, bool)>> = vec![Vec::new(); bones];
    for (&(a, b), &frozen) in joints.iter().zip(frozen) {
        neighbours[a.get()].push((b.get(), frozen));
        neighbours[b.get()].push((a.get(), frozen));
    }
    let mut roots: Vec<usize> = (0..bones).filter(|&b| !neighbours[b].is_empty()).collect();
    roots.sort_by_key(|&b| (ancestors[b], b));
    let mut reached = vec![false; bones];
    let mut links = Vec::with_capacity(joints.len());
    for root in roots {
        if std::mem::replace(&mut reached[root], true) {
            continue;
        }
        let mut open = vec![root];
        while let Some(from) = open.pop() {
            for &(to, frozen) in &neighbours[from] {
                if !std::mem::replace(&mut reached[to], true) {
                    links.push(Link { from: BoneIndex::new(from), to: BoneIndex::new(to), frozen });
                    open.push(to);
                }
            }
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Swing and twist are parts of a turn that make it whole again, and each leaves the other out.
    #[test]
    fn swing_and_twist_make_the_turn() {
        let axis = DVec3::new(0.6, 0.0, 0.8);
        let seen = |turn: DQuat| {
            let pose = [DAffine3::IDENTITY, DAffine3::from_rotation_translation(turn, DVec3::new(0.1, 0.2, -0.1))];
            joint_feature(&pose, (BoneIndex::new(0), BoneIndex::new(1)), Some(DVec3::X), 2.0)
        };
        let (twist, swing) = (JointReading::Twist(axis), JointReading::Swing(axis));
        let norm = |f: JointFeature| f.iter().map(|x| x * x).sum::<f64>().sqrt();
        for angle in [0.2, 1.1, 2.4] {
            // A turn about the axis has no swing but the slide; one across it has no twist.
            let across = DQuat::from_axis_angle(axis.any_orthonormal_vector(), angle);
            let along = DQuat::from_axis_angle(axis, angle);
            assert!(norm(part_of(&seen(across), twist)) < 1e-12);
            assert!((norm(part_of(&seen(along), twist)) - 2.0 * (0.5 * angle).sin()).abs() < 1e-12);
            let of_swing = part_of(&seen(along), swing);
            assert!([0, 4, 8].iter().all(|i| of_swing[*i].abs() < 1e-12));
            for turn in [across * along, along * across] {
                let whole = seen(turn);
                let made = whole_of(axis, &part_of(&whole, swing), &part_of(&whole, twist));
                assert!(made.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-12), "{made:?} {whole:?}");
            }
        }
    }

    /// A product is zero unless both joints moved, and is the product of their kernels.
    #[test]
    fn products_need_both_joints() {
        let kernel = JointKernel::gaussian(1.4);
        let ends = ((BoneIndex::new(0), BoneIndex::new(1)), None);
        let (x, y, rest) = ([0.3; 12], [-0.2; 12], [0.0; 12]);
        let (a, b) = (vec![[0.4; 12]], vec![[-0.3; 12]]);
        let reading = JointReading::Product([0, 1]);
        let joint = Joint::read_as(reading, ends, f64::INFINITY, (a.clone(), b.clone()), kernel).unwrap();
        let z = |x: JointFeature, y: JointFeature| {
            let mut z = vec![];
            joint.coordinates(&[x, y, rest], kernel, &mut z);
            z[0]
        };
        let product = |x: &JointFeature, y: &JointFeature| kernel.at(x, &a[0]) * kernel.at(y, &b[0]) / 1.96;
        assert!((z(x, y) * product(&a[0], &b[0]).sqrt() - product(&x, &y)).abs() < 1e-15);
        assert_eq!((z(x, rest), z(rest, y)), (0.0, 0.0));
        assert!(Joint::read_as(reading, ends, 1.0, (a, vec![]), kernel).is_none());
    }

    /// The kernel of an inducing rotation at rest is zero, and its matrix has no factor.
    #[test]
    fn inducing_rotations_must_be_apart_from_each_other_and_from_rest() {
        let joint = |inducing: &[JointFeature]| {
            Joint::new(
                (BoneIndex::new(0), BoneIndex::new(1)),
                Some(DVec3::ZERO),
                1.0,
                inducing.to_vec(),
                JointKernel::gaussian(1.4),
            )
        };
        let (rest, one, other) = ([0.0; 12], [0.1; 12], [-0.2; 12]);
        assert!(joint(&[]).is_some() && joint(&[one]).is_some() && joint(&[one, other]).is_some());
        assert!(joint(&[rest]).is_none() && joint(&[one, rest]).is_none() && joint(&[one, other, one]).is_none());
    }
}
