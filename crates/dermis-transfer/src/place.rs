//! Where a mesh would lie on the body, if it stood elsewhere, or if its axes or its unit were other ones.

use crate::Body;
use dermis_rig::Mesh;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};

/// Units that files are taken for, over the one they have.
const UNITS: [(f64, &str); 8] = [
    (1.0, ""),
    (0.01, "100 times smaller"),
    (100.0, "100 times larger"),
    (0.001, "1000 times smaller"),
    (1000.0, "1000 times larger"),
    (0.0254, "39.37 times smaller"),
    (2.54, "2.54 times larger"),
    (0.1, "10 times smaller"),
];

/// Vertices that are looked at.
const LOOKED_AT: usize = 400;

/// The share of a mesh that lies near the body where it is.
const MOST: f64 = 0.5;
/// The same for a mesh that is moved, since part of what is moved into a body always lies near its skin.
const MOST_MOVED: f64 = 0.9;

/// The change after which most of the mesh lies near the body, in words; `None` after no change that is known.
pub(crate) fn elsewhere(body: &Body, mesh: &Mesh) -> Option<String> {
    if let Some(by) = moved(body, mesh) {
        return Some(format!("moved by {:.3}, {:.3}, {:.3} m", by.x, by.y, by.z));
    }
    let turns = [
        (DMat3::IDENTITY, ""),
        (DMat3::from_cols(DVec3::X, DVec3::NEG_Z, DVec3::Y), "turned from Z up to Y up"),
        (DMat3::from_cols(DVec3::X, DVec3::Z, DVec3::NEG_Y), "turned from Y up to Z up"),
    ];
    for (turn, turned) in turns {
        for (scale, scaled) in UNITS {
            if turned.is_empty() && scaled.is_empty() {
                continue;
            }
            if lies(body, mesh, DAffine3::from_mat3(turn * scale)) > MOST {
                let both = if turned.is_empty() || scaled.is_empty() { "" } else { " and " };
                return Some(format!("{scaled}{both}{turned}"));
            }
        }
    }
    None
}

/// The move along the fewest axes that puts the middle of the mesh's box on the body's, if most of the mesh then lies near the body.
fn moved(body: &Body, mesh: &Mesh) -> Option<DVec3> {
    let middle = |positions: &[DVec3]| {
        let (low, high) = Mesh { positions: positions.to_vec(), ..Mesh::default() }.bounds();
        0.5 * (low + high)
    };
    let whole = middle(body.positions()) - middle(&mesh.positions);
    let along = [0b001, 0b010, 0b100, 0b011, 0b101, 0b110, 0b111u8].map(|axes| {
        let on = |axis: u8| f64::from(axes >> axis & 1);
        whole * DVec3::new(on(0), on(1), on(2))
    });
    along.into_iter().find(|by| lies(body, mesh, DAffine3::from_translation(*by)) > MOST_MOVED)
}

/// The share of the mesh, changed, that lies near the body; zero for a mesh that is a point beside it.
fn lies(body: &Body, mesh: &Mesh, map: DAffine3) -> f64 {
    let step = mesh.positions.len().div_ceil(LOOKED_AT).max(1);
    let (mut near, mut count) = (0, 0);
    for p in mesh.positions.iter().step_by(step) {
        count += 1;
        near +=
            usize::from(body.find(map.transform_point3(*p), None, 0.0).is_some_and(|m| m.distance < 0.1 * body.unit()));
    }
    // A mesh that shrinks to a point lies near the body as well.
    let extent =
        Mesh { positions: mesh.positions.iter().map(|p| map.transform_point3(*p)).collect(), ..Mesh::default() }
            .extent();
    if extent > 0.02 * body.unit() { near as f64 / count as f64 } else { 0.0 }
}
