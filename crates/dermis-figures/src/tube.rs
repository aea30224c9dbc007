//! The tube of the two classical artefacts as a rig, with the shape wanted in closed form.

use crate::FigureError;
use dermis_measure::{Movement, Tube, ring_radius_ratio, volume};
use dermis_report::page::LengthUnit;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, Example, ExampleSet, Influences, Rig, Skeleton};

/// Two units long, weights over the 0.6 about the joint in the middle.
const TUBE: Tube = Tube { radius: 0.25, length: 2.0, rings: 49, segments: 24, half_width: 0.3 };

/// A unit of the tube, a bone's length, as its hundredths.
pub(crate) fn percent_of_a_bone() -> LengthUnit {
    LengthUnit { name: "% of a bone".into(), scale: 100.0 }
}

/// A [`Tube`] of two bones that bends or twists.
///
/// The shape wanted at an angle θ turns every cross-section by θ w about the joint, w its weight on the outer bone:
/// X(p) = R(θ w) p with the joint as origin. Cross-sections stay round and as large as they are.
pub(crate) struct WantedTube {
    rig: Rig,
    tube: Tube,
}

impl WantedTube {
    /// Makes a tube of 49 rings of 24 vertices.
    ///
    /// # Errors
    /// As [`sized`](Self::sized).
    pub(crate) fn new() -> Result<Self, FigureError> {
        Self::sized(TUBE.rings, TUBE.segments)
    }

    /// Makes a tube of so many rings and vertices of a ring.
    ///
    /// # Errors
    /// [`FigureError::Tube`] for fewer than 2 rings or 3 vertices of a ring.
    pub(crate) fn sized(rings: usize, segments: usize) -> Result<Self, FigureError> {
        let tube = Tube { rings, segments, ..TUBE };
        let mesh = tube.mesh()?;
        let weights: Influences = tube.weights(&mesh.positions)?;
        let bind = tube.joints().iter().map(|&head| DAffine3::from_translation(head)).collect();
        let root = BoneIndex::new(0);
        let skeleton = Skeleton::new(vec!["inner".into(), "outer".into()], vec![None, Some(root)], bind)?;
        Ok(Self { rig: Rig::new(mesh, skeleton, Some(weights))?.named("tube"), tube })
    }

    /// The tube as a rig.
    pub(crate) fn rig(&self) -> &Rig {
        &self.rig
    }

    /// Returns the shape wanted at an angle, degrees.
    pub(crate) fn wanted(&self, movement: Movement, degrees: f64) -> Vec<DVec3> {
        let turned = |p: &DVec3| {
            let w = ((p.x - 0.5 * TUBE.length + TUBE.half_width) / (2.0 * TUBE.half_width)).clamp(0.0, 1.0);
            let of_outer = TUBE.transforms(movement, (w * degrees).to_radians());
            of_outer[BoneIndex::new(1)].transform_point3(*p)
        };
        self.rig.mesh().positions.iter().map(turned).collect()
    }

    /// Returns examples of the shape wanted at angles, degrees.
    ///
    /// # Errors
    /// None is expected: the examples are of the rig.
    pub(crate) fn examples(&self, movement: Movement, degrees: &[f64]) -> Result<ExampleSet, FigureError> {
        let example = |&degrees: &f64| Example {
            label: format!("{degrees}°"),
            time: None,
            transforms: TUBE.transforms(movement, degrees.to_radians()),
            positions: self.wanted(movement, degrees),
            importance: 1.0,
            local: None,
        };
        Ok(ExampleSet::new("tube".into(), degrees.iter().map(example).collect(), &self.rig)?)
    }

    /// Returns, for every ring, its place along the tube from the joint, and its smallest radius in a skin over that at rest.
    pub(crate) fn radii(&self, skin: &[DVec3]) -> Vec<[f64; 2]> {
        let rest = &self.rig.mesh().positions;
        let ring = |ring: usize| {
            let vertices = self.tube.ring(ring);
            let x = rest[vertices.start].x - 0.5 * TUBE.length;
            [x, ring_radius_ratio(vertices, rest, skin).unwrap_or(f64::NAN)]
        };
        (0..self.tube.rings).map(ring).collect()
    }

    /// Returns the smallest radius of any ring over that at rest.
    pub(crate) fn smallest_radius(&self, skin: &[DVec3]) -> f64 {
        self.radii(skin).iter().map(|r| r[1]).fold(f64::INFINITY, f64::min)
    }

    /// Returns the volume of a skin over that at rest.
    pub(crate) fn volume_ratio(&self, skin: &[DVec3]) -> f64 {
        let mesh = self.rig.mesh();
        volume(&mesh.triangles, skin) / volume(&mesh.triangles, &mesh.positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_wanted_stays_round_and_joins_both_bones() {
        let tube = WantedTube::new().unwrap();
        let rest = &tube.rig().mesh().positions;
        for movement in [Movement::Bend, Movement::Twist] {
            let wanted = tube.wanted(movement, 130.0);
            for [_, ratio] in tube.radii(&wanted) {
                assert!((ratio - 1.0).abs() < 1e-12, "{movement:?}: {ratio}");
            }
            let outer = TUBE.transforms(movement, 130f64.to_radians())[BoneIndex::new(1)];
            for (p, x) in rest.iter().zip(&wanted) {
                let bone = if p.x < 0.7 { *p } else { outer.transform_point3(*p) };
                assert!((0.7..=1.3).contains(&p.x) || x.distance(bone) < 1e-14);
            }
        }
    }
}
