//! Targets and shared features of a vertex in eight poses at a time: what [`rows`](super::rows) says, one pose in every lane.

use dermis_deform::joints::{CorrectionFrame, JointPose};
use dermis_rig::BoneIndex;
use dermis_rig::glam::DVec3;
use dermis_solve::simd::{Fma, Kernel, LANES_F64, run};
use std::array::from_fn;

/// A number in eight poses.
type Lanes = [f64; LANES_F64];

/// A sum of quaternions shorter than this has no direction.
const LEAST_QUATERNION: f64 = 1e-9;

/// All bones in some poses, eight poses side by side.
pub(super) struct PoseLanes {
    bones: usize,
    /// Per eight poses and bone N row after row, then its quaternion, which is zero outside the blended frame.
    values: Vec<[Lanes; 16]>,
}

impl PoseLanes {
    /// The last pose fills the lanes that are left.
    pub fn of(poses: &[JointPose]) -> Self {
        let bones = poses.first().map_or(0, |pose| pose.welded.len());
        let mut values = Vec::with_capacity(poses.len().div_ceil(LANES_F64) * bones);
        for eight in poses.chunks(LANES_F64) {
            for bone in 0..bones {
                let mut lanes = [[0.0; LANES_F64]; 16];
                for at in 0..LANES_F64 {
                    let pose = &eight[at.min(eight.len() - 1)];
                    let n = &pose.welded[bone];
                    for (j, row) in [n.matrix3.row(0), n.matrix3.row(1), n.matrix3.row(2)].into_iter().enumerate() {
                        (0..3).for_each(|c| lanes[4 * j + c][at] = row[c]);
                        lanes[4 * j + 3][at] = n.translation[j];
                    }
                    if let Some(q) = pose.quaternions().get(bone) {
                        q.to_array().into_iter().enumerate().for_each(|(i, x)| lanes[12 + i][at] = x);
                    }
                }
                values.push(lanes);
            }
        }
        Self { bones, values }
    }
}

/// A vertex as its features are made.
pub(super) struct VertexFeatures<'a> {
    pub poses: &'a PoseLanes,
    /// The first pose looked at.
    pub first: usize,
    pub frame: CorrectionFrame,
    /// Weight of each bone that moves the vertex.
    pub weights: &'a [(BoneIndex, f64)],
    /// The heaviest.
    pub dominant: Option<BoneIndex>,
    /// b of each bone of the shared part.
    pub relevance: &'a [(BoneIndex, f64)],
    /// √β.
    pub root: f64,
    pub rest: DVec3,
    /// L.
    pub length: f64,
    /// What each pose is multiplied by.
    pub scales: &'a [f64],
    /// In the world.
    pub targets: &'a [DVec3],
    /// Columns of as many numbers as there are poses: the targets along three axes, then the features, each with its three axes.
    pub columns: &'a mut [f64],
}

impl VertexFeatures<'_> {
    /// Fills the columns. Returns the largest norm of b [turn, shift] over the poses.
    pub fn fill(self) -> f64 {
        run(self)
    }
}

#[inline(always)]
fn each(of: impl Fn(usize) -> f64) -> Lanes {
    from_fn(of)
}

/// a b + c.
#[inline(always)]
fn fma<F: Fma>(a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    each(|i| F::f64(a[i], b[i], c[i]))
}

/// The cross product.
#[inline(always)]
fn cross(a: &[Lanes; 3], b: &[Lanes; 3]) -> [Lanes; 3] {
    from_fn(|k| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        each(|at| a[i][at] * b[j][at] - a[j][at] * b[i][at])
    })
}

/// The inverse of a matrix by its rows.
#[inline(always)]
fn inverse(m: &[[Lanes; 3]; 3]) -> [[Lanes; 3]; 3] {
    let columns = [cross(&m[1], &m[2]), cross(&m[2], &m[0]), cross(&m[0], &m[1])];
    let determinant =
        each(|i| m[0][0][i] * columns[0][0][i] + m[0][1][i] * columns[0][1][i] + m[0][2][i] * columns[0][2][i]);
    from_fn(|row| from_fn(|column| each(|i| columns[column][row][i] / determinant[i])))
}

impl VertexFeatures<'_> {
    /// The rotation of the normalised blend of quaternions, each on the dominant bone's side of the sphere, row after row.
    #[inline(always)]
    fn blended<F: Fma>(&self, eight: &[[Lanes; 16]]) -> [[Lanes; 3]; 3] {
        let Some(dominant) = self.dominant else { return identity() };
        let part = |bone: BoneIndex, i: usize| &eight[bone.get()][12 + i];
        let mut sum = [[0.0; LANES_F64]; 4];
        for &(bone, w) in self.weights {
            let mut dot = [0.0; LANES_F64];
            for i in 0..4 {
                dot = fma::<F>(part(bone, i), part(dominant, i), &dot);
            }
            let signed = each(|at| if dot[at] < 0.0 { -w } else { w });
            for (i, sum) in sum.iter_mut().enumerate() {
                *sum = fma::<F>(part(bone, i), &signed, sum);
            }
        }
        let mut square = [0.0; LANES_F64];
        for sum in &sum {
            square = fma::<F>(sum, sum, &square);
        }
        let norm = each(|at| square[at].sqrt());
        let [x, y, z, w]: [Lanes; 4] = from_fn(|i| {
            let of_dominant = part(dominant, i);
            each(|at| if norm[at] < LEAST_QUATERNION { of_dominant[at] } else { sum[i][at] / norm[at] })
        });
        let two = |a: &Lanes, b: &Lanes| each(|at| 2.0 * a[at] * b[at]);
        let (xx, yy, zz) = (two(&x, &x), two(&y, &y), two(&z, &z));
        let (xy, xz, yz) = (two(&x, &y), two(&x, &z), two(&y, &z));
        let (wx, wy, wz) = (two(&w, &x), two(&w, &y), two(&w, &z));
        let one = |a: &Lanes, b: &Lanes| each(|at| 1.0 - (a[at] + b[at]));
        let plus = |a: &Lanes, b: &Lanes| each(|at| a[at] + b[at]);
        let minus = |a: &Lanes, b: &Lanes| each(|at| a[at] - b[at]);
        [
            [one(&yy, &zz), minus(&xy, &wz), plus(&xz, &wy)],
            [plus(&xy, &wz), one(&xx, &zz), minus(&yz, &wx)],
            [minus(&xz, &wy), plus(&yz, &wx), one(&xx, &yy)],
        ]
    }
}

#[inline(always)]
fn identity() -> [[Lanes; 3]; 3] {
    from_fn(|j| from_fn(|c| [f64::from(u8::from(j == c)); LANES_F64]))
}

impl Kernel for VertexFeatures<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<F: Fma>(self) -> f64 {
        let rows = self.scales.len();
        let p = self.rest;
        let mut largest = [0.0f64; LANES_F64];
        let bones = self.poses.bones;
        let (first, end) = (self.first, self.first + rows);
        for block in first / LANES_F64..end.div_ceil(LANES_F64) {
            let eight = &self.poses.values[bones * block..bones * (block + 1)];
            // The lanes of poses looked at, the row of the first, and the row of any lane.
            let lanes = first.saturating_sub(LANES_F64 * block)..LANES_F64.min(end - LANES_F64 * block);
            let start = LANES_F64 * block + lanes.start - first;
            let pose = |at: usize| start + at.clamp(lanes.start, lanes.end - 1) - lanes.start;
            let point = |bone: BoneIndex, j: usize| -> Lanes {
                let n = &eight[bone.get()][4 * j..4 * j + 4];
                each(|at| F::f64(n[0][at], p.x, F::f64(n[1][at], p.y, F::f64(n[2][at], p.z, n[3][at]))))
            };
            let mut blend = [[0.0; LANES_F64]; 3];
            for &(bone, w) in self.weights {
                for (j, blend) in blend.iter_mut().enumerate() {
                    *blend = fma::<F>(&point(bone, j), &[w; LANES_F64], blend);
                }
            }
            let (frame, back) = match (self.frame, self.dominant) {
                (CorrectionFrame::Anchor, Some(dominant)) => {
                    let frame: [[Lanes; 3]; 3] = from_fn(|j| from_fn(|c| eight[dominant.get()][4 * j + c]));
                    (frame, inverse(&frame))
                }
                // Without weights a vertex stays at rest. The rest frame does not come here: its axes do not separate.
                (CorrectionFrame::Anchor | CorrectionFrame::Rest, _) => (identity(), identity()),
                (CorrectionFrame::Blend, _) => {
                    let frame = self.blended::<F>(eight);
                    (frame, from_fn(|j| from_fn(|c| frame[c][j])))
                }
            };
            let scale = each(|at| self.scales[pose(at)]);
            let back: [[Lanes; 3]; 3] = from_fn(|j| from_fn(|c| each(|at| back[j][c][at] * scale[at])));
            let through = |v: &[Lanes; 3], j: usize| -> Lanes {
                let sum = each(|at| back[j][2][at] * v[2][at]);
                fma::<F>(&back[j][0], &v[0], &fma::<F>(&back[j][1], &v[1], &sum))
            };
            let target: [Lanes; 3] = from_fn(|j| each(|at| self.targets[pose(at)][j]));
            for j in 0..3 {
                self.columns[j * rows + start..][..lanes.len()].copy_from_slice(&through(&target, j)[lanes.clone()]);
            }
            let mut squares = [0.0; LANES_F64];
            for (k, &(bone, b)) in self.relevance.iter().enumerate() {
                let (turn_by, shift_by) = (b * self.root, b * self.root * 10.0 / self.length);
                let mut square = [0.0; LANES_F64];
                for c in 0..4 {
                    let mut column = [[0.0; LANES_F64]; 3];
                    for (j, x) in column.iter_mut().enumerate() {
                        *x = match c {
                            3 => {
                                let moved = point(bone, j);
                                each(|at| (moved[at] - blend[j][at]) * shift_by)
                            }
                            _ => {
                                let by = turn_by * std::f64::consts::FRAC_1_SQRT_2;
                                each(|at| (eight[bone.get()][4 * j + c][at] - frame[j][c][at]) * by)
                            }
                        };
                        square = fma::<F>(x, x, &square);
                    }
                    let place = 3 * rows * (1 + 4 * k + c) + start;
                    for j in 0..3 {
                        self.columns[place + j * rows..][..lanes.len()]
                            .copy_from_slice(&through(&column, j)[lanes.clone()]);
                    }
                }
                squares = each(|at| squares[at] + square[at]);
            }
            largest = each(|at| largest[at].max(squares[at]));
        }
        largest.into_iter().fold(0.0, f64::max).sqrt() / self.root
    }
}
