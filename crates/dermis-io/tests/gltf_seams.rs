//! glTF: which drawn vertices are one vertex again, by what the file says of them.

mod handmade;

use dermis_io::Flaw;
use dermis_rig::glam::DVec3;
use handmade::{Made, count};
use serde_json::{Value, json};

/// Two quads in a plane that meet along an edge, each with four vertices of its own: 1 and 4, 2 and 7 are in one place.
fn quads() -> Vec<DVec3> {
    let square = [DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Z, DVec3::Z];
    square.into_iter().chain(square.map(|p| p + DVec3::X)).collect()
}

/// A value for each vertex, one for each quad.
fn by_quad(left: [f64; 3], right: [f64; 3]) -> Vec<f64> {
    [left.repeat(4), right.repeat(4)].concat()
}

/// How many vertices the quads have, and whether their flaws say so, with attributes and morph targets that `add` makes.
fn vertices(add: impl Fn(&mut Made, &mut Value, &mut Vec<Value>)) -> usize {
    let mut made = Made::default();
    let corners: Vec<f64> = quads().iter().flat_map(|p| p.to_array()).collect();
    let mut attributes = json!({ "POSITION": made.floats("VEC3", 8, &corners) });
    let mut targets = Vec::new();
    add(&mut made, &mut attributes, &mut targets);
    let indices = made.bytes("SCALAR", 12, &[0, 2, 1, 0, 3, 2, 4, 6, 5, 4, 7, 6]);
    let mut primitive = json!({ "attributes": attributes, "indices": indices });
    if !targets.is_empty() {
        primitive["targets"] = json!(targets);
    }
    let found = made.read(json!({ "nodes": [{ "mesh": 0 }], "meshes": [{ "primitives": [primitive] }] }));
    let mesh = found.mesh.as_ref().unwrap();
    assert_eq!(mesh.render.as_ref().unwrap().source.len(), 8, "what is drawn stays");
    assert_eq!(count(&found, Flaw::Welded), 8 - mesh.positions.len());
    mesh.positions.len()
}

const UP: [f64; 3] = [0.0, 1.0, 0.0];
const ASIDE: [f64; 3] = [-0.7, -0.3, 0.0];

/// The right quad folds up in the shape: its far side moves, and its normal turns.
fn folded(made: &mut Made) -> usize {
    let mut deltas = vec![0.0; 24];
    (deltas[16], deltas[19]) = (1.0, 1.0);
    made.floats("VEC3", 8, &deltas)
}

#[test]
fn whatever_a_file_says_of_two_vertices_explains_why_they_are_two() {
    let plain = |made: &mut Made| made.floats("VEC3", 8, &by_quad(UP, UP));
    assert_eq!(vertices(|made, own, _| own["NORMAL"] = json!(plain(made))), 8, "nothing explains it");
    assert_eq!(vertices(|made, own, _| own["NORMAL"] = json!(made.floats("VEC3", 8, &by_quad(UP, ASIDE)))), 6);
    for semantic in ["NORMAL", "TANGENT", "TEXCOORD_0", "_WEAR"] {
        let shape = |right: [f64; 3]| {
            vertices(|made, own, targets| {
                own["NORMAL"] = json!(plain(made));
                let changed = made.floats("VEC3", 8, &by_quad([0.0; 3], right));
                let first = made.floats("VEC3", 8, &[0.0; 24]);
                targets.push(json!({ "POSITION": first }));
                targets.push(json!({ "POSITION": folded(made), semantic: changed }));
            })
        };
        assert_eq!((shape(ASIDE), shape([0.0; 3])), (6, 8), "{semantic} of a morph target");
    }
    for (semantic, width) in [("TANGENT", 4), ("COLOR_1", 3), ("TEXCOORD_1", 2), ("TEXCOORD_9", 2), ("_SHEEN", 1)] {
        let made = |right: f64| {
            vertices(|made, own, _| {
                own["NORMAL"] = json!(plain(made));
                let values = [vec![0.25; 4 * width], vec![right; 4 * width]].concat();
                own[semantic] = json!(made.floats(["", "SCALAR", "VEC2", "VEC3", "VEC4"][width], 8, &values));
            })
        };
        assert_eq!((made(0.5), made(0.25)), (6, 8), "{semantic}");
    }
}

/// A shape that moves one of two vertices alone tears them apart, whatever explains the split.
#[test]
fn vertices_that_a_shape_moves_apart_stay_apart() {
    for moved in [DVec3::ZERO, DVec3::new(0.0, 0.0, 1e-6)] {
        let found = vertices(|made, own, targets| {
            own["NORMAL"] = json!(made.floats("VEC3", 8, &by_quad(UP, ASIDE)));
            let mut deltas = vec![0.0; 24];
            deltas[12..15].copy_from_slice(&moved.to_array());
            deltas[21..24].copy_from_slice(&moved.to_array());
            let normals = made.floats("VEC3", 8, &by_quad([0.0; 3], ASIDE));
            targets.push(json!({ "POSITION": made.floats("VEC3", 8, &deltas), "NORMAL": normals }));
        });
        assert_eq!(found, if moved == DVec3::ZERO { 6 } else { 8 });
    }
}

/// What nothing depends on may be missing or wrong.
#[test]
fn an_attribute_that_cannot_be_read_explains_nothing_and_stops_nothing() {
    for wrong in [
        json!({ "componentType": 5126, "type": "MAT2", "count": 8 }),
        json!({ "componentType": 1, "type": "VEC3", "count": 8 }),
        json!({ "componentType": 5126, "type": "VEC3", "count": 7 }),
    ] {
        let found = vertices(|made, own, targets| {
            own["NORMAL"] = json!(made.floats("VEC3", 8, &by_quad(UP, UP)));
            let normals = made.accessor(wrong.clone());
            targets.push(json!({ "POSITION": folded(made), "NORMAL": normals }));
        });
        assert_eq!(found, 8, "{wrong}");
    }
}

/// A box of six quads whose lid is two, each quad with vertices of its own and the normals of its face: nothing tells the two parts of the
/// lid apart, but all faces are drawn so.
#[test]
fn faces_that_share_no_vertex_are_flat_shading() {
    let faces: [[[i32; 3]; 4]; 7] = [
        [[0, 0, 0], [0, 1, 0], [2, 1, 0], [2, 0, 0]],
        [[0, 0, 0], [2, 0, 0], [2, 0, 1], [0, 0, 1]],
        [[0, 1, 0], [0, 1, 1], [2, 1, 1], [2, 1, 0]],
        [[0, 0, 0], [0, 0, 1], [0, 1, 1], [0, 1, 0]],
        [[2, 0, 0], [2, 1, 0], [2, 1, 1], [2, 0, 1]],
        [[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]],
        [[1, 0, 1], [2, 0, 1], [2, 1, 1], [1, 1, 1]],
    ];
    for with_normals in [true, false] {
        let mut made = Made::default();
        let corners: Vec<DVec3> = faces.iter().flatten().map(|p| DVec3::from_array(p.map(f64::from))).collect();
        let flat = |list: &[DVec3]| list.iter().flat_map(|p| p.to_array()).collect::<Vec<f64>>();
        let mut attributes = json!({ "POSITION": made.floats("VEC3", 28, &flat(&corners)) });
        let normals: Vec<DVec3> =
            corners.chunks(4).flat_map(|c| [(c[1] - c[0]).cross(c[2] - c[0]).normalize(); 4]).collect();
        if with_normals {
            attributes["NORMAL"] = json!(made.floats("VEC3", 28, &flat(&normals)));
        }
        let indices: Vec<u8> = (0..7).flat_map(|q| [0, 1, 2, 0, 2, 3].map(|corner| 4 * q + corner)).collect();
        let indices = made.bytes("SCALAR", 42, &indices);
        let found = made.read(json!({
            "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [{ "attributes": attributes, "indices": indices }] }],
        }));
        // The long edges of the lid meet two edges of its parts: no crack closes there.
        assert_eq!(found.mesh.unwrap().positions.len(), 10, "{with_normals}");
    }
}
