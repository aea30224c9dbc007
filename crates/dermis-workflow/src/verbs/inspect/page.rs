//! What the page of `inspect --report` shows, from what was found.

use super::Looked;
use super::objects::objects;
use super::rig::origin;
use crate::joint_limits::{JointEntry, LimitsFile};
use crate::report::inspect_page::{InspectPage, InspectedJoint};
use crate::report::page::{FileStamp, Page, Provenance, RigArc};
use crate::report::unit_of;
use dermis_motion::anatomy::Anatomy;
use dermis_motion::ik::JointLimits;
use dermis_rig::Skeleton;
use dermis_rig::glam::{DAffine3, DVec3};

impl Looked {
    /// Returns the page of the rig, or `None` for a file without a mesh.
    pub(crate) fn page(&self, command: Option<String>, files: Vec<FileStamp>) -> Option<Page> {
        let (found, mesh, contents) = (self.rig.as_ref()?, self.contents.mesh.as_ref()?, &self.contents);
        let skeleton = contents.skeleton.as_ref();
        let page = InspectPage {
            name: &contents.name,
            subtitle: format!("{}, unit {}", contents.format, contents.space.unit),
            mesh,
            objects: objects(mesh),
            skeleton,
            weights: contents.weights.as_ref(),
            maps: contents.influence_maps.as_ref(),
            islands: &found.islands,
            symmetry: found.symmetry.as_ref(),
            shares: &found.shares,
            joints: skeleton.zip(found.anatomy.as_ref()).map(joints).unwrap_or_default(),
            warnings: contents.warnings.iter().map(|w| format!("{}: {}", w.count, w.flaw)).collect(),
            unit: unit_of(&contents.space),
            provenance: Provenance { program: crate::PROGRAM.into(), date: None, command, files },
        };
        Some(page.page())
    }
}

/// How far the joint of every bone turns.
fn joints((skeleton, anatomy): (&Skeleton, &Anatomy)) -> Vec<InspectedJoint> {
    let limits = LimitsFile::of(anatomy, skeleton);
    let joint = |bone| InspectedJoint {
        limits: limits.joints.get(&skeleton.names()[bone]).map(words).unwrap_or_default(),
        from: origin(anatomy.from[bone]),
        arcs: arcs(&anatomy.limits[bone], &skeleton.bind()[bone]),
    };
    skeleton.bones().map(joint).collect()
}

/// A direction of the bone's own frame in the world, a unit vector.
fn turned(bind: &DAffine3, direction: DVec3) -> DVec3 {
    bind.transform_vector3(direction).normalize_or_zero()
}

/// The limits as arcs: bending and leaning carry the bone's axis along, twist carries its side.
fn arcs(limits: &JointLimits, bind: &DAffine3) -> Vec<RigArc> {
    let arc = |name: &str, about: DVec3, zero: DVec3, range: [f64; 2]| RigArc {
        name: name.into(),
        about: turned(bind, about).to_array().map(|x| x as f32),
        zero: turned(bind, zero).to_array().map(|x| x as f32),
        range: range.map(|x| x.to_degrees() as f32),
    };
    match limits {
        JointLimits::Free | JointLimits::Locked => vec![],
        JointLimits::Hinge(hinge) => {
            vec![arc("turn", hinge.axis(), hinge.axis().any_orthonormal_vector(), hinge.range())]
        }
        JointLimits::Cone(cone) => {
            let (axis, side) = (cone.axis(), cone.side());
            let [bend, lean] = cone.swing();
            vec![
                arc("bend", side, axis, bend),
                arc("lean", axis.cross(side), axis, lean),
                arc("twist", axis, side, cone.twist()),
            ]
        }
    }
}

/// The limits of a joint in words.
fn words(entry: &JointEntry) -> String {
    if entry.locked == Some(true) {
        return "locked".into();
    }
    if entry.cone == Some(180.0) {
        return "free".into();
    }
    let ranges = [("turn", entry.range), ("bend", entry.bend), ("lean", entry.lean), ("twist", entry.twist)];
    let named = ranges.into_iter().filter_map(|(name, range)| range.map(|[from, to]| (name, from, to)));
    named
        .map(|(name, from, to)| format!("{name} {from:.0}° to {to:.0}°"))
        .collect::<Vec<_>>()
        .join(", ")
        .replace('-', "−")
}
