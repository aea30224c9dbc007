//! Shapes: a pose space at a constant price.
//!
//! ```text
//! p' = S(p) + Π_v( C_v d ),      d = Σ_l c_l(x) u_vl,      c_l(x) = Σ_i A_li κ_i(x)
//! ```
//!
//! u_l are displacements of many vertices at once, the shapes; their weights c_l follow from the pose through the values κ
//! of their region's pose space: kernels of a few centres, or the coordinates themselves. An engine has u_l as morph
//! targets. The price is the number of shapes a vertex has, whatever the number of examples was.
//!
//! EigenSkin (Kry, James & Pai 2002) is this with a region per joint; pose blend shapes (Loper et al. 2015) are this with
//! κ the entries of the joints' rotations and A the identity; a compiled pose-space deformation has a region per joint, the
//! joints near it among its coordinates, and few centres.
//!
//! Correctives have a shape per sculpt, with the sculpt's name, weights held within 0..1, and a [`Window`]: c_l is one in the
//! sculpt's pose, and zero in poses that are farther from it than the bind pose is.

use super::{Carrier, Kernel, KernelValues};
use crate::base::Base;
use crate::guard::project;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Rows};

/// Where a shape may show: near the pose of one centre.
///
/// ```text
/// w(x) = 1 − smoothstep( (r − ¾)/¼ ),      r² = Σ_j b_j |x_j − y_j|²
/// ```
///
/// y is the centre. With b_j = 1/Σ_j |y_j|² of the joints that drive the shape r is one at the bind pose.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The centre, among those of the shape's region.
    pub centre: u32,
    /// b of every joint and channel of the region, in the order of its relevance.
    pub relevance: Vec<f64>,
}

/// w from r²: one up to r = ¾, zero from r = 1, and smooth between.
pub fn window(square: f64) -> f64 {
    let t = (4.0 * square.sqrt() - 3.0).clamp(0.0, 1.0);
    1.0 - t * t * (3.0 - 2.0 * t)
}

/// h from r²: one up to r = 1, zero from r = 5/4, and smooth between. How far a sculpt speaks for poses other than its own.
pub fn reach(square: f64) -> f64 {
    let t = (4.0 * (square.sqrt() - 1.0)).clamp(0.0, 1.0);
    1.0 - t * t * (3.0 - 2.0 * t)
}

/// The correction in `f64`, the reference.
#[derive(Clone, Debug)]
pub struct CompiledShapes {
    /// What a pose is compared with: a group per region.
    pub kernel: Kernel,
    /// Where the shapes of region g start; one more entry than groups of the kernel.
    pub regions: Vec<u32>,
    /// A: a row per shape, as many numbers as its region has values; shape after shape.
    pub coefficients: Vec<f64>,
    /// What carries displacements into the posed world.
    pub carrier: Carrier,
    /// The terms of every vertex: the shape of each.
    pub terms: Rows<u32>,
    /// u_vl of each term, metres.
    pub displacements: Vec<DVec3>,
    /// Radius of the ball per vertex, metres; empty without the guard.
    pub radii: Vec<f64>,
    /// Names of the shapes, one each; empty if they have none.
    pub names: Vec<String>,
    /// The least and the largest weight of a shape, around zero; weights are free without it.
    pub clamp: Option<[f64; 2]>,
    /// Where each shape may show: its weight, held within its bounds, counts times this. Empty: everywhere.
    pub windows: Vec<Window>,
}

impl CompiledShapes {
    /// Number of shapes.
    pub fn count(&self) -> usize {
        self.regions.last().map_or(0, |&n| n as usize)
    }

    /// c of every shape from the values of a pose, and what else the kernel found in it.
    pub fn weights<T>(&self, values: &[f64], pose: &KernelValues, round: impl Fn(f64) -> T, out: &mut Vec<T>) {
        out.clear();
        let mut row = 0;
        for g in 0..self.kernel.groups() {
            let values = &values[self.kernel.range(g)];
            for l in self.regions[g]..self.regions[g + 1] {
                let a = &self.coefficients[row..row + values.len()];
                row += values.len();
                let free: f64 = a.iter().zip(values).map(|(a, k)| a * k).sum();
                let held = self.clamp.map_or(free, |[low, high]| free.clamp(low, high));
                out.push(round(self.windows.get(l as usize).map_or(held, |w| held * self.kernel.window(w, g, pose))));
            }
        }
    }

    /// h of every shape that has a window, from what the kernel found in a pose.
    pub fn reaches<'a>(&'a self, pose: &'a KernelValues) -> impl Iterator<Item = f64> + 'a {
        self.squares(pose).map(reach)
    }

    /// r² of every shape that has a window, from what the kernel found in a pose.
    fn squares<'a>(&'a self, pose: &'a KernelValues) -> impl Iterator<Item = f64> + 'a {
        (0..self.kernel.groups()).flat_map(move |g| {
            let own = self.regions[g] as usize..self.regions[g + 1] as usize;
            self.windows.get(own).unwrap_or_default().iter().map(move |w| self.kernel.apart(w, g, pose))
        })
    }

    /// c of every shape in a pose.
    pub fn weights_in(&self, transforms: &BoneTransforms) -> Vec<f64> {
        let mut values = vec![0.0; self.kernel.values()];
        let mut pose = KernelValues::default();
        self.kernel.evaluate(transforms, &mut pose, &mut values, |k| k);
        let mut weights = Vec::new();
        self.weights(&values, &pose, |c| c, &mut weights);
        weights
    }

    /// r² of every shape that has a window in a pose: zero in the pose of its centre, one where that is as far as the bind pose.
    pub fn squares_in(&self, transforms: &BoneTransforms) -> Vec<f64> {
        let mut values = vec![0.0; self.kernel.values()];
        let mut pose = KernelValues::default();
        self.kernel.evaluate(transforms, &mut pose, &mut values, |k| k);
        self.squares(&pose).collect()
    }

    /// d of vertex `v`, from the weights of the shapes.
    pub fn displacement(&self, v: usize, weights: &[f64]) -> DVec3 {
        let displacements = &self.displacements[self.terms.range(v)];
        self.terms.of(v).iter().zip(displacements).map(|(&l, u)| *u * weights[l as usize]).sum()
    }

    /// Adds the correction of a pose to the positions of `base` in it; how many vertices the ball held back. `rest` is the rest
    /// mesh, metres.
    pub fn add(&self, rest: &[DVec3], transforms: &BoneTransforms, base: &Base, skin: &mut [DVec3]) -> usize {
        let weights = self.weights_in(transforms);
        let mut held = 0;
        for (v, p) in skin.iter_mut().enumerate() {
            let world = self.carrier.carry(v, rest[v], self.displacement(v, &weights), base, transforms);
            let (world, acted) = match self.radii.get(v) {
                Some(&radius) => project(world, radius),
                None => (world, false),
            };
            *p += world;
            held += usize::from(acted);
        }
        held
    }
}

impl Kernel {
    /// w of a shape of group `g` in the pose that was evaluated last with `pose`.
    pub fn window(&self, of: &Window, g: usize, pose: &KernelValues) -> f64 {
        window(self.apart(of, g, pose))
    }

    /// r² of a window of group `g` in the pose that was evaluated last with `pose`.
    fn apart(&self, of: &Window, g: usize, pose: &KernelValues) -> f64 {
        let centre = self.centres(g)[of.centre as usize];
        let joints = self.relevance_of(g).iter().zip(&of.relevance).filter(|(_, b)| **b > 0.0);
        joints.map(|(&(j, _), b)| b * self.square_to(pose, centre, j)).sum()
    }
}
