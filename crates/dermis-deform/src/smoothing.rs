//! Fields of skinning weights smoothed over the surface, bone by bone: what direct delta mush and corrective smoothing fold into
//! their coefficients.
//!
//! With S the mean over the neighbours along polygon edges and a factor f, n steps are B = (I + f (S − I))ⁿ. A vertex without
//! neighbours keeps its own value. Vertices that a file split at seams are one.

use dermis_rig::glam::DVec3;
use dermis_rig::mesh::welded;
use dermis_rig::{BoneIndex, Influences, Mesh, Neighbours};
use rayon::prelude::*;

/// Pairs of vertex and bone whose smoothed weight is below this are dropped. For direct delta mush a tenth of it gains nothing, and
/// ten times of it loses a third of what the base gains.
pub const LEAST_WEIGHT: f64 = 1e-3;
/// The most smoothing steps.
pub const MOST_STEPS: u32 = 200;
/// Weights of vertices in one place that differ by less belong to one vertex that a file split.
const SAME_WEIGHTS: f64 = 1e-3;

/// What is smoothed, and how far.
#[derive(Clone, Copy)]
pub struct Smoothing<'a> {
    /// Numbers of smoothing steps, ascending.
    pub steps: &'a [u32],
    /// f, how far a step moves a vertex towards the mean of its neighbours.
    pub factor: f64,
    /// Whether a vertex gets its coefficients; the others have none.
    pub of: &'a (dyn Fn(usize) -> bool + Sync),
    /// Pairs of vertex and bone with a smaller weight are dropped.
    pub least_weight: f64,
}

impl Default for Smoothing<'_> {
    fn default() -> Self {
        Self { steps: &[], factor: 0.5, of: &|_| true, least_weight: LEAST_WEIGHT }
    }
}

/// Σ_j B_ij w_jk m(p_j) of every vertex i that is wanted and bone k, where its weight counts.
pub(crate) type Smoothed<const CHANNELS: usize> = Vec<Vec<(BoneIndex, [f64; CHANNELS])>>;

/// Smooths w m(p) of every bone, for each number of steps; one run passes through all of them. Rows are those of the vertices that
/// stand for others, by `place`.
///
/// - `place`: for every vertex the one that stands for it
/// - `of`: the numbers w m(p) of a weight and a vertex, of which the first is the weight
///
/// # Panics
/// If mesh and weights differ in their number of vertices.
pub(crate) fn smoothed<const CHANNELS: usize>(
    (mesh, place): (&Mesh, &[u32]),
    weights: &Influences,
    smoothing: &Smoothing<'_>,
    of: impl Fn(f64, usize) -> [f64; CHANNELS] + Sync,
) -> Vec<Smoothed<CHANNELS>> {
    let vertices = mesh.positions.len();
    assert_eq!(vertices, weights.vertices(), "positions and weights differ in number");
    let graph = mesh.neighbours_along_polygons(place);
    let mut of_bone: Vec<Vec<(u32, f64)>> = vec![Vec::new(); weights.bones_named()];
    for (v, row) in weights.rows().enumerate().filter(|(v, _)| place[*v] as usize == *v) {
        row.iter().for_each(|&(bone, w)| of_bone[bone.get()].push((v as u32, w)));
    }
    let mut stands_for: Vec<bool> = vec![false; vertices];
    (0..vertices).filter(|&v| (smoothing.of)(v)).for_each(|v| stands_for[place[v] as usize] = true);
    let fields: Vec<Vec<Field<CHANNELS>>> =
        of_bone.par_iter().map(|skin| of_one_bone(&graph, skin, &of, smoothing, &stands_for)).collect();
    let of_steps = |step: usize| {
        let mut rows: Smoothed<CHANNELS> = vec![Vec::new(); vertices];
        for (bone, field) in fields.iter().enumerate() {
            for &(v, numbers) in &field[step] {
                rows[v as usize].push((BoneIndex::new(bone), numbers));
            }
        }
        rows
    };
    (0..smoothing.steps.len()).map(of_steps).collect()
}

/// For every vertex the first in the same place that the same bones carry: those that a file split at seams are one.
pub(crate) fn split_vertices(mesh: &Mesh, weights: &Influences) -> Vec<u32> {
    let same = |a: u32, b: u32| {
        let near =
            |from, to| weights.of(from).iter().all(|&(bone, w)| (w - weights.value(to, bone)).abs() < SAME_WEIGHTS);
        near(a as usize, b as usize) && near(b as usize, a as usize)
    };
    let place = welded(&mesh.positions);
    (0..).zip(place).map(|(v, first)| if v == first || same(v, first) { first } else { v }).collect()
}

/// The middle of the character, about which positions are smoothed for the sake of digits.
pub(crate) fn middle(mesh: &Mesh) -> DVec3 {
    let (low, high) = mesh.bounds();
    0.5 * (low + high)
}

/// The numbers of a bone at some vertices.
type Field<const CHANNELS: usize> = Vec<(u32, [f64; CHANNELS])>;

/// The field of one bone after each number of steps, for the vertices that are `wanted` and where its weight counts.
fn of_one_bone<const CHANNELS: usize>(
    graph: &Neighbours,
    skin: &[(u32, f64)],
    of: impl Fn(f64, usize) -> [f64; CHANNELS],
    smoothing: &Smoothing<'_>,
    wanted: &[bool],
) -> Vec<Field<CHANNELS>> {
    // The vertices that n steps reach, nearest first.
    let &Smoothing { steps, factor, least_weight, .. } = smoothing;
    let most = steps.iter().copied().max().unwrap_or(0);
    let mut local = vec![u32::MAX; wanted.len()];
    let mut reached: Vec<u32> = Vec::new();
    for &(v, _) in skin {
        local[v as usize] = reached.len() as u32;
        reached.push(v);
    }
    let mut ring = 0..reached.len();
    for _ in 0..most {
        let end = reached.len();
        for i in ring {
            for &n in graph.of(reached[i] as usize) {
                if local[n as usize] == u32::MAX {
                    local[n as usize] = reached.len() as u32;
                    reached.push(n);
                }
            }
        }
        ring = end..reached.len();
    }
    let mut field = vec![[0.0; CHANNELS]; reached.len()];
    skin.iter().enumerate().for_each(|(i, &(v, w))| field[i] = of(w, v as usize));
    let mut next = field.clone();
    let (mut made, mut done) = (Vec::with_capacity(steps.len()), 0);
    for &wanted_steps in steps {
        while done < wanted_steps {
            for (i, &v) in reached.iter().enumerate() {
                let near = graph.of(v as usize);
                let mut sum = [0.0; CHANNELS];
                for &n in near {
                    if let Some(m) = field.get(local[n as usize] as usize) {
                        sum.iter_mut().zip(m).for_each(|(sum, m)| *sum += m);
                    }
                }
                let share = factor / near.len() as f64;
                next[i] = match near.is_empty() {
                    true => field[i],
                    false => std::array::from_fn(|c| (1.0 - factor) * field[i][c] + share * sum[c]),
                };
            }
            std::mem::swap(&mut field, &mut next);
            done += 1;
        }
        let kept =
            reached.iter().zip(&field).filter(|(v, m)| wanted[**v as usize] && m[0] >= least_weight && m[0] > 0.0);
        made.push(kept.map(|(&v, &m)| (v, m)).collect());
    }
    made
}
