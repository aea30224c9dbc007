//! Figure 4: influence maps as pictures, of the lower arm and the lower leg before others.

use crate::rig_view::rig_view;
use crate::{Character, FigureError};
use dermis_motion::body::{Part, Recognised};
use dermis_report::figures::{
    Drawing, Exhibit, Figure, Measured, Panel, PanelColumn, PanelGrid, PanelRow, Picture, PictureView, RigIn3d,
    RigPaint, Verdict, influence_colour,
};
use dermis_rig::{BoneIndex, Influences, Skeleton};

/// A weight above this should have a map.
const NOTABLE: f64 = 0.01;

/// Bones shown.
const SHOWN: usize = 4;

/// The figure.
pub(super) fn figure(character: &Character) -> Result<Figure, FigureError> {
    let (rig, maps) = (character.rig(), character.maps()?);
    let mesh = rig.mesh();
    let weights = rig.weights().cloned().unwrap_or_default();
    let mass = |bone: BoneIndex| (0..maps.vertices()).map(|v| maps.value(v, bone)).sum::<f64>();
    let (shown, limbs) = chosen(rig.skeleton(), mass);
    let view = PictureView::around(&mesh.positions, 25.0, 8.0, 460);
    let picture = |of: &Influences, bone: BoneIndex, what: &str| {
        let colours: Vec<_> = (0..mesh.positions.len()).map(|v| influence_colour(of.value(v, bone))).collect();
        let label = format!("{what} of {}", rig.skeleton().names()[bone]);
        let reached = (0..of.vertices()).filter(|&v| of.value(v, bone) > 0.0).count();
        Panel {
            drawing: Drawing::Picture(Picture::of(&label, view, &mesh.positions, &mesh.triangles, &colours)),
            caption: format!("{reached} vertices"),
            best: false,
        }
    };
    let columns = shown.iter().map(|&b| PanelColumn { title: rig.skeleton().names()[b].clone(), mark: String::new() });
    let row = |name: &str, of: &Influences| PanelRow {
        name: name.into(),
        panels: shown.iter().map(|&bone| picture(of, bone, name)).collect(),
    };
    let in_3d = RigIn3d {
        caption:
            "Choose a bone in the list: its map is painted on the skin. Paint shows the skinning weights in its place."
                .into(),
        paint: RigPaint::Maps,
        bone: shown.first().map(|bone| bone.get() as u32),
        view: rig_view(mesh, rig.skeleton(), &weights, &maps),
    };
    let (notable, without) = without_map(&weights, &maps);
    let mean = maps.count() as f64 / maps.vertices().max(1) as f64;
    Ok(Figure {
        name: "Figure 4".into(),
        title: "influence maps".into(),
        paper: "An artist paints for every bone a map of the skin that it may influence. Bones whose map is zero at a vertex take no part in its \
                solution."
            .into(),
        ours: "Grey is 0, yellow 1. The maps are the ones that fits use: painted ones if the rig has them, otherwise the skinning weights spread \
               over two joints and smoothed over the surface (beneath them). Smoothing takes away a small weight that no neighbour shares."
            .into(),
        outcome: match (rig.influence_maps(), limbs) {
            (_, [false, _] | [_, false]) => Verdict::Differs(
                "the names of the character's bones do not say which are a lower arm and a lower leg; others are shown".into(),
            ),
            (Some(_), _) => Verdict::Reproduced,
            (None, _) => Verdict::Differs("the character has no painted maps; these are derived from its weights".into()),
        },
        measured: vec![
            Measured::claimed(
                "lower arm, lower leg",
                limbs.map(|there| if there { "shown" } else { "not shown" }).join(", "),
                "both are shown",
                limbs == [true, true],
            ),
            Measured::plain("bones per vertex: mean, most", format!("{mean:.1}, {}", maps.largest_count())),
            Measured::plain("bones of the rig", rig.skeleton().len().to_string()),
            Measured::plain(
                format!("weights above {NOTABLE} whose bone has no map at the vertex"),
                format!("{without} of {notable}"),
            ),
        ],
        exhibits: vec![
            Exhibit::Panels(PanelGrid {
                columns: columns.collect(),
                rows: vec![row("influence map", &maps), row("skinning weight", &weights)],
            }),
            Exhibit::Rig(Box::new(in_3d)),
        ],
    })
}

/// Bones to show: a lower arm and a lower leg of one side, then those that matter to the most skin, none next to another in the hierarchy. With
/// whether there are a lower arm and a lower leg.
fn chosen(skeleton: &Skeleton, mass: impl Fn(BoneIndex) -> f64) -> (Vec<BoneIndex>, [bool; 2]) {
    let roles = Recognised::new(skeleton).roles;
    let mut by_mass: Vec<(f64, BoneIndex)> = skeleton.bones().map(|bone| (mass(bone), bone)).collect();
    by_mass.retain(|(mass, _)| *mass > 0.0);
    by_mass.sort_by(|a, b| b.0.total_cmp(&a.0));
    let limb = |part: Part| by_mass.iter().find(|(_, bone)| roles[*bone].is_some_and(|role| role.part == part));
    let forearm = limb(Part::Forearm).map(|(_, bone)| *bone);
    let side = forearm.and_then(|bone| roles[bone]).map(|role| role.side);
    // Of two shins, the one on the side of the arm.
    let beside = by_mass
        .iter()
        .find(|(_, bone)| roles[*bone].is_some_and(|role| role.part == Part::Shin && Some(role.side) == side));
    let shin = beside.or(limb(Part::Shin)).map(|(_, bone)| *bone);
    let mut shown: Vec<BoneIndex> = forearm.into_iter().chain(shin).collect();
    let parents = skeleton.parents();
    for (_, bone) in by_mass {
        let near = |other: &BoneIndex| {
            parents[bone] == Some(*other) || parents[*other] == Some(bone) || parents[*other] == parents[bone]
        };
        if shown.len() < SHOWN && !shown.contains(&bone) && !shown.iter().any(near) {
            shown.push(bone);
        }
    }
    (shown, [forearm.is_some(), shin.is_some()])
}

/// Weights above [`NOTABLE`], and how many of their bones have no map at the vertex. Smoothing takes away a weight that the
/// neighbours do not share.
fn without_map(weights: &Influences, maps: &Influences) -> (usize, usize) {
    let (mut notable, mut without) = (0, 0);
    for (v, row) in weights.rows().enumerate() {
        for &(bone, _) in row.iter().filter(|(_, w)| *w > NOTABLE) {
            notable += 1;
            without += usize::from(maps.value(v, bone) == 0.0);
        }
    }
    (notable, without)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::{DAffine3, DVec3};

    fn skeleton(names: [&str; 9]) -> Skeleton {
        // Hips, back, then an arm and a leg of each side: the arm hangs on the back.
        let rows = [
            (None, [0.0, 1.0]),
            (Some(0), [0.0, 1.4]),
            (Some(1), [0.2, 1.4]),
            (Some(2), [0.5, 1.4]),
            (Some(1), [-0.2, 1.4]),
            (Some(4), [-0.5, 1.4]),
            (Some(0), [0.1, 0.9]),
            (Some(6), [0.1, 0.5]),
            (Some(0), [-0.1, 0.9]),
        ];
        let parents = rows.iter().map(|(parent, _)| parent.map(BoneIndex::new)).collect();
        let bind = rows.iter().map(|(_, [x, y])| DAffine3::from_translation(DVec3::new(*x, *y, 0.0))).collect();
        Skeleton::new(names.map(String::from).to_vec(), parents, bind).unwrap()
    }

    /// The lower arm and the lower leg come first, however little skin they have; a rig without such names says so.
    #[test]
    fn the_lower_arm_and_the_lower_leg_are_shown_first() {
        let words = [
            "pelvis",
            "spine_01",
            "upperarm_l",
            "lowerarm_l",
            "upperarm_r",
            "lowerarm_r",
            "thigh_l",
            "calf_l",
            "thigh_r",
        ];
        let own = skeleton(words);
        let light = |bone: BoneIndex| if [3, 5, 7].contains(&bone.get()) { 0.1 + 0.1 * bone.get() as f64 } else { 9.0 };
        let (shown, limbs) = chosen(&own, light);
        let names: Vec<&str> = shown.iter().map(|bone| own.names()[*bone].as_str()).collect();
        assert_eq!((limbs, &names[1..2]), ([true, true], &["calf_l"][..]), "{names:?}");
        assert!(names[0].starts_with("lowerarm") && names.len() <= SHOWN, "{names:?}");
        // A bone without skin is not shown.
        let (_, limbs) = chosen(&own, |bone| if own.names()[bone].starts_with("calf") { 0.0 } else { 1.0 });
        assert_eq!(limbs, [true, false]);
        assert!(chosen(&own, |_| 0.0).0.is_empty());
    }
}
