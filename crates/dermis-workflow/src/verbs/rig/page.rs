//! What the page of a rigged mesh shows, from the outcome.

use super::RigOutcome;
use super::walk::RigMotion;
use crate::error::Error;
use crate::report::rig_page::{RigPage, RigPageFeet, RigPageJoint};
use crate::report::svg::DrawnJoint;
use crate::report::unit_of;
use crate::report::viewer::ViewerFrame;
use dermis_autorig::Verdict;
use dermis_io::gltf::{GlbScene, MorphNormals, write_glb};
use dermis_io::to_bytes;
use dermis_rig::{BoneIndex, Rig};

/// Returns the page as HTML. `rig` has the mesh and the skeleton.
///
/// # Errors
/// [`Error`] if the rig cannot be written as a GLB.
pub fn page(outcome: &RigOutcome, rig: &Rig, moved: &RigMotion) -> Result<String, Error> {
    let clip = crate::skins::clip(&moved.motion, vec![]);
    let frame = |(frame, time): (&dermis_rig::Frame, &f64)| ViewerFrame {
        label: frame.label.clone(),
        time: *time,
        target: vec![],
    };
    let frames = moved.motion.frames.iter().zip(&clip.times).map(frame).collect();
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(moved.rig.mesh()),
        skeleton: Some(moved.rig.skeleton()),
        weights: moved.rig.weights(),
        morph_normals: MorphNormals::LeftOut,
        clips: &[clip],
        ..GlbScene::default()
    };
    let glb = to_bytes(|out| write_glb(&scene, out)).map_err(|e| Error::Internal(e.to_string()))?;
    let (made, bones) = (&outcome.made, rig.skeleton());
    let joints = made.joints.iter().zip(&outcome.names).zip(bones.bones()).map(|((joint, name), bone)| RigPageJoint {
        drawn: DrawnJoint {
            name: name.clone(),
            place: joint.place,
            parent: bones.parents()[bone].map(BoneIndex::get),
            end: joint.end,
            grade: match joint.verdict {
                Verdict::Pinned | Verdict::Sure => 1.0,
                Verdict::Likely | Verdict::Uncalibrated => 0.5,
                Verdict::Unsure => 0.0,
            },
            note: joint.verdict.word().into(),
        },
        confidence: joint.confidence,
        spread: joint.spread,
        is_sure: joint.is_sure(),
        is_unsure: joint.verdict == Verdict::Unsure,
    });
    let page = RigPage {
        rig,
        joints: joints.collect(),
        facing: [made.report.front, made.report.up],
        glb,
        frames,
        ground: moved.rig.mesh().positions.iter().map(|p| p.y).fold(f64::INFINITY, f64::min),
        motion: moved.source.words(),
        feet: moved.feet.as_ref().map(|feet| RigPageFeet {
            contacts: feet.contacts,
            slide: feet.slide,
            source_slide: feet.source_slide,
            sunk: feet.sunk,
            lifted: feet.lifted,
            leg: feet.leg,
        }),
        refusal: moved.refusal.as_deref(),
        unit: unit_of(&outcome.space),
    };
    Ok(page.to_html())
}
