//! Weights coloured by bone.

use crate::Character;
use dermis_report::figures::{
    CaptionedDrawing, Drawing, Exhibit, Figure, Measured, Picture, PictureView, Verdict, influence_colour,
};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences};

/// The longer side of a picture, pixels.
const PIXELS: u32 = 460;

/// Returns the figure: all bones, and the three that dominate most vertices alone.
pub(super) fn figure(character: &Character) -> Figure {
    let rig = character.rig();
    let (mesh, skeleton) = (rig.mesh(), rig.skeleton());
    let none = Influences::default();
    let weights = rig.weights().unwrap_or(&none);
    let view = PictureView::around(&mesh.positions, 0.5, 0.1, PIXELS);
    let colours: Vec<DVec3> = (0..skeleton.len()).map(colour).collect();
    let mixed =
        weights.rows().map(|row| row.iter().map(|&(bone, w)| colours[bone.get()] * w).sum()).collect::<Vec<DVec3>>();
    let picture = |label: &str, colours: &[DVec3]| {
        Drawing::Picture(Picture::of(label, view, &mesh.positions, &mesh.triangles, colours))
    };
    let mut drawings = vec![CaptionedDrawing {
        drawing: picture("weights by bone", &mixed),
        caption: "every bone has a colour; a vertex has the mean of its bones' by their weights".into(),
        legend: vec![],
    }];
    for bone in busiest(weights, skeleton.len()) {
        let own: Vec<DVec3> = (0..weights.vertices()).map(|v| influence_colour(weights.value(v, bone))).collect();
        let name = &skeleton.names()[bone];
        drawings.push(CaptionedDrawing {
            drawing: picture(name, &own),
            caption: format!("{name} alone"),
            legend: vec![],
        });
    }
    let sum = |row: &[(BoneIndex, f64)]| (row.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs();
    let off = weights.rows().map(sum).fold(0.0, f64::max);
    let mean = weights.count() as f64 / weights.vertices().max(1) as f64;
    Figure {
        name: "Weights".into(),
        title: "how much of a vertex each bone moves".into(),
        paper: "Every vertex has weights on a few bones, not negative and with sum one. Smooth binding lets them change gradually over a joint; \
                rigid binding gives a vertex to one bone."
            .into(),
        ours: format!("The weights of \"{}\". dermis inspect FILE --report PAGE.html shows them in 3D, bone by bone.", rig.name()),
        outcome: Verdict::Reproduced,
        measured: vec![
            Measured::claimed("largest distance of a vertex's weights from sum one", format!("{off:.1e}"), "0", off < 1e-6),
            Measured::claimed("most influences of a vertex", weights.largest_count().to_string(), "a few", weights.largest_count() <= 8),
            Measured::plain("influences on average", format!("{mean:.2}")),
        ],
        exhibits: vec![Exhibit::Drawings(drawings)],
    }
}

/// The three bones that dominate most vertices, those before.
fn busiest(weights: &Influences, bones: usize) -> Vec<BoneIndex> {
    let mut counts = vec![0usize; bones];
    (0..weights.vertices()).filter_map(|v| weights.dominant(v)).for_each(|bone| counts[bone.get()] += 1);
    let mut order: Vec<usize> = (0..bones).collect();
    order.sort_by_key(|&bone| (std::cmp::Reverse(counts[bone]), bone));
    order.into_iter().take(3).map(BoneIndex::new).collect()
}

/// A colour per bone, hues a golden section of the circle apart.
fn colour(bone: usize) -> DVec3 {
    let hue = (bone as f64 * 0.618_033_988_75).fract();
    let light = [0.62, 0.5, 0.74][bone % 3];
    let channel = |n: f64| {
        let k = (n + hue * 12.0) % 12.0;
        light - 0.6 * f64::min(light, 1.0 - light) * f64::max(-1.0, f64::min(k - 3.0, f64::min(9.0 - k, 1.0)))
    };
    DVec3::new(channel(0.0), channel(8.0), channel(4.0))
}
