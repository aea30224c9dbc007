//! Normals of drawn vertices, at rest and after the vertices have moved.
//!
//! A file may hold normals that no average of triangles gives: hard edges, weighted corners, painted ones. A move of the mesh
//! turns them as it turns the surface around them: n' = R n, with R the smallest rotation from g to g'. Here g is the normal of
//! the surface around the drawn vertex at rest, Σ (b − a) × (c − a) over the triangles that share the vertex and, within an
//! angle, its normal; g' is the same sum over moved positions. Where the file has no normals, n = g / |g|, so n' = g' / |g'|.

use dermis_rig::glam::DVec3;
use dermis_rig::{Mesh, MorphTarget, RenderMesh};

/// Normals of one vertex this close belong to one smooth surface: their cosine at least. Exporters round normals to 8 bits
/// (0.3 degrees off), and artists split edges from 20 degrees on; this is 2.6 degrees.
const SMOOTH: f64 = 0.999;

/// The shading of a mesh: unit normals of drawn vertices, and the surface they stand on.
pub(crate) struct Shading<'a> {
    source: &'a [u32],
    triangles: &'a [[u32; 3]],
    /// Unit normals of drawn vertices at rest.
    rest: Vec<DVec3>,
    /// The smooth surface that each drawn vertex belongs to, at its vertex.
    group: Vec<u32>,
    /// g of each group.
    around: Vec<DVec3>,
}

impl<'a> Shading<'a> {
    /// The shading of `render` on `mesh`, whose indices are in range. A drawn vertex without a normal of its own has that of
    /// the triangles around its vertex, weighted by area; up where no triangle has any.
    pub(crate) fn new(mesh: &Mesh, render: &'a RenderMesh) -> Self {
        let smooth = smooth_normals(&mesh.positions, &mesh.triangles);
        let own = |at: usize| render.normals.get(at).and_then(|normal| normal.try_normalize());
        let normal = |(at, &source): (usize, &u32)| own(at).unwrap_or(smooth[source as usize]);
        let rest: Vec<DVec3> = render.source.iter().enumerate().map(normal).collect();
        // Drawn vertices of one vertex lie side by side; each joins the first group whose first normal is close.
        let mut order: Vec<u32> = (0..rest.len() as u32).collect();
        order.sort_by_key(|&at| render.source[at as usize]);
        let mut group = vec![0; rest.len()];
        let mut firsts: Vec<DVec3> = Vec::new();
        for same in order.chunk_by(|&a, &b| render.source[a as usize] == render.source[b as usize]) {
            let begin = firsts.len();
            for &at in same {
                let normal = rest[at as usize];
                // A vertex with more surfaces than this is no surface.
                let open = firsts[begin..].iter().take(64).position(|first| first.dot(normal) >= SMOOTH);
                group[at as usize] = open.map_or(firsts.len(), |nth| begin + nth) as u32;
                if open.is_none() {
                    firsts.push(normal);
                }
            }
        }
        let mut made = Self {
            source: &render.source,
            triangles: &render.triangles,
            rest,
            group,
            around: vec![DVec3::ZERO; firsts.len()],
        };
        made.around = made.sums(&mesh.positions);
        made
    }

    /// Unit normals of drawn vertices at rest.
    pub(crate) fn rest(&self) -> &[DVec3] {
        &self.rest
    }

    /// Unit normals of drawn vertices with the vertices of the mesh at `positions`. Where a surface has no area, at rest or
    /// moved, its normals stay.
    pub(crate) fn moved(&self, positions: &[DVec3]) -> Vec<DVec3> {
        let sums = self.sums(positions);
        let turned = |(normal, &group): (&DVec3, &u32)| {
            let (from, to) = (self.around[group as usize].try_normalize(), sums[group as usize].try_normalize());
            from.zip(to).map_or(*normal, |(from, to)| turn(*normal, from, to))
        };
        self.rest.iter().zip(&self.group).map(turned).collect()
    }

    /// Σ (b − a) × (c − a) of each group.
    fn sums(&self, positions: &[DVec3]) -> Vec<DVec3> {
        let mut sums = vec![DVec3::ZERO; self.around.len()];
        for corners in self.triangles {
            let [a, b, c] = corners.map(|corner| positions[self.source[corner as usize] as usize]);
            let normal = (b - a).cross(c - a);
            let mut groups = corners.map(|corner| self.group[corner as usize]);
            groups.sort_unstable();
            for (at, &group) in groups.iter().enumerate() {
                if at == 0 || groups[at - 1] != group {
                    sums[group as usize] += normal;
                }
            }
        }
        sums
    }
}

/// Changes of normals that morph targets hold.
///
/// A program adds weighted changes to the normals at rest, n + Σ w_i δ_i, although normals are not linear in the weights. So δ
/// is chosen around weights w⁰ that the targets have together: with P the mesh at w⁰,
///
/// ```text
/// δ_i = n(P + (1 − w⁰_i) d_i) − n(P − w⁰_i d_i) + w⁰_i r / Σ w⁰²
/// ```
///
/// where r makes n + Σ w⁰_i δ_i = n(P) exact. With w⁰ = 0 each target has the normals of its shape minus those at rest.
pub(crate) struct MorphShading<'a> {
    shading: &'a Shading<'a>,
    morphs: &'a [MorphTarget],
    /// w⁰, one per morph target.
    at: &'a [f64],
    /// P.
    base: Vec<DVec3>,
    /// r / Σ w⁰², per drawn vertex; empty if w⁰ is zero.
    rest: Vec<DVec3>,
}

impl<'a> MorphShading<'a> {
    /// - `positions`: the vertices at rest
    /// - `morphs`: with one displacement per vertex
    /// - `at`: w⁰, one per morph target
    pub(crate) fn new(shading: &'a Shading<'a>, positions: &[DVec3], morphs: &'a [MorphTarget], at: &'a [f64]) -> Self {
        let mut made = Self { shading, morphs, at, base: positions.to_vec(), rest: Vec::new() };
        let on = || morphs.iter().zip(at).enumerate().filter(|(_, (_, weight))| **weight != 0.0);
        for (_, (morph, weight)) in on() {
            made.base.iter_mut().zip(&morph.deltas).for_each(|(p, d)| *p += *d * *weight);
        }
        let square: f64 = at.iter().map(|weight| weight * weight).sum();
        if square > 1e-9 {
            let mut rest: Vec<DVec3> =
                shading.moved(&made.base).iter().zip(shading.rest()).map(|(moved, rest)| *moved - *rest).collect();
            for (target, (_, weight)) in on() {
                rest.iter_mut().zip(made.difference(target)).for_each(|(r, change)| *r -= change * *weight);
            }
            rest.iter_mut().for_each(|r| *r /= square);
            made.rest = rest;
        }
        made
    }

    /// δ of target `target`, per drawn vertex.
    pub(crate) fn of(&self, target: usize) -> Vec<DVec3> {
        let mut made = self.difference(target);
        let weight = self.at[target];
        made.iter_mut().zip(&self.rest).for_each(|(change, r)| *change += *r * weight);
        made
    }

    /// n(P + (1 − w⁰) d) − n(P − w⁰ d).
    fn difference(&self, target: usize) -> Vec<DVec3> {
        let deltas = &self.morphs[target].deltas;
        let shape =
            |weight: f64| -> Vec<DVec3> { self.base.iter().zip(deltas).map(|(p, d)| *p + *d * weight).collect() };
        let off = match self.at[target] {
            0.0 if self.rest.is_empty() && self.at.iter().all(|weight| *weight == 0.0) => self.shading.rest().to_vec(),
            weight => self.shading.moved(&shape(-weight)),
        };
        let on = self.shading.moved(&shape(1.0 - self.at[target]));
        on.iter().zip(off).map(|(on, off)| *on - off).collect()
    }
}

/// `normal` turned by the smallest rotation that takes the unit vector `from` to the unit vector `to`; mirrored where they are
/// opposite, and no rotation is smallest.
fn turn(normal: DVec3, from: DVec3, to: DVec3) -> DVec3 {
    let (axis, cosine) = (from.cross(to), from.dot(to));
    if cosine < -1.0 + 1e-12 {
        return normal - from * (2.0 * from.dot(normal));
    }
    // Rodrigues' formula with |axis| = sin: n + axis × n + axis × (axis × n) / (1 + cos).
    let once = axis.cross(normal);
    let turned = normal + once + axis.cross(once) / (1.0 + cosine);
    turned.try_normalize().unwrap_or(normal)
}

/// Unit normals of vertices, each triangle weighted by its area; up where no triangle has any.
pub(crate) fn smooth_normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for corners in triangles {
        let [a, b, c] = corners.map(|corner| positions[corner as usize]);
        for &corner in corners {
            normals[corner as usize] += (b - a).cross(c - a);
        }
    }
    normals.into_iter().map(|n| n.try_normalize().unwrap_or(DVec3::Y)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DQuat;

    /// Two quads that meet at a right angle along an edge, with hard normals; the flap turns about the edge.
    fn flap(angle: f64) -> (Mesh, RenderMesh) {
        let (turn, up) = (DQuat::from_rotation_x(angle), DVec3::Y);
        let base = [DVec3::ZERO, DVec3::X, DVec3::new(1.0, 0.0, 1.0), DVec3::Z];
        let wall = [DVec3::X + turn * up, turn * up];
        let mesh = Mesh {
            positions: base.into_iter().chain(wall).collect(),
            triangles: vec![[0, 2, 1], [0, 3, 2], [0, 1, 4], [0, 4, 5]],
            ..Mesh::default()
        };
        let render = RenderMesh {
            source: vec![0, 1, 2, 3, 0, 1, 4, 5],
            triangles: vec![[0, 2, 1], [0, 3, 2], [4, 5, 6], [4, 6, 7]],
            normals: [[up; 4], [turn * DVec3::Z; 4]].concat(),
            ..RenderMesh::default()
        };
        (mesh, render)
    }

    #[test]
    fn hard_edges_stay_hard_and_turn_with_their_side() {
        let (mesh, render) = flap(0.0);
        let shading = Shading::new(&mesh, &render);
        for angle in [-1.2, 0.3, 1.0] {
            let (moved, expected) = flap(angle);
            for (found, expected) in shading.moved(&moved.positions).iter().zip(&expected.normals) {
                assert!(found.abs_diff_eq(*expected, 1e-14), "{angle}: {found} {expected}");
            }
        }
    }

    /// Oracle: a rigid motion turns every normal, also one that no triangle explains.
    #[test]
    fn a_rigid_motion_turns_normals_that_were_painted() {
        let (mesh, mut render) = flap(0.4);
        // Painted normals need not stand on their surface; the smallest rotation of a surface is then not the motion's own,
        // so they are turned about an axis that is at right angles with both surfaces.
        render.normals = [[DVec3::new(0.0, 0.8, 0.6); 4], [DVec3::new(0.0, -0.6, 0.8); 4]].concat();
        let motion = DQuat::from_rotation_x(0.7);
        let moved: Vec<DVec3> = mesh.positions.iter().map(|p| motion * *p + DVec3::splat(3.0)).collect();
        let shading = Shading::new(&mesh, &render);
        for (found, rest) in shading.moved(&moved).iter().zip(&render.normals) {
            assert!(found.abs_diff_eq(motion * *rest, 1e-14));
        }
    }

    /// Oracle: without normals of its own a mesh has those of its triangles, before and after.
    #[test]
    fn smooth_meshes_have_the_normals_of_the_moved_mesh() {
        let (mesh, _) = flap(0.2);
        let (moved, _) = flap(-0.9);
        let render =
            RenderMesh { source: (0..6).collect(), triangles: mesh.triangles.clone(), ..RenderMesh::default() };
        let found = Shading::new(&mesh, &render).moved(&moved.positions);
        for (found, expected) in found.iter().zip(smooth_normals(&moved.positions, &mesh.triangles)) {
            assert!(found.abs_diff_eq(expected, 1e-14));
        }
    }

    /// Three bends of the flap that sum to nothing at the weights they have together.
    #[test]
    fn changes_of_normals_are_exact_alone_and_at_the_weights_that_targets_have_together() {
        let (mesh, render) = flap(0.0);
        let shading = Shading::new(&mesh, &render);
        let bend = |angle: f64| -> Vec<DVec3> {
            flap(angle).0.positions.iter().zip(&mesh.positions).map(|(p, q)| *p - *q).collect()
        };
        let target = |deltas: Vec<DVec3>| MorphTarget { name: String::new(), deltas };
        let (one, other) = (bend(0.5), bend(-0.8));
        let common = one.iter().zip(&other).map(|(a, b)| -(*a * 0.4 + *b * 0.7)).collect();
        let morphs = [target(common), target(one), target(other)];
        let zero = MorphShading::new(&shading, &mesh.positions, &morphs, &[0.0; 3]);
        for (target, angle) in [(1, 0.5), (2, -0.8)] {
            for (change, (moved, rest)) in zero.of(target).iter().zip(flap(angle).1.normals.iter().zip(&render.normals))
            {
                assert!(change.abs_diff_eq(*moved - *rest, 1e-14));
            }
        }
        let weights = [1.0, 0.4, 0.7];
        let together = MorphShading::new(&shading, &mesh.positions, &morphs, &weights);
        let sum = |made: &MorphShading, at: usize| (0..3).map(|i| made.of(i)[at] * weights[i]).sum::<DVec3>();
        for at in 0..8 {
            assert!(sum(&together, at).length() < 1e-14, "{at}: the mesh is at rest");
        }
        assert!(sum(&zero, 5).length() > 0.05, "which changes taken one by one would miss");
    }

    #[test]
    fn surfaces_without_area_and_turned_inside_out_give_unit_normals() {
        let (mesh, render) = flap(0.0);
        let shading = Shading::new(&mesh, &render);
        let flat = vec![DVec3::ZERO; 6];
        assert_eq!(shading.moved(&flat), shading.rest());
        let inside_out: Vec<DVec3> = mesh.positions.iter().map(|p| DVec3::new(-p.x, p.y, p.z)).collect();
        let found = shading.moved(&inside_out);
        assert!(found.iter().zip(shading.rest()).all(|(a, b)| a.abs_diff_eq(-*b, 1e-14)), "{found:?}");
    }
}
