//! Figures 7 to 10: single weights, multi-weight enveloping and pose space beside the true skin.

use super::mm;
use super::ridges::error_colour;
use crate::FigureError;
use crate::character::{Character, spread};
use crate::learning::{Distances, Model};
use dermis_fit::method::{Method, MweMethod};
use dermis_report::figures::{
    Drawing, Exhibit, Figure, Measured, Panel, PanelColumn, PanelGrid, PanelRow, Picture, PictureView, SkinsIn3d,
    Verdict,
};
use dermis_report::page::{LengthUnit, PageTable, Quantity, ShownPose, SkinView, shown_positions};
use dermis_rig::glam::DVec3;

/// Poses shown.
const SHOWN: usize = 4;

/// The figure.
pub(super) fn figure(character: &Character) -> Result<Figure, FigureError> {
    let (train, held_out) = (character.examples(), character.held_out());
    let methods = [
        ("single weights", Method::lbs()),
        ("enveloping", Method::mwe()),
        ("enveloping, published", Method::Mwe(MweMethod::published())),
        ("pose space", Method::psd()),
    ];
    let mut models = Vec::new();
    for (name, method) in methods {
        let mut model = Model::fit(&method, character.rig(), train)?;
        let (of_train, per_pose) = (model.error(train)?, model.errors(held_out)?);
        models.push((name, model, of_train, per_pose));
    }
    let shown = spread(SHOWN, held_out.len());
    let mesh = character.rig().mesh();
    let longest = models[0].3.iter().map(|d| d.max).fold(0.0, f64::max).max(1e-12);
    let mut skins: Vec<Vec<Vec<DVec3>>> = Vec::new();
    for (_, model, ..) in &mut models {
        skins.push(shown.iter().map(|&at| model.skin(&held_out.examples()[at].transforms)).collect::<Result<_, _>>()?);
    }
    let around = |&at: &usize| PictureView::around(&held_out.examples()[at].positions, 25.0, 8.0, 380);
    let views = PictureView::of_one_size(&shown.iter().map(around).collect::<Vec<_>>(), 380);
    let mut rows = Vec::new();
    for which in [0, 1, 3] {
        let panel = |nth: usize| {
            let (at, skin) = (shown[nth], &skins[which][nth]);
            let truth = &held_out.examples()[at].positions;
            let colours: Vec<DVec3> =
                skin.iter().zip(truth).map(|(a, b)| error_colour(2.0 * a.distance(*b) / longest)).collect();
            let Distances { rms, max } = models[which].3[at];
            let least = models.iter().map(|m| m.3[at].rms).fold(f64::INFINITY, f64::min);
            Panel {
                drawing: Drawing::Picture(Picture::of(models[which].0, views[nth], skin, &mesh.triangles, &colours)),
                caption: format!("rms {}, largest {}", mm(rms), mm(max)),
                best: rms <= 1.01 * least,
            }
        };
        rows.push(PanelRow { name: models[which].0.into(), panels: (0..shown.len()).map(panel).collect() });
    }
    let pose = |nth: usize| ShownPose {
        label: held_out.examples()[shown[nth]].label.clone(),
        set: "held out".into(),
        target: shown_positions(&held_out.examples()[shown[nth]].positions),
        model: shown_positions(&skins[1][nth]),
        baseline: Some(shown_positions(&skins[0][nth])),
        ..ShownPose::default()
    };
    let view = SkinView {
        triangles: mesh.triangles.clone(),
        rest: shown_positions(&mesh.positions),
        poses: (0..shown.len()).map(pose).collect(),
        ..SkinView::default()
    };
    let of_new: Vec<Distances> = models.iter().map(|m| Distances::over(&m.3)).collect();
    let [single, enveloping, _, space] = [0, 1, 2, 3].map(|i| of_new[i].rms);
    Ok(Figure {
        name: "Figures 7–10".into(),
        title: "single weights, enveloping and pose space side by side".into(),
        paper: "Skins of characters by single-weight enveloping, by multi-weight enveloping and by pose space, side by side.".into(),
        ours: format!(
            "All learn from the same {} examples and are shown in poses that none has seen. Single weights are themselves fitted to the \
             examples, the best that linear blending can do with four bones a vertex. Redder is farther from the true skin; full red is half of the \
             largest error of single weights.",
            train.len()
        ),
        outcome: Verdict::Differs("the characters are another: the four figures are four poses of this one".into()),
        measured: vec![
            Measured::plain("rms on new poses, single weights fitted", mm(single)),
            Measured::claimed(
                "rms on new poses, enveloping",
                mm(enveloping),
                "less than single weights",
                enveloping < single,
            ),
            Measured::claimed(
                "rms on new poses, pose space",
                mm(space),
                "enveloping is as good: within a third",
                enveloping < 4.0 / 3.0 * space,
            ),
        ],
        exhibits: vec![
            Exhibit::Panels(PanelGrid {
                columns: shown
                    .iter()
                    .map(|&at| PanelColumn { title: held_out.examples()[at].label.clone(), mark: String::new() })
                    .collect(),
                rows,
            }),
            Exhibit::Skins(Box::new(SkinsIn3d {
                caption: "The true skin, enveloping, single weights.".into(),
                target_name: "true".into(),
                model_name: "enveloping".into(),
                baseline_name: "single weights".into(),
                unit: LengthUnit::default(),
                view,
            })),
            Exhibit::Table(PageTable {
                columns: ["method", "training, rms", "new poses, rms", "new poses, largest", "fit"].map(String::from).to_vec(),
                rows: models
                    .iter()
                    .zip(&of_new)
                    .map(|((name, model, of_train, _), new)| {
                        vec![
                            Quantity::Text((*name).into()),
                            Quantity::Length(of_train.rms as f32),
                            Quantity::Length(new.rms as f32),
                            Quantity::Length(new.max as f32),
                            Quantity::Seconds(model.took.as_secs_f32()),
                        ]
                    })
                    .collect(),
                ..PageTable::default()
            }),
        ],
    })
}
