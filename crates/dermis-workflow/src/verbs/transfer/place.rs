//! Where a mesh would lie on the body, if its axes or its unit were other ones.

use dermis_io::Contents;
use dermis_rig::Mesh;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_transfer::Body;

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

/// The change after which most of the mesh lies near the body, in words; `None` if it does as it is, or after no change that is known.
pub(super) fn elsewhere(body: &Body, contents: &Contents) -> Option<String> {
    let mesh = contents.mesh.as_ref()?;
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
            if lies(body, mesh, turn * scale) {
                let both = if turned.is_empty() || scaled.is_empty() { "" } else { " and " };
                return Some(format!("{scaled}{both}{turned}"));
            }
        }
    }
    None
}

/// Whether most of the mesh, moved, lies near the body.
fn lies(body: &Body, mesh: &Mesh, map: DMat3) -> bool {
    let step = mesh.positions.len().div_ceil(LOOKED_AT).max(1);
    let (mut near, mut count) = (0, 0);
    for p in mesh.positions.iter().step_by(step) {
        count += 1;
        near += usize::from(body.find(map * *p, None, 0.0).is_some_and(|m| m.distance < 0.1 * body.unit()));
    }
    // A mesh that shrinks to a point lies near the body as well.
    let extent = Mesh { positions: mesh.positions.iter().map(|p| map * *p).collect(), ..Mesh::default() }.extent();
    2 * near > count && extent > 0.02 * body.unit()
}
