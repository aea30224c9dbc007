//! A skeleton embedded in the character's mesh, beside the artist's.

use crate::rig_view::rig_view;
use crate::{Character, FigureError};
use dermis_autorig::{AutoRig, AutoRigError, AutoRigSettings, Template, autorig};
use dermis_fit::Progress;
use dermis_report::figures::{Exhibit, Figure, Measured, RigIn3d, RigPaint, Verdict};
use dermis_report::page::{PageTable, Quantity};
use dermis_rig::glam::DVec3;
use dermis_rig::{Influences, Mesh};

/// The template that is embedded.
const TEMPLATE: &str = "biped";

/// Joints whose places make up the length of the limb that a joint belongs to, and words of the joints that it has.
const LIMBS: [(&[&str], &[&str]); 3] = [
    (&["upperarm_l", "lowerarm_l", "hand_l"], &["arm", "hand", "clavicle"]),
    (&["thigh_l", "calf_l", "foot_l"], &["thigh", "calf", "foot", "ball"]),
    (&["pelvis", "head"], &[""]),
];

/// How far a joint may be from the artist's, in its limb: a wrong joint, or a left taken for a right, is off by three tenths.
const NEAR: f64 = 0.15;

/// Returns the figure. A character that the template does not fit has none.
///
/// # Errors
/// [`FigureError`]: cancelled.
pub(super) fn figure(character: &Character, progress: Progress<'_>) -> Result<Figure, FigureError> {
    let (mesh, skeleton) = (character.rig().mesh(), character.rig().skeleton());
    let artist: Vec<(String, DVec3)> =
        skeleton.bones().map(|bone| (skeleton.names()[bone].clone(), skeleton.bind()[bone].translation)).collect();
    let template = Template::named(TEMPLATE)
        .ok_or_else(|| FigureError::Made { what: "template", why: format!("there is no {TEMPLATE}") })?;
    match autorig(mesh, &template, &AutoRigSettings::default(), progress) {
        Ok(found) => Ok(told(mesh, &found, &artist)),
        Err(AutoRigError::Cancelled) => Err(FigureError::Cancelled),
        Err(error) => Ok(Figure { outcome: Verdict::NotShown(error.to_string()), ..begun() }),
    }
}

/// The figure without what was found.
fn begun() -> Figure {
    Figure {
        name: "Skeleton embedding".into(),
        title: "a template finds its place in a mesh".into(),
        paper: "A template skeleton is embedded in a character: spheres packed along the medial surface make a graph, a search over it places the joints, and a \
                descent refines them."
            .into(),
        ..Figure::default()
    }
}

/// Distances from an artist's joints of the same names, each over the length of its limb, worst first.
fn errors(found: &AutoRig, artist: &[(String, DVec3)]) -> Vec<(String, f64)> {
    let place = |name: &str| artist.iter().find(|(joint, _)| joint == name).map(|(_, p)| *p);
    let length = |names: &[&str]| -> f64 {
        names.windows(2).filter_map(|pair| Some(place(pair[0])?.distance(place(pair[1])?))).sum()
    };
    let limb = |joint: &str| {
        let own = LIMBS.iter().find(|(_, words)| words.iter().any(|word| joint.contains(word)));
        own.map_or(0.0, |(names, _)| length(names))
    };
    let mut errors: Vec<(String, f64)> = found
        .joints
        .iter()
        .filter_map(|joint| Some((joint, place(&joint.name)?, limb(&joint.name))))
        .filter(|(.., limb)| *limb > 0.0)
        .map(|(joint, p, limb)| (joint.name.clone(), joint.place.distance(p) / limb))
        .collect();
    errors.sort_by(|a, b| b.1.total_cmp(&a.1));
    errors
}

fn told(mesh: &Mesh, found: &AutoRig, artist: &[(String, DVec3)]) -> Figure {
    let errors = errors(found, artist);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let sum = |row: &[(dermis_rig::BoneIndex, f64)]| (row.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs();
    let off = found.weights.rows().map(sum).fold(0.0, f64::max);
    let outside = found.report.outside.as_ref().map_or(0.0, |(_, share)| *share);
    let mut measured = vec![
        Measured::plain("balls along the medial surface", found.report.balls.to_string()),
        Measured::claimed(
            "farthest point of a bone outside the mesh, of its largest side",
            percent(outside),
            "bones lie inside",
            outside < 0.02,
        ),
        Measured::claimed("largest distance of a vertex's weights from sum one", format!("{off:.1e}"), "0", off < 1e-9),
    ];
    let outcome = match errors.first() {
        None => Verdict::Differs(
            "the character names its joints otherwise, so that no distance to the artist's is known".into(),
        ),
        Some((name, worst)) => {
            let mean = errors.iter().map(|(_, error)| error).sum::<f64>() / errors.len() as f64;
            measured.push(Measured::plain(
                format!("distance from the artist's joint, of its limb: mean of {} joints", errors.len()),
                percent(mean),
            ));
            measured.push(Measured::claimed(
                format!("the same at the worst joint, {name}"),
                percent(*worst),
                format!("every joint is found: below {:.0} %", 100.0 * NEAR),
                *worst < NEAR,
            ));
            Verdict::Reproduced
        }
    };
    let mut exhibits = vec![Exhibit::Rig(Box::new(RigIn3d {
        caption: "The skeleton that was found in the bare mesh, and its weights by bone heat.".into(),
        paint: RigPaint::Weights,
        bone: None,
        view: rig_view(mesh, &found.skeleton, &found.weights, &Influences::default()),
    }))];
    if !errors.is_empty() {
        exhibits.push(Exhibit::Table(PageTable {
            title: "Distance from the artist's joint, of its limb".into(),
            columns: vec!["joint".into(), "distance".into()],
            rows: errors
                .iter()
                .map(|(name, error)| vec![Quantity::Text(name.clone()), Quantity::Share(*error as f32)])
                .collect(),
            ..PageTable::default()
        }));
    }
    Figure {
        ours: format!(
            "The character's mesh alone, without its skeleton: {} triangles become {} joints (dermis rig MESH). Limbs are arm, leg, and the spine with \
             the head. A straight arm or leg shows no elbow or knee on its surface; the template divides it.",
            mesh.triangles.len(),
            found.joints.len()
        ),
        outcome,
        measured,
        exhibits,
        ..begun()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_fit::silent;
    use dermis_testkit::bodies::biped;

    /// Oracle: the joints that a body of capsules was made around.
    #[test]
    fn planted_joints_are_found_and_a_wrong_artist_is_noticed() {
        let planted = biped(45.0, 0.8, 1.3, 1.0);
        let template = Template::named(TEMPLATE).unwrap();
        let found = autorig(&planted.mesh, &template, &AutoRigSettings::default(), &silent).unwrap();
        let errors_of = |joints: &[(String, DVec3)]| errors(&found, joints);
        let of_planted = errors_of(&planted.joints);
        // The trunk's joints are left out: the body has no pelvis, and so no length of the trunk.
        assert!(of_planted.len() >= 12, "{of_planted:?}");
        let mean = of_planted.iter().map(|(_, error)| error).sum::<f64>() / of_planted.len() as f64;
        // A shoulder of a capsule shows no joint; the mean of all is a tenth of a limb at most.
        assert!(mean < 0.1, "{of_planted:?}");
        // Left for right: joints are off by the width of the body.
        let swapped: Vec<(String, DVec3)> =
            planted.joints.iter().map(|(name, p)| (name.clone(), *p * DVec3::new(-1.0, 1.0, 1.0))).collect();
        assert!(errors_of(&swapped)[0].1 > NEAR);
        assert!(errors_of(&[]).is_empty());
    }
}
