//! The skin as the design sees it: which joints move it, and how much it is corrected.

use super::kernels::Kernels;
use super::{DesignError, Known, NEW};
use crate::maps::{self, MapSettings};
use dermis_deform::guard::BALL_FACTOR;
use dermis_rig::mesh::vertex_areas;
use dermis_rig::{BoneIndex, Rig};
use rayon::prelude::*;

/// Places of the skin that are looked at.
const PLACES: usize = 256;
/// Training poses that the average correction counts for: ν.
const PRIOR: f64 = 1.0;

/// Which joints move which skin.
pub struct Skin {
    /// The bone of every joint, by name.
    pub names: Vec<String>,
    /// The names of all bones.
    pub bones: Vec<String>,
    /// Per vertex: joints that matter, with b.
    relevance: Vec<Vec<(usize, f64)>>,
    /// Per vertex, in parts of the whole.
    area: Vec<f64>,
}

/// A vertex that stands for its share of the skin.
pub struct Place {
    pub vertex: usize,
    /// The bone that moves it most.
    pub bone: Option<BoneIndex>,
    /// Joints that matter here, with b.
    pub joints: Vec<(usize, f64)>,
    /// m: s² times area, in parts of the whole.
    pub mass: f64,
}

impl Skin {
    /// Takes b from the rig's influence maps, or from maps of the weights. Without either, every joint moves all skin.
    ///
    /// # Errors
    /// [`DesignError::Maps`] for maps that are not finite.
    pub fn new(known: &Known<'_>) -> Result<Self, DesignError> {
        let (rig, training) = (known.rig, known.training);
        let of_weights = |weights| maps::from_weights(rig.skeleton(), rig.mesh(), weights, MapSettings::default());
        let maps = match rig.influence_maps() {
            Some(own) => Some(own.clone()),
            None => known.weights.map(of_weights).transpose().map_err(DesignError::Maps)?,
        };
        let relevance = |v: usize| -> Vec<(usize, f64)> {
            let joints = training.joints.iter().enumerate();
            let Some(maps) = &maps else { return joints.map(|(j, _)| (j, 1.0)).collect() };
            let square = |bone: BoneIndex| maps.value(v, bone).powi(2);
            let all = joints.map(|(j, &(parent, bone))| (j, square(parent).max(square(bone))));
            all.filter(|(_, b)| *b > 0.0).collect()
        };
        Ok(Self {
            bones: rig.skeleton().bones().map(|bone| rig.skeleton().names()[bone].clone()).collect(),
            names: training.joints.iter().map(|&(_, bone)| rig.skeleton().names()[bone].clone()).collect(),
            relevance: (0..rig.mesh().positions.len()).into_par_iter().map(relevance).collect(),
            area: areas(rig),
        })
    }

    /// Returns places of equal share along the vertex order, which runs over a mesh piece by piece.
    pub fn places(&self, known: &Known<'_>, kernels: &Kernels, trained: usize) -> Vec<Place> {
        let corrected = self.corrected(known, kernels, trained);
        let mass: Vec<f64> = self.area.iter().zip(&corrected).map(|(area, s2)| area * s2).collect();
        let whole: f64 = mass.iter().sum();
        let (mut places, mut sum) = (Vec::with_capacity(PLACES), 0.0);
        for (v, m) in mass.iter().enumerate() {
            sum += m;
            while places.len() < PLACES && sum * PLACES as f64 > (places.len() as f64 + 0.5) * whole {
                let bone = known.weights.and_then(|weights| weights.dominant(v));
                let (joints, mass) = (self.relevance[v].clone(), whole / PLACES as f64);
                places.push(Place { vertex: v, bone, joints, mass });
            }
        }
        places
    }

    /// Returns s² of every vertex over its average.
    fn corrected(&self, known: &Known<'_>, kernels: &Kernels, trained: usize) -> Vec<f64> {
        let radii = known.radii;
        if radii.len() != self.relevance.len() || radii.iter().all(|r| *r <= 0.0) {
            return vec![1.0; self.relevance.len()];
        }
        let prior = |(v, row): (usize, &Vec<(usize, f64)>)| {
            let of = |s: usize| row.iter().map(|&(j, b)| b * kernels.at(j, s, s)).sum::<f64>();
            (0..trained).filter(|&s| known.shows(s, v)).map(of).fold(0.0, f64::max)
        };
        let seen: Vec<f64> = self.relevance.par_iter().enumerate().map(prior).collect();
        let asked: Vec<f64> = radii.iter().map(|&r| (f64::from(r) / BALL_FACTOR).powi(2)).collect();
        let all = seen.iter().sum::<f64>();
        if all <= 0.0 {
            return vec![1.0; self.relevance.len()];
        }
        let average = asked.iter().sum::<f64>() / all;
        asked.iter().zip(&seen).map(|(c2, q)| (PRIOR + c2 / average) / (PRIOR + q)).collect()
    }

    /// Returns the joints [`NEW`] degrees or more from all that is known, in order of degrees times the skin they move.
    pub fn new_joints(&self, far: &[f64]) -> Vec<usize> {
        let mut new: Vec<(usize, f64)> =
            (0..far.len()).filter(|&j| far[j] >= NEW).map(|j| (j, far[j] * self.share(&[j]))).collect();
        new.sort_by(|a, b| b.1.total_cmp(&a.1));
        new.into_iter().map(|(j, _)| j).collect()
    }

    /// Returns the share of the area that at least one of `joints` moves.
    pub fn share(&self, joints: &[usize]) -> f64 {
        let moved = |row: &Vec<(usize, f64)>| {
            row.iter().filter(|(j, _)| joints.contains(j)).map(|(_, b)| *b).fold(0.0, f64::max)
        };
        self.relevance.iter().zip(&self.area).map(|(row, area)| area * moved(row)).sum()
    }
}

/// Returns the area of every vertex in parts of the whole: a third of each of its triangles, or equal parts without
/// triangles.
fn areas(rig: &Rig) -> Vec<f64> {
    let area = vertex_areas(&rig.mesh().positions, &rig.mesh().triangles);
    let whole: f64 = area.iter().sum();
    match whole > 0.0 && whole.is_finite() {
        true => area.iter().map(|a| a / whole).collect(),
        false => vec![1.0 / area.len() as f64; area.len()],
    }
}
