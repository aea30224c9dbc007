//! The page of a rigged mesh: where the joints are, and how sure each is.

use super::rig::{RigOutcome, UNSURE};
use dermis_report::svg::{DrawnJoint, skeleton, still_page};
use dermis_rig::Rig;
use dermis_rig::glam::DVec3;
use std::fmt::Write;

/// Returns the page as HTML. `rig` has the mesh and the skeleton.
pub fn page(outcome: &RigOutcome, rig: &Rig) -> String {
    let made = &outcome.made;
    let bones = rig.skeleton();
    let joints: Vec<DrawnJoint> = made
        .joints
        .iter()
        .zip(bones.bones())
        .map(|(joint, bone)| DrawnJoint {
            name: bones.names()[bone].clone(),
            place: joint.place,
            parent: bones.parents()[bone].map(dermis_rig::BoneIndex::get),
            end: joint.end,
            confidence: joint.confidence,
        })
        .collect();
    let front = made.report.front.try_normalize().unwrap_or(DVec3::Z);
    let up = made.report.up.try_normalize().unwrap_or(DVec3::Y);
    let side = up.cross(front).normalize_or(DVec3::X);
    let mesh = rig.mesh();
    // Both views at one height, whatever their widths.
    let draw = |label: &str, right: DVec3| {
        skeleton(label, &mesh.positions, &mesh.triangles, &joints, right, up).replacen(
            "<svg ",
            "<svg style=\"height:600px;width:auto;max-width:100%\" ",
            1,
        )
    };
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let mut body = format!("<h1>{}: {} bones</h1>\n", escaped(rig.name()), joints.len());
    let unsure = outcome.unsure();
    let advice = match unsure[..] {
        [] => "Every joint is sure: the best embeddings agree on it.".to_owned(),
        _ => format!(
            "Look at these joints first: {}. Correct their places in the file of --write-joints and name it with --joints; the others are solved for again.",
            escaped(&unsure.join(", "))
        ),
    };
    let _ = writeln!(body, "<p>{advice}</p>");
    let _ = writeln!(
        body,
        "<div style=\"display:flex;gap:24px;flex-wrap:wrap\"><figure style=\"margin:0\">{}<figcaption>from the front</figcaption></figure>\
         <figure style=\"margin:0\">{}<figcaption>from its left</figcaption></figure></div>",
        draw("front", side),
        draw("side", -front)
    );
    body += "<table><thead><tr><th>joint</th><th>sure</th><th>moves between the best embeddings by</th><th></th></tr></thead><tbody>\n";
    for (joint, drawn) in made.joints.iter().zip(&joints) {
        let mark = match (joint.is_pinned, joint.confidence < UNSURE) {
            (true, _) => "pinned",
            (false, true) => "look here",
            _ => "",
        };
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{:.0} %</td><td>{:.1} % of the size</td><td>{mark}</td></tr>",
            escaped(&drawn.name),
            100.0 * joint.confidence,
            100.0 * joint.spread
        );
    }
    body += "</tbody></table>\n";
    still_page(&escaped(rig.name()), &body)
}
