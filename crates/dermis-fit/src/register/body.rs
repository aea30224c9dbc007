//! The armature whose pose is sought: its free joints, poses as turns of them, and points of its skin.

use super::JointRanges;
use dermis_deform::lbs;
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::mesh::vertex_areas;
use dermis_rig::rotation::{from_rotation_vector, nearest_rotation, quat_from_matrix, rotation_vector};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mesh, PrincipalBox, Skeleton};

/// A rig, ready to be posed.
pub(super) struct Body<'a> {
    pub mesh: &'a Mesh,
    pub weights: &'a Influences,
    ranges: &'a JointRanges<'a>,
    /// Per joint of `free`: a/σ² about its own axes, σ the turn from rest that its range makes likely, radians.
    stiff: Vec<DVec3>,
    /// Pairs of joints of `free` that turn alike.
    pub alike: Vec<Likeness>,
    parents: Vec<Option<usize>>,
    /// Joints at rest, world.
    heads: Vec<DVec3>,
    /// The bones' own axes at rest, orthonormal.
    axes: Vec<DQuat>,
    /// Joints that turn, parents first. Those that carry all of the skin are not among them: the character turns as a whole.
    pub free: Vec<usize>,
    /// Per bone the joints at and above it, as places in `free`.
    pub above: Vec<Vec<usize>>,
    /// Per bone the share of the skin's area that follows it and what is below it.
    pub share: Vec<f64>,
    /// L, metres.
    pub length: f64,
    /// The principal axes of the skin at rest, as a rotation.
    pub principal: DQuat,
    /// The middle of the skin at rest, weighted by area.
    pub centre: DVec3,
    /// The area of the skin at rest, square metres.
    pub area: f64,
}

/// Two joints of `free` that turn alike.
pub(super) struct Likeness {
    pub joints: [usize; 2],
    /// From a turn of the first, world at rest, to that expected of the second.
    pub turned: DQuat,
    /// b/σ², about any axis.
    pub stiff: f64,
}

/// σ lies between these, degrees.
const LIKELY: (f64, f64) = (3.0, 45.0);

/// The step of numerical derivatives, radians.
const SMALL: f64 = 1e-4;

/// σ about each of a joint's own axes, radians: half of how far its range lets it turn either way.
fn likely_turn(ranges: &JointRanges<'_>, bone: BoneIndex) -> DVec3 {
    let farthest = |axis: DVec3| {
        let extent = |sign: f64| {
            let asked = from_rotation_vector(axis * (sign * 150f64.to_radians()));
            rotation_vector((ranges.nearest)(bone, asked)).dot(axis * sign)
        };
        extent(1.0).max(extent(-1.0))
    };
    let sigma = |axis| (0.5 * farthest(axis)).clamp(LIKELY.0.to_radians(), LIKELY.1.to_radians());
    DVec3::new(sigma(DVec3::X), sigma(DVec3::Y), sigma(DVec3::Z))
}

/// A pose: M_root = T(shift) R(turn) T(−centre), and every joint turned about its place in its own axes.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub turn: DQuat,
    /// Where the middle of the skin would be if no joint turned.
    pub place: DVec3,
    /// q per bone.
    pub joints: Vec<DQuat>,
}

impl<'a> Body<'a> {
    pub fn new(mesh: &'a Mesh, skeleton: &'a Skeleton, weights: &'a Influences, ranges: &'a JointRanges<'a>) -> Self {
        let parents: Vec<Option<usize>> = skeleton.parents().iter().map(|p| p.map(BoneIndex::get)).collect();
        let areas = vertex_areas(&mesh.positions, &mesh.triangles);
        let area: f64 = areas.iter().sum();
        let whole = if area > 0.0 { area } else { 1.0 };
        let mut share = vec![0.0; skeleton.len()];
        let mut centre = DVec3::ZERO;
        for (v, own) in areas.iter().enumerate() {
            centre += mesh.positions[v] * (own / whole);
            weights.of(v).iter().for_each(|(bone, w)| share[bone.get()] += w * own / whole);
        }
        for bone in (0..skeleton.len()).rev() {
            if let Some(parent) = parents[bone] {
                share[parent] += share[bone];
            }
        }
        let turns = |bone: usize| {
            let (own, index) = (share[bone], BoneIndex::new(bone));
            ranges.moves[index] && own > 0.0 && own < 1.0 - 1e-9
        };
        let free: Vec<usize> = (0..skeleton.len()).filter(|bone| turns(*bone)).collect();
        let above = |bone: usize| {
            let mut found: Vec<usize> = std::iter::successors(Some(bone), |b| parents[*b])
                .filter_map(|bone| free.binary_search(&bone).ok())
                .collect();
            found.reverse();
            found
        };
        let above = (0..skeleton.len()).map(above).collect();
        let heads = skeleton.bind().iter().map(|bind| bind.translation).collect();
        let axes = skeleton.bind().iter().map(|bind| quat_from_matrix(&nearest_rotation(&bind.matrix3))).collect();
        let around = PrincipalBox::of(&mesh.positions);
        let length = Some(around.extent()).filter(|l| *l > 0.0).unwrap_or(1.0);
        let principal = quat_from_matrix(&around.axes);
        let likely = |bone: &usize| likely_turn(ranges, BoneIndex::new(*bone)).map(|sigma| sigma.powi(-2));
        let mut stiff: Vec<DVec3> = free.iter().map(likely).collect();
        let mut correlations = vec![0.0; free.len()];
        let alike = ranges.alike.iter().filter_map(|alike| {
            let [Ok(first), Ok(second)] = alike.joints.map(|bone| free.binary_search(&bone.get())) else { return None };
            let gamma = alike.correlation;
            [first, second].into_iter().for_each(|joint| correlations[joint] += gamma);
            let stiff = stiff[second].min_element() * gamma / (1.0 - gamma * gamma);
            Some(Likeness { joints: [first, second], turned: alike.turned, stiff })
        });
        let alike: Vec<Likeness> = alike.collect();
        stiff.iter_mut().zip(correlations).for_each(|(stiff, sum)| *stiff /= 1.0 + sum);
        Self {
            mesh,
            weights,
            ranges,
            stiff,
            alike,
            parents,
            heads,
            axes,
            free,
            above,
            share,
            length,
            principal,
            centre,
            area,
        }
    }

    /// The pose at rest.
    pub fn rest(&self) -> State {
        State { turn: DQuat::IDENTITY, place: self.centre, joints: vec![DQuat::IDENTITY; self.heads.len()] }
    }

    /// The pose nearest to these transforms: the turn of every free joint, and the character as the first bone moves it.
    pub fn state(&self, transforms: &BoneTransforms) -> State {
        let mut state = self.rest();
        let rotation = |bone: usize| quat_from_matrix(&nearest_rotation(&transforms[BoneIndex::new(bone)].matrix3));
        // What carries all of the skin moves the character: the last such bone does.
        let top = (0..self.heads.len()).rev().find(|bone| self.share[*bone] >= 1.0 - 1e-9).unwrap_or(0);
        state.turn = rotation(top);
        state.place = transforms[BoneIndex::new(top)].transform_point3(self.centre);
        for &bone in &self.free {
            let above = self.parents[bone].map_or(DQuat::IDENTITY, rotation);
            state.joints[bone] =
                (self.axes[bone].conjugate() * above.conjugate() * rotation(bone) * self.axes[bone]).normalize();
        }
        state
    }

    /// M_k of every bone.
    pub fn transforms(&self, state: &State) -> Vec<DAffine3> {
        let turn = DMat3::from_quat(state.turn);
        let whole = DAffine3 { matrix3: turn, translation: state.place - turn * self.centre };
        let mut all: Vec<DAffine3> = Vec::with_capacity(self.heads.len());
        for (bone, head) in self.heads.iter().enumerate() {
            let above = self.parents[bone].map_or(whole, |parent| all[parent]);
            let q = state.joints[bone];
            if q == DQuat::IDENTITY {
                all.push(above);
                continue;
            }
            let own = DMat3::from_quat(self.axes[bone] * q * self.axes[bone].conjugate());
            let own = DAffine3 { matrix3: own, translation: *head - own * *head };
            all.push(above * own);
        }
        all
    }

    /// Where a joint is, given M of its bone.
    pub fn head(&self, bone: usize, transforms: &[DAffine3]) -> DVec3 {
        transforms[bone].transform_point3(self.heads[bone])
    }

    /// The skin.
    pub fn skin(&self, transforms: &[DAffine3]) -> Vec<DVec3> {
        let mut skin = vec![DVec3::ZERO; self.mesh.positions.len()];
        lbs(&self.mesh.positions, self.weights, &BoneTransforms::new(transforms.to_vec()), &mut skin);
        skin
    }

    /// Per vertex Σ w_k |M_k p − x|², x its place on `skin`: how far its bones disagree, L².
    pub fn spread(&self, transforms: &[DAffine3], skin: &[DVec3]) -> Vec<f64> {
        let of = |v: usize| {
            let rest = self.mesh.positions[v];
            let apart = |(bone, w): &(BoneIndex, f64)| {
                w * transforms[bone.get()].transform_point3(rest).distance_squared(skin[v])
            };
            self.weights.of(v).iter().map(apart).sum::<f64>() / (self.length * self.length)
        };
        (0..skin.len()).map(of).collect()
    }

    /// The nearest turn of a joint that its range holds.
    pub fn within(&self, bone: usize, q: DQuat) -> DQuat {
        (self.ranges.nearest)(BoneIndex::new(bone), q)
    }

    /// By how much a turn leaves the range of its joint, as a rotation vector in the bone's own axes: q = near · exp(e).
    pub fn excess(&self, bone: usize, q: DQuat) -> DVec3 {
        rotation_vector(self.within(bone, q).conjugate() * q)
    }

    /// The excess, and its derivatives by a turn after q about the bone's own axes, a column per axis.
    pub fn excess_and_slopes(&self, bone: usize, q: DQuat) -> (DVec3, DMat3) {
        let out = self.excess(bone, q);
        if out == DVec3::ZERO {
            return (out, DMat3::ZERO);
        }
        let slope = |axis: DVec3| {
            let ahead = |sign: f64| self.excess(bone, q * from_rotation_vector(axis * (sign * SMALL)));
            (ahead(1.0) - ahead(-1.0)) / (2.0 * SMALL)
        };
        (out, DMat3::from_cols(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z)))
    }

    /// a/σ² of a joint of `free` about its own axes.
    pub fn stiff(&self, joint: usize) -> DVec3 {
        self.stiff[joint]
    }

    /// From a bone's own axes to the world at rest.
    pub fn axes(&self, bone: usize) -> DQuat {
        self.axes[bone]
    }

    /// From a bone's own axes to the posed world.
    pub fn own_axes(&self, bone: usize, transforms: &[DAffine3]) -> DQuat {
        quat_from_matrix(&nearest_rotation(&transforms[bone].matrix3)) * self.axes[bone]
    }

    /// The state after turns of joints (world axes, radians, in the order of `free`), of the character about the middle of its
    /// skin, and a move.
    pub fn moved(&self, state: &State, transforms: &[DAffine3], turns: &[DVec3], whole: DVec3, shift: DVec3) -> State {
        let mut next = state.clone();
        for (&bone, turn) in self.free.iter().zip(turns) {
            if *turn != DVec3::ZERO {
                let own = self.own_axes(bone, transforms).conjugate() * *turn;
                next.joints[bone] = (state.joints[bone] * from_rotation_vector(own)).normalize();
            }
        }
        next.turn = (from_rotation_vector(whole) * state.turn).normalize();
        next.place += shift;
        next
    }

    /// The bone of largest weight at a vertex.
    pub fn bone_of(&self, vertex: usize) -> usize {
        // In single precision: of bones with the same weight but for rounding the first.
        let row = self.weights.of(vertex).iter();
        let larger = |best: &(BoneIndex, f64), other: &(BoneIndex, f64)| other.1 as f32 > best.1 as f32;
        row.copied().reduce(|best, other| if larger(&best, &other) { other } else { best }).map_or(0, |e| e.0.get())
    }

    /// Per bone, whether it is `top` or below it.
    pub fn below(&self, top: usize) -> Vec<bool> {
        let mut below = vec![false; self.heads.len()];
        for bone in 0..below.len() {
            below[bone] = bone == top || self.parents[bone].is_some_and(|parent| below[parent]);
        }
        below
    }

    /// Bones.
    pub fn bones(&self) -> usize {
        self.heads.len()
    }
}
