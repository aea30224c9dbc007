//! Bundles of corrections, array by array: rest shapes become skins, and what does not agree is named.

mod archive;

use archive::{Npy, bundle, floats, replace, streamed, texts, tiny_rig};
use dermis_io::npz::inverted::{CorrectedDeformer, VerticesSpace};
use dermis_io::npz::{self, BundleShapes};
use dermis_rig::glam::DVec3;

/// The tiny rig with `vertices` as rest shapes, remainders of 0.01 to 0.24, and a deformer.
fn corrected(deformer: &str) -> Vec<(&'static str, Npy)> {
    let mut arrays = tiny_rig();
    let remainders: Vec<f64> = (1..=24).map(|i| f64::from(i) * 0.01).collect();
    arrays.extend([
        ("vertices_space", texts("rest", &[])),
        ("deformer", texts(deformer, &[])),
        ("remainders", floats(&remainders, &[2, 4, 3])),
        ("rest_corrections", floats(&[0.0; 24], &[2, 4, 3])),
    ]);
    arrays
}

fn refused(arrays: &[(&str, Npy)]) -> String {
    let bytes = bundle(arrays);
    let error = npz::read(&bytes, "a.npz").map(|_| ()).unwrap_err().to_string();
    assert_eq!(streamed(&bytes).map(|_| ()).unwrap_err().to_string(), error);
    assert!(error.len() < 500, "{error}");
    error
}

/// Closed form: linear blending of the shape, and the remainder added.
#[test]
fn rest_shapes_become_skins() {
    let shapes = tiny_rig().into_iter().find(|(key, _)| *key == "vertices").unwrap().1.floats();
    let stack = r#"{"stack": [{"type": "lbs"}]}"#;
    let shifted = r#"{"stack": [{"type": "lbs"}, {"type": "lattice", "origin": [-9, -9, -9], "axes": [[18, 0, 0], [0, 18, 0], [0, 0, 18]],
        "counts": [2, 2, 2], "displacements": [[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3]]}]}"#;
    for (deformer, moved) in [("lbs", DVec3::ZERO), (stack, DVec3::ZERO), (shifted, DVec3::new(1.0, 2.0, 3.0))] {
        let bytes = bundle(&corrected(deformer));
        let contents = npz::read(&bytes, "a.npz").unwrap();
        let inverted = contents.inverted.as_ref().unwrap();
        assert_eq!((inverted.vertices, inverted.skins), (VerticesSpace::Rest, true));
        assert_eq!(contents.unread, ["extra", "rest_corrections"]);
        let shares = [0.0, 0.75, 1.0, 0.5];
        for (s, record) in contents.records.iter().enumerate() {
            for (v, found) in record.positions.as_ref().unwrap().iter().enumerate() {
                let at = 3 * (4 * s + v);
                let p = DVec3::from_slice(&shapes[at..]);
                let w = DVec3::from([1, 2, 3].map(|c| (at + c) as f64 * 0.01));
                // About the tip at x = 1, by the angle whose cosine is 0.6.
                let q = p - DVec3::X;
                let turned = DVec3::new(0.6 * q.x - 0.8 * q.y, 0.8 * q.x + 0.6 * q.y, q.z) + DVec3::X;
                let tip = if s == 0 { p } else { turned };
                let expected = p * (1.0 - shares[v]) + tip * shares[v] + moved + w;
                assert!(found.abs_diff_eq(expected, 1e-14), "{deformer} {s} {v}: {found} {expected}");
            }
        }
        // As stored: p + d.
        let stored = npz::read_shapes(&bytes, "a.npz", BundleShapes::Stored).unwrap();
        let first = stored.records[1].positions.as_ref().unwrap()[2];
        assert_eq!(first, DVec3::from_slice(&shapes[18..]));
        assert!(!stored.inverted.unwrap().skins);
        // In slices they are read as a whole.
        let slices = streamed(&bytes).unwrap();
        assert_eq!(slices.records[1].positions, contents.records[1].positions);
    }
}

#[test]
fn sculpts_and_older_bundles_stay_as_they_are() {
    let older = npz::read(&bundle(&tiny_rig()), "a.npz").unwrap();
    assert_eq!(older.inverted, None);
    let mut arrays = corrected("dqs");
    replace(&mut arrays, "vertices_space", texts("posed", &[]));
    let posed = npz::read(&bundle(&arrays), "a.npz").unwrap();
    assert_eq!(posed.records[1].positions, older.records[1].positions);
    let inverted = posed.inverted.unwrap();
    assert_eq!((inverted.deformer, inverted.skins), (CorrectedDeformer::Dqs, true));
    // Without `vertices_space`, arrays of these names are anyone's.
    arrays.retain(|(key, _)| *key != "vertices_space");
    replace(&mut arrays, "deformer", floats(&[1.0], &[1]));
    let other = npz::read(&bundle(&arrays), "a.npz").unwrap();
    assert_eq!((other.inverted, other.records.len()), (None, 2));
}

#[test]
fn what_does_not_agree_is_named() {
    let without = |key: &str| corrected("lbs").into_iter().filter(|(k, _)| *k != key).collect::<Vec<_>>();
    for (key, says) in [
        ("deformer", &["\"vertices_space\"", "no \"deformer\""][..]),
        ("vertices", &["\"vertices_space\"", "no \"vertices\""]),
        ("remainders", &["rest shapes", "no \"remainders\""]),
        ("bind_matrices", &["rest shapes", "no \"bind_matrices\""]),
        ("pose_matrices", &["rest shapes", "no \"pose_matrices\""]),
        ("rest_vertices", &["rest shapes", "no \"rest_vertices\""]),
        ("lbs_weights", &["\"deformer\"", "no skinning weights"]),
    ] {
        let mut arrays = without(key);
        if key == "rest_vertices" {
            let beside = ["faces", "face_counts", "face_indices", "lbs_weights", "influence_maps"];
            arrays.retain(|(k, _)| !beside.contains(k));
        }
        let error = refused(&arrays);
        assert!(says.iter().all(|word| error.contains(word)), "{key}: {error}");
    }
    let with = |key: &str, array: Npy| {
        let mut arrays = corrected("lbs");
        replace(&mut arrays, key, array);
        refused(&arrays)
    };
    for (deformer, says) in [
        ("smooth", "\"smooth\""),
        ("{", "\"deformer\""),
        (r#"{"stack": []}"#, "the stack is empty"),
        (r#"{"stack": [{"type": "lbs", "weights": 3}]}"#, "\"deformer\""),
        (r#"{"stack": [{"type": "wires", "wires": [], "parent": "tail"}]}"#, "no bone \"tail\""),
        (r#"{"stack": [{"type": "wires", "wires": [], "m": -1}]}"#, "exponent"),
    ] {
        let error = with("deformer", texts(deformer, &[]));
        assert!(error.contains(says), "{deformer}: {error}");
    }
    assert!(with("vertices_space", texts("world", &[])).contains("\"world\""));
    assert!(with("vertices_space", floats(&[1.0], &[])).contains("text is expected"));
    for shape in [&[1, 4, 3][..], &[2, 3, 3], &[2, 4, 2], &[8, 3]] {
        let count = shape.iter().product::<u64>() as usize;
        assert!(with("remainders", floats(&vec![0.0; count], shape)).contains("remainders"), "{shape:?}");
    }
    // A remainder that is no number leaves its record out, as other numbers do.
    let mut arrays = corrected("lbs");
    let mut hole = vec![0.0; 24];
    hole[13] = f64::NAN;
    replace(&mut arrays, "remainders", floats(&hole, &[2, 4, 3]));
    let contents = npz::read(&bundle(&arrays), "a.npz").unwrap();
    assert_eq!((contents.records.len(), contents.left_out), (1, vec!["bent".to_owned()]));
}

#[test]
fn a_program_is_not_run() {
    let contents = npz::read(&bundle(&corrected("program")), "a.npz").unwrap();
    let inverted = contents.inverted.unwrap();
    assert!(!inverted.skins && inverted.sentence().contains("are no skins"));
    assert_eq!(contents.unread, ["extra", "remainders", "rest_corrections"]);
}
