//! What is seen of a rig before anything is learnt, as values: islands and seams, left and right, what every bone holds and how far it
//! turns.

use crate::joint_limits::LimitsFile;
use dermis_io::Contents;
use dermis_measure::rig_check::{BoneShare, Islands, Symmetry};
use dermis_motion::anatomy::{Anatomy, LimitFrom};
use dermis_rig::{BoneIndex, Influences, Skeleton};
use serde_json::{Value, json};

/// Components that the JSON lists by their sizes.
const LISTED: usize = 20;

/// What was found out about the rig of a file.
pub(crate) struct RigFound {
    pub(crate) islands: Islands,
    /// `None` without weights, or without a mirror plane.
    pub(crate) symmetry: Option<Symmetry>,
    /// What each bone holds; empty without weights.
    pub(crate) shares: Vec<BoneShare>,
    /// How far joints turn, by anatomy; `None` without bones.
    pub(crate) anatomy: Option<Anatomy>,
}

impl RigFound {
    /// Returns what is found, or `None` without a mesh.
    pub(crate) fn of(contents: &Contents) -> Option<Self> {
        let mesh = contents.mesh.as_ref()?;
        let skeleton = contents.skeleton.as_ref();
        let weights = contents.weights.as_ref().filter(|weights| weights.vertices() == mesh.positions.len());
        let both = skeleton.zip(weights);
        Some(Self {
            islands: Islands::of(mesh),
            symmetry: both.and_then(|(skeleton, weights)| Symmetry::of(&mesh.positions, skeleton, weights)),
            shares: both.map(|(skeleton, weights)| BoneShare::of(weights, skeleton.len())).unwrap_or_default(),
            anatomy: skeleton.map(|skeleton| {
                let moving = moving(skeleton, weights);
                Anatomy::new(skeleton, |bone| moving[bone.get()])
            }),
        })
    }

    /// As JSON.
    pub(super) fn json(&self, contents: &Contents) -> Value {
        let islands = &self.islands;
        let skeleton = contents.skeleton.as_ref();
        let name = |bone: BoneIndex| skeleton.map(|s| s.names()[bone].clone());
        json!({
            "islands": {
                "count": islands.sizes.len(),
                "vertices": islands.sizes.iter().take(LISTED).collect::<Vec<_>>(),
                "loose_vertices": islands.loose,
                "seam_edges": islands.seams.len(),
                "border_edges": islands.borders.len(),
                "crowded_edges": islands.crowded.len(),
            },
            "symmetry": self.symmetry.as_ref().map(|found| json!({
                "normal": found.mirror.normal.to_array(),
                "plane": found.mirror.plane,
                "unpaired_vertices": found.unpaired.len(),
                "unpaired_bones": found.unpaired_bones.iter().map(|bone| name(*bone)).collect::<Vec<_>>(),
                "asymmetry": { "mean": found.mean(), "max": found.largest(), "vertex": found.worst },
            })),
            "bones": skeleton.map(|skeleton| self.bones(skeleton)),
        })
    }

    fn bones(&self, skeleton: &Skeleton) -> Vec<Value> {
        let limits = self.anatomy.as_ref().map(|anatomy| LimitsFile::of(anatomy, skeleton));
        let names = skeleton.names();
        let bone = |bone: BoneIndex| {
            let share = self.shares.get(bone.get());
            json!({
                "name": names[bone],
                "parent": skeleton.parents()[bone].map(|parent| names[parent].clone()),
                "vertices": share.map(|share| share.vertices),
                "dominates": share.map(|share| share.dominates),
                "largest_weight": share.map(|share| share.largest),
                "partner": self.symmetry.as_ref().map(|found| names[found.mirror.bones[bone.get()]].clone()),
                "limits": limits.as_ref().and_then(|limits| limits.joints.get(&names[bone])),
                "limits_from": self.anatomy.as_ref().map(|anatomy| origin(anatomy.from[bone])),
            })
        };
        skeleton.bones().map(bone).collect()
    }
}

/// Where a limit comes from, in words.
pub(crate) fn origin(from: LimitFrom) -> &'static str {
    match from {
        LimitFrom::Anatomy => "anatomy",
        LimitFrom::Unknown => "part of the body not known",
        LimitFrom::Still => "stays",
        LimitFrom::Given => "given",
    }
}

/// Which bones move some of the skin and not all of it, by themselves or through bones below: one that carries all moves the character as a
/// whole. Of a rig without weights all bones do.
pub(crate) fn moving(skeleton: &Skeleton, weights: Option<&Influences>) -> Vec<bool> {
    let Some(weights) = weights else { return vec![true; skeleton.len()] };
    let mut carried = vec![0.0; skeleton.len()];
    for (bone, weight) in weights.rows().flatten() {
        carried[bone.get()] += *weight;
    }
    let all: f64 = carried.iter().sum();
    for bone in skeleton.bones().rev() {
        if let Some(parent) = skeleton.parents()[bone] {
            carried[parent.get()] += carried[bone.get()];
        }
    }
    carried.iter().map(|skin| *skin > 0.0 && *skin < (1.0 - 1e-9) * all).collect()
}
