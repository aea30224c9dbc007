//! Collapse, candy wrapper, bind pose.

use crate::limb::{TUBE, TubeRig, largest};
use crate::{Character, FigureError};
use dermis_deform::lbs;
use dermis_measure::Movement;
use dermis_report::figures::{CaptionedDrawing, Drawing, Exhibit, Figure, Measured, PictureView, Verdict};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneTransforms, Influences, WorldPose};

/// Returns the figures.
///
/// # Errors
/// [`FigureError`].
pub(super) fn figures(character: &Character) -> Result<Vec<Figure>, FigureError> {
    let mut figures = tube_figures()?;
    figures.push(bind_pose(character));
    Ok(figures)
}

/// The two artefacts.
///
/// # Errors
/// [`FigureError`].
pub(super) fn tube_figures() -> Result<Vec<Figure>, FigureError> {
    let tube = TubeRig::new()?;
    Ok(vec![
        artefact(&tube, Movement::Bend, [0.0, 60.0, 90.0, 120.0]),
        artefact(&tube, Movement::Twist, [0.0, 90.0, 135.0, 180.0]),
    ])
}

fn artefact(tube: &TubeRig, movement: Movement, angles: [f64; 4]) -> Figure {
    let skin = |degrees: f64| tube.smooth(&TUBE.transforms(movement, f64::to_radians(degrees)));
    let all: Vec<DVec3> = angles.iter().flat_map(|a| skin(*a)).collect();
    let (yaw, pitch) = if movement == Movement::Bend { (0.0, 0.1) } else { (0.2, 0.3) };
    let view = PictureView::around(&all, yaw, pitch, 320);
    let drawing = |degrees: &f64| {
        let skin = skin(*degrees);
        CaptionedDrawing {
            drawing: Drawing::Picture(tube.picture(&format!("{degrees}°"), view, &skin)),
            caption: format!("{degrees}°: radius {:.3}, volume {:.3}", tube.thinnest(&skin), tube.volume_kept(&skin)),
            legend: vec![],
        }
    };
    let measured = angles[1..].iter().map(|degrees| {
        let (thin, closed) = (tube.thinnest(&skin(*degrees)), (0.5 * degrees.to_radians()).cos().abs());
        Measured::claimed(
            format!("smallest radius at {degrees}°"),
            format!("{thin:.4}"),
            format!("|cos(a/2)| = {closed:.4}"),
            (thin - closed).abs() < 1e-9,
        )
    });
    let (name, title, paper) = match movement {
        Movement::Bend => (
            "Collapse at the elbow",
            "linear blending of a bend",
            "Averaging the two bones' positions pulls the skin at a bent joint towards \
            the bend: the elbow collapses.",
        ),
        Movement::Twist => (
            "Twist by 180°",
            "linear blending of a twist",
            "Halfway between a bone and one that is twisted by 180°, every vertex meets the vertex \
            opposite in the middle: the skin collapses to a point.",
        ),
    };
    Figure {
        name: name.into(),
        title: title.into(),
        paper: paper.into(),
        ours: "A tube of two bones with weights linear over the joint. dermis figures skinning shows what helps."
            .into(),
        outcome: Verdict::Reproduced,
        measured: measured.collect(),
        exhibits: vec![Exhibit::Drawings(angles.iter().map(drawing).collect())],
    }
}

/// M_k = T_k B_k⁻¹ is the identity at the bind pose, and the root's motion moves everything.
fn bind_pose(character: &Character) -> Figure {
    let rig = character.rig();
    let (skeleton, rest) = (rig.skeleton(), &rig.mesh().positions);
    let none = Influences::default();
    let weights = rig.weights().unwrap_or(&none);
    let skin = |pose: &BoneTransforms| {
        let mut out = vec![DVec3::ZERO; rest.len()];
        lbs(rest, weights, pose, &mut out);
        out
    };
    let bind = skeleton.bone_transforms(&WorldPose::new(skeleton.bind().to_vec()));
    let off = bind.as_slice().iter().map(|m| distance(m, &DAffine3::IDENTITY)).fold(0.0, f64::max);
    let at_rest = largest(&skin(&bind), rest) / rig.mesh().diagonal();
    let moved = DAffine3::from_translation(DVec3::new(1.0, 2.0, -0.5)) * DAffine3::from_rotation_y(0.8);
    let carried: Vec<DVec3> = rest.iter().map(|p| moved.transform_point3(*p)).collect();
    let root = largest(&skin(&bind.moved(moved)), &carried) / rig.mesh().diagonal();
    Figure {
        name: "Bind pose".into(),
        title: "T B⁻¹ is the identity".into(),
        paper: "A vertex is brought into the bone's frame at the bind pose and out of its frame in the pose: p' = Σ w T B⁻¹ p. At the bind pose nothing moves."
            .into(),
        ours: format!("\"{}\": {} bones, {} vertices.", rig.name(), skeleton.len(), rest.len()),
        outcome: Verdict::Reproduced,
        measured: vec![
            Measured::claimed("largest entry of T B⁻¹ − 1 at the bind pose", format!("{off:.1e}"), "0", off < 1e-9),
            Measured::claimed("largest movement of the skin, in diagonals", format!("{at_rest:.1e}"), "0", at_rest < 1e-9),
            Measured::claimed("skin against rest carried by the root's motion, in diagonals", format!("{root:.1e}"), "0", root < 1e-9),
        ],
        exhibits: vec![],
    }
}

fn distance(a: &DAffine3, b: &DAffine3) -> f64 {
    let entries = a.to_cols_array().into_iter().zip(b.to_cols_array());
    entries.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
