//! Forward and inverse kinematics of an arm of two bones and a hand.

use crate::FigureError;
use crate::limb::chain;
use dermis_motion::ik::{Goal, Solver};
use dermis_report::figures::{CaptionedDrawing, Drawing, Exhibit, Figure, Measured, Verdict};
use dermis_report::svg::{SvgWindow, outline};
use dermis_rig::BoneIndex;
use dermis_rig::glam::{DVec2, DVec3};

/// Returns the figure.
///
/// # Errors
/// [`FigureError`].
pub(super) fn figure() -> Result<Figure, FigureError> {
    // Upper arm 1, forearm 0.8, then the hand.
    let skeleton = chain(&[0.0, 1.0, 1.8])?;
    let solver = Solver::new(&skeleton);
    let bone = BoneIndex::new;
    let reach = |target: DVec3| {
        let goal = Goal::point(bone(0), bone(2), target).with_pole(bone(1), DVec3::new(0.0, -3.0, 0.0));
        solver.solve(&solver.rest(), &[goal]).map_err(FigureError::of("inverse kinematics"))
    };
    let joints = |target: DVec3| -> Result<[DVec3; 3], FigureError> {
        let world = reach(target)?.world();
        Ok([0, 1, 2].map(|b| world.bones[bone(b)].translation))
    };
    let (mut miss, mut elbow) = (0.0f64, 0.0f64);
    let mut shown = Vec::new();
    for i in 0..24 {
        let angle = f64::from(i) * 0.26;
        let far = 0.35 + 1.4 * f64::from(i % 8) / 8.0;
        let target = DVec3::new(far * angle.cos(), far * angle.sin(), 0.0);
        let [_, e, hand] = joints(target)?;
        miss = miss.max(hand.distance(target) / 1.8);
        // Cosine rule: the angle between the bones at the elbow.
        let cos = (1.0 + 0.64 - target.length_squared()) / 1.6;
        let found = (-e).angle_between(hand - e);
        elbow = elbow.max((found - cos.clamp(-1.0, 1.0).acos()).abs().to_degrees());
        if i % 6 == 1 {
            shown.push(([DVec3::ZERO, e, hand], target));
        }
    }
    let far = DVec3::new(2.4, 0.9, 0.0);
    let [_, _, hand] = joints(far)?;
    let left = hand.distance(far) - (far.length() - 1.8);
    shown.push((joints(far)?, far));
    let window = SvgWindow::around([DVec2::splat(-2.0), DVec2::new(2.5, 2.0)].into_iter(), 0.02);
    let drawing = |([a, e, h], target): &([DVec3; 3], DVec3)| {
        let ring: Vec<DVec3> = (0..24)
            .map(|k| {
                let (sin, cos) = (std::f64::consts::TAU * f64::from(k) / 24.0).sin_cos();
                *target + 0.07 * DVec3::new(cos, sin, 0.0)
            })
            .collect();
        CaptionedDrawing {
            drawing: Drawing::Svg(outline(window, "an arm and its target", &ring, &ring, &[*a, *e, *h])),
            caption: format!("target ({:.2}, {:.2})", target.x, target.y),
            legend: vec![],
        }
    };
    Ok(Figure {
        name: "Forward and inverse kinematics".into(),
        title: "from angles to the hand, and back".into(),
        paper: "Forward kinematics multiplies transforms from parent to child. Inverse kinematics finds angles that bring the hand to a target; of two bones \
                there is a closed form, and a pole says where the elbow goes."
            .into(),
        ours: "Bones of 1 and 0.8, the elbow downwards. The angles of the answer go back through forward kinematics. Of 24 targets within reach some are shown, \
               and one beyond it, to which the arm stretches."
            .into(),
        outcome: Verdict::Reproduced,
        measured: vec![
            Measured::claimed("largest miss by forward kinematics of the answer, in lengths of the arm", format!("{miss:.1e}"), "0", miss < 1e-6),
            Measured::claimed("largest error of the elbow against the cosine rule, degrees", format!("{elbow:.1e}"), "0", elbow < 1e-3),
            Measured::claimed("beyond reach: distance left against what lengths leave", format!("{left:.1e}"), "0", left.abs() < 1e-6),
        ],
        exhibits: vec![Exhibit::Drawings(shown.iter().map(drawing).collect())],
    })
}
