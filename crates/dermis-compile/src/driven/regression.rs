//! The regression of rest-space corrections on joint coordinates, and the principal shapes of its result.

use dermis_deform::Joints;
use dermis_deform::baked::{BakedJoints, padded};
use dermis_deform::blend;
use dermis_deform::joints::JointReading;
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneTransforms, Skeleton};
use dermis_solve::SolveError;
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::{principal_axes, solve_shifted};
use rayon::prelude::*;

/// d of a vertex and √ω; both zero where the blend is singular.
pub(super) fn rest_correction(
    influences: &[(BoneIndex, f64)],
    rest: DVec3,
    skin: DVec3,
    transforms: &BoneTransforms,
) -> (Vec3, f32) {
    let a = blend(influences, transforms);
    let Some(inverse) = invert(&a) else { return (Vec3::ZERO, 0.0) };
    let squares: f64 = inverse.matrix3.to_cols_array().iter().map(|x| x * x).sum();
    let d = inverse.matrix3 * (skin - a.transform_point3(rest));
    (d.as_vec3(), (3.0 / squares).min(1.0).sqrt() as f32)
}

/// Where the coordinates of each joint, and of each bone that sees down, start; one more entry than there are.
pub(super) fn joint_starts(joints: &Joints) -> Vec<usize> {
    let mut starts = vec![0];
    joints.numbers().for_each(|count| starts.push(starts[starts.len() - 1] + count));
    starts
}

/// B: displacements at rest that are linear in z, compressed rows of vertices.
pub(super) struct Linear {
    /// Number of coordinates.
    pub count: usize,
    /// Where the entries of vertex v start; one more entry than vertices.
    pub starts: Vec<usize>,
    /// Coordinate of each entry.
    pub columns: Vec<u32>,
    /// Displacement per unit of the coordinate, metres.
    pub deltas: Vec<DVec3>,
}

/// Regresses the corrections on z, vertex by vertex, towards the model's own coefficients.
///
/// - `z` (samples × coordinates): joint coordinates
/// - `corrections`: per sample and vertex d, metres, and √ω
pub(super) fn regress(
    joints: &BakedJoints,
    starts: &[usize],
    z: &Mat<f64>,
    corrections: &[Vec<(Vec3, f32)>],
    lambda: f64,
) -> Result<Linear, SolveError> {
    let free = &joints.free;
    let (vertices, at_vertex) = (free.vertices(), free.coefficient_starts());
    let coefficients = free.coefficients().widened(at_vertex.iter().copied());
    let rows = (0..vertices)
        .into_par_iter()
        .map(|v| {
            let terms = free.terms().of(v);
            let mut at = at_vertex[v];
            let (mut columns, mut own) = (Vec::new(), Vec::new());
            for &joint in terms {
                let (from, to) = (starts[joint as usize], starts[joint as usize + 1]);
                let width = padded(to - from);
                for i in 0..to - from {
                    let u = |axis: usize| f64::from(coefficients[at + axis * width + i]);
                    columns.push((from + i) as u32);
                    own.push(DVec3::new(u(0), u(1), u(2)));
                }
                at += 3 * width;
            }
            if columns.is_empty() {
                return Ok((columns, own));
            }
            let n = columns.len();
            let x = Mat::from_fn(z.nrows(), n, |s, i| z[(s, columns[i] as usize)] * f64::from(corrections[s][v].1));
            let u = Mat::from_fn(n, 3, |i, axis| own[i][axis]);
            let y = Mat::from_fn(z.nrows(), 3, |s, axis| {
                let (d, root) = corrections[s][v];
                f64::from(d[axis]) * f64::from(root)
            });
            let change =
                solve_shifted((x.transpose() * &x).as_ref(), lambda, (x.transpose() * (y - &x * &u)).as_ref())?;
            own.iter_mut().enumerate().for_each(|(i, b)| {
                *b += DVec3::new(change[(i, 0)], change[(i, 1)], change[(i, 2)]);
            });
            Ok((columns, own))
        })
        .collect::<Result<Vec<_>, SolveError>>()?;
    let mut made = Linear { count: z.ncols(), starts: vec![0], columns: vec![], deltas: vec![] };
    for (columns, deltas) in rows {
        made.columns.extend(columns);
        made.deltas.extend(deltas);
        made.starts.push(made.deltas.len());
    }
    Ok(made)
}

/// Shapes and how they depend on z, before they are scaled to weights.
pub(super) struct Unscaled {
    pub names: Vec<String>,
    /// Displacements per unit of each shape's coordinate.
    pub shapes: Vec<Vec<DVec3>>,
    /// Rows of the map from z to the coordinates.
    pub rows: Vec<Vec<f64>>,
}

impl Linear {
    pub fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn coordinates(&self) -> usize {
        self.count
    }

    fn of(&self, v: usize) -> impl Iterator<Item = (usize, DVec3)> + Clone + '_ {
        let range = self.starts[v]..self.starts[v + 1];
        self.columns[range.clone()].iter().map(|&c| c as usize).zip(self.deltas[range].iter().copied())
    }

    /// Σ_e B_ve z_e.
    pub fn at(&self, v: usize, z: &[f64]) -> DVec3 {
        self.of(v).map(|(column, delta)| delta * z[column]).sum()
    }

    /// One shape per coordinate.
    pub fn all(&self, joints: &BakedJoints, skeleton: &Skeleton) -> Unscaled {
        let mut made =
            Unscaled { names: vec![], shapes: vec![vec![DVec3::ZERO; self.vertices()]; self.count], rows: vec![] };
        for v in 0..self.vertices() {
            self.of(v).for_each(|(column, delta)| made.shapes[column][v] = delta);
        }
        for joint in &joints.model.joints {
            let (from, to) = (&skeleton.names()[joint.from], &skeleton.names()[joint.to]);
            let part = match joint.reading {
                JointReading::Whole => "",
                JointReading::Swing(_) => "_swing",
                JointReading::Twist(_) => "_twist",
                JointReading::Product(_) => "_product",
            };
            made.names.extend((1..=joint.inducing.len()).map(|i| format!("driven_{from}_{to}{part}_{i}")));
        }
        for sagging in joints.model.gravity.iter().flat_map(|gravity| &gravity.bones) {
            let bone = &skeleton.names()[sagging.bone];
            made.names.extend(["x", "y", "z"].map(|axis| format!("driven_down_{bone}_{axis}")));
        }
        let unit = |i: usize| (0..self.count).map(|c| f64::from(u8::from(c == i))).collect();
        made.rows = (0..self.count).map(unit).collect();
        made
    }

    /// The first `most` principal shapes over the samples `z`.
    pub fn principal(&self, z: &Mat<f64>, most: usize) -> Result<Unscaled, SolveError> {
        let (count, samples) = (self.count, z.nrows().max(1) as f64);
        let mut gram = Mat::<f64>::zeros(count, count);
        for v in 0..self.vertices() {
            for (i, a) in self.of(v) {
                self.of(v).take_while(|(j, _)| *j <= i).for_each(|(j, b)| gram[(i, j)] += a.dot(b));
            }
        }
        (0..count).for_each(|i| (i + 1..count).for_each(|j| gram[(i, j)] = gram[(j, i)]));
        let moments = principal_axes((z.transpose() * z).as_ref())?;
        let least = 1e-12 * moments.values.first().copied().unwrap_or(0.0);
        let rank = moments.values.iter().take_while(|value| **value > least).count();
        let root = |r: usize| (moments.values[r] / samples).sqrt();
        let p = Mat::from_fn(count, rank, |i, r| moments.vectors[(i, r)] * root(r));
        let axes = principal_axes((p.transpose() * &gram * &p).as_ref())?;
        let kept = most.min(rank);
        let to_shape = &p * axes.vectors.get(.., ..kept);
        let inverse = Mat::from_fn(count, rank, |i, r| moments.vectors[(i, r)] / root(r));
        let from_z = inverse * axes.vectors.get(.., ..kept);
        let shape =
            |h: usize| (0..self.vertices()).map(|v| self.of(v).map(|(c, b)| b * to_shape[(c, h)]).sum()).collect();
        Ok(Unscaled {
            names: (1..=kept).map(|h| format!("driven_{h}")).collect(),
            shapes: (0..kept).map(shape).collect(),
            rows: (0..kept).map(|h| (0..count).map(|i| from_z[(i, h)]).collect()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::{DAffine3, DMat3};

    /// By hand: ω = min(1, 3 / |A⁻¹|²) is one for a rotation, a quarter where the blend shrinks to a half, and never more
    /// than one.
    #[test]
    fn corrections_count_less_where_the_blend_shrinks() {
        let (rest, d) = (DVec3::new(0.3, -0.2, 0.5), DVec3::new(0.01, 0.02, -0.03));
        let turn = DMat3::from_rotation_z(0.7);
        for (scale, root) in [(1.0, 1.0), (0.5, 0.5), (2.0, 1.0), (0.0, 0.0)] {
            let a = DAffine3::from_mat3_translation(turn * scale, DVec3::X);
            let skin = a.transform_point3(rest + d);
            let found = rest_correction(&[(BoneIndex::new(0), 1.0)], rest, skin, &BoneTransforms::new(vec![a]));
            let expected = if root == 0.0 { DVec3::ZERO } else { d };
            assert!(
                (found.0.as_dvec3() - expected).length() < 1e-8 && (found.1 - root).abs() < 1e-6,
                "{scale}: {found:?}"
            );
        }
    }
}
