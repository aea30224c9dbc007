//! Figure 4: influence maps as pictures.

use crate::rig_view::rig_view;
use crate::{Character, FigureError};
use dermis_report::figures::{
    Drawing, Exhibit, Figure, Measured, Panel, PanelColumn, PanelGrid, PanelRow, Picture, PictureView, RigIn3d,
    RigPaint, Verdict, influence_colour,
};
use dermis_rig::{BoneIndex, Influences};

/// A weight above this should have a map.
const NOTABLE: f64 = 0.01;

/// Bones shown.
const SHOWN: usize = 4;

/// The figure.
pub(super) fn figure(character: &Character) -> Result<Figure, FigureError> {
    let (rig, maps) = (character.rig(), character.maps()?);
    let mesh = rig.mesh();
    let weights = rig.weights().cloned().unwrap_or_default();
    // Bones that matter to the most skin, one of every side and part: none may be next to another in the hierarchy.
    let mass = |bone: BoneIndex| (0..maps.vertices()).map(|v| maps.value(v, bone)).sum::<f64>();
    let mut by_mass: Vec<(f64, BoneIndex)> = rig.skeleton().bones().map(|bone| (mass(bone), bone)).collect();
    by_mass.sort_by(|a, b| b.0.total_cmp(&a.0));
    let parents = rig.skeleton().parents();
    let mut shown: Vec<BoneIndex> = Vec::new();
    for (_, bone) in by_mass.into_iter().filter(|(mass, _)| *mass > 0.0) {
        let beside = |other: &BoneIndex| {
            parents[bone] == Some(*other) || parents[*other] == Some(bone) || parents[*other] == parents[bone]
        };
        if shown.len() < SHOWN && !shown.iter().any(beside) {
            shown.push(bone);
        }
    }
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
        outcome: match rig.influence_maps() {
            Some(_) => Verdict::Reproduced,
            None => Verdict::Differs("the bundled body has no painted maps; these are derived from its weights".into()),
        },
        measured: vec![
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
