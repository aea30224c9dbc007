//! Files that are truncated, altered or made to do harm: an error that names what is wrong, or contents that are sound.

mod archive;

use archive::{Npy, bundle, floats, integers, npy, replace, texts, tiny_rig};
use dermis_io::to_bytes;
use dermis_io::{Contents, ReadError, Space, alembic, fbx, npz, obj, point_cache};
use dermis_rig::glam::DVec3;
use dermis_testkit::ogawa;
use zip::CompressionMethod::{Deflated, Stored};

type Reader = fn(&[u8]) -> Result<Contents, ReadError>;

/// Each format's reader and a small good file.
fn formats() -> Vec<(&'static str, Reader, Vec<u8>)> {
    let frames = [[DVec3::X, DVec3::Y], [DVec3::Z, DVec3::ONE]];
    let frames: Vec<&[DVec3]> = frames.iter().map(|f| f.as_slice()).collect();
    let text = "# a square\r\nv 0 0 0 1 .5 0\nv 1 0 0\nv 1 1e0 0\nv 0 1 -0.5\nvt 0 0\nvt 1 1\nusemtl skin\nf 1/1 2/2 \\\n 3/1 4/2\n\
                f -1 -2 -3\nl 1 2\n";
    let members = || {
        let arrays = tiny_rig();
        arrays.into_iter().map(|(key, array)| (format!("{key}.npy"), array.bytes())).collect::<Vec<_>>()
    };
    let packed =
        |method| archive::archive(members().iter().map(|(name, bytes)| (name.as_str(), bytes.clone())), method);
    let default = Space::default;
    vec![
        ("stored npz", |bytes| npz::read(bytes, "a.npz"), packed(Stored)),
        ("deflated npz", |bytes| npz::read(bytes, "a.npz"), packed(Deflated)),
        ("streamed npz", archive::streamed, packed(Stored)),
        ("streamed deflated npz", archive::streamed, packed(Deflated)),
        (
            "obj",
            |bytes| obj::read(bytes, "a.obj", &Space::default(), &|_, _| Err(std::io::ErrorKind::NotFound.into())),
            text.as_bytes().to_vec(),
        ),
        (
            "pc2",
            |bytes| point_cache::read_pc2(bytes, "a.pc2", &Space::default()),
            to_bytes(|out| point_cache::write_pc2(&frames, 0.0, &default(), out)).unwrap(),
        ),
        (
            "mdd",
            |bytes| point_cache::read_mdd(bytes, "a.mdd", &Space::default()),
            to_bytes(|out| point_cache::write_mdd(&frames, &[0.0, 1.0], &default(), out)).unwrap(),
        ),
        ("alembic", |bytes| alembic::read(bytes, "a.abc", &Space::default()), archive_of_two_frames()),
        (
            "fbx",
            |bytes| fbx::read(bytes, "a.fbx", &|_, _| Err(std::io::ErrorKind::NotFound.into())),
            dermis_testkit::fbx::Fbx::default().text().into_bytes(),
        ),
        (
            "textured fbx",
            |bytes| fbx::read(bytes, "a.fbx", &|_, _| Err(std::io::ErrorKind::NotFound.into())),
            dermis_testkit::fbx::Fbx::default().textured(&dermis_testkit::textured::png([1, 2, 3])).into_bytes(),
        ),
    ]
}

/// A moving square below a moving transform.
fn archive_of_two_frames() -> Vec<u8> {
    let frames = [0.0, 1.0, 1.0].map(|z| vec![[0.0, 0.0, z], [1.0, 0.0, z], [1.0, 1.0, z], [0.0, 1.0, z]]);
    let square = ogawa::mesh("square", &[4], &[3, 2, 1, 0], 1, &frames);
    let moves = [[0.0, 1.0, 2.0, 0.0, 0.0, 1.0, 30.0], [3.0, 4.0, 5.0, 0.0, 0.0, 1.0, 60.0]].map(Vec::from);
    let moved = ogawa::transform("moved", true, &[1, 2], 1, &moves, square);
    ogawa::Archive { objects: vec![moved], samplings: vec![(0.04, vec![0.0])] }.bytes()
}

/// Whatever was read fits together, so that nothing behind the reader can fail over it.
fn check(contents: &Contents, context: &str) {
    let vertices = contents.mesh.as_ref().map(|mesh| {
        mesh.check().unwrap_or_else(|e| panic!("{context}: {e}"));
        assert!(mesh.colors.as_ref().is_none_or(|c| c.len() == mesh.positions.len()), "{context}");
        if let Some(render) = &mesh.render {
            assert!(render.source.iter().all(|&v| (v as usize) < mesh.positions.len()), "{context}");
            let corners = render.triangles.as_flattened();
            assert!(corners.iter().all(|&v| (v as usize) < render.source.len()), "{context}");
            for count in [render.uvs.len(), render.normals.len(), render.colors.len()] {
                assert!(count == 0 || count == render.source.len(), "{context}");
            }
        }
        mesh.positions.len()
    });
    let bones = contents.skeleton.as_ref().map(dermis_rig::Skeleton::len);
    for table in contents.weights.iter().chain(&contents.influence_maps) {
        assert!(vertices.is_none_or(|v| v == table.vertices()), "{context}");
        assert!(bones.is_none_or(|b| table.bones_named() <= b), "{context}");
    }
    for row in contents.weights.iter().flat_map(|w| w.rows()) {
        let sum: f64 = row.iter().map(|(_, w)| *w).sum();
        assert!((sum - 1.0).abs() < 1e-9 && row.iter().all(|(_, w)| *w > 0.0), "{context}: {row:?}");
    }
    for record in &contents.records {
        assert!(record.importance.is_finite() && record.importance >= 0.0, "{context}");
        assert!(record.time.is_none_or(f64::is_finite), "{context}");
        if let Some(positions) = &record.positions {
            assert!(
                vertices.is_none_or(|v| v == positions.len()) && positions.iter().all(|p| p.is_finite()),
                "{context}"
            );
        }
        if let Some(pose) = &record.pose {
            assert!(bones.is_none_or(|b| b == pose.bones.len()), "{context}");
            assert!(pose.bones.iter().all(|m| m.is_finite()), "{context}");
        }
    }
    for clip in &contents.clips {
        let bones = bones.unwrap_or(0);
        for time in [0.0, 0.3 * clip.duration, clip.duration] {
            let frame = (clip.sample)(time);
            assert!(frame.pose.bones.len() == bones && frame.morph_weights.len() == contents.morphs.len(), "{context}");
        }
    }
    assert!(contents.space.is_usable());
}

#[test]
fn every_truncation_is_an_error_or_sound() {
    for (name, read, bytes) in formats() {
        check(&read(&bytes).unwrap_or_else(|e| panic!("{name}: {e}")), name);
        for length in 0..bytes.len() {
            match read(&bytes[..length]) {
                Ok(contents) => {
                    check(&contents, &format!("{name} cut at {length}"));
                    assert!(
                        ["obj", "fbx", "textured fbx"].contains(&name),
                        "only text can end anywhere; {name} was read although cut at {length}"
                    );
                }
                Err(e) => assert!(!e.to_string().is_empty()),
            }
        }
    }
}

/// 64-bit numbers, each of which depends on the one before (Marsaglia's xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn altered_bytes_are_an_error_or_sound() {
    for (name, read, good) in formats() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        let rounds = if name.contains("deflated") { 3_000 } else { 10_000 };
        for round in 0..rounds {
            let mut bytes = good.clone();
            for _ in 0..1 + next(&mut state) % 4 {
                let at = next(&mut state) as usize % bytes.len();
                match next(&mut state) % 4 {
                    0 => bytes[at] ^= 1 << (next(&mut state) % 8),
                    1 => bytes[at] = [0x00, 0x7f, 0x80, 0xff][next(&mut state) as usize % 4],
                    2 => bytes[at] = next(&mut state) as u8,
                    _ => {
                        bytes.remove(at);
                    }
                }
                if bytes.is_empty() {
                    break;
                }
            }
            if let Ok(contents) = read(&bytes) {
                check(&contents, &format!("{name}, round {round}"));
            }
        }
    }
}

/// Zip members carry a checksum, which stops most alterations at the archive: alter the arrays before they are packed.
#[test]
fn altered_arrays_are_an_error_or_sound() {
    let good: Vec<(String, Vec<u8>)> =
        tiny_rig().into_iter().map(|(key, array)| (format!("{key}.npy"), array.bytes())).collect();
    let mut state = 0x2545_f491_4f6c_dd1d;
    let mut read = 0;
    for round in 0..5_000 {
        let mut members = good.clone();
        for _ in 0..1 + next(&mut state) % 2 {
            let member = next(&mut state) as usize % members.len();
            let (_, bytes) = &mut members[member];
            let at = next(&mut state) as usize % bytes.len();
            match next(&mut state) % 3 {
                0 => bytes[at] ^= 1 << (next(&mut state) % 8),
                1 => bytes[at] = b"0123456789,() '<>fiuOUS"[next(&mut state) as usize % 23],
                _ => bytes[at] = next(&mut state) as u8,
            }
        }
        let bytes = archive::archive(members.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())), Stored);
        if let Ok(contents) = npz::read(&bytes, "a.npz") {
            check(&contents, &format!("round {round}"));
            read += 1;
        }
    }
    assert!((500..4_500).contains(&read), "{read} of 5000 were read: the alterations test too little");
}

/// The error of a tiny rig with arrays replaced.
fn why(changes: &[(&str, Npy)]) -> String {
    let mut arrays = tiny_rig();
    for (key, array) in changes {
        replace(&mut arrays, key, array.clone());
    }
    match npz::read(&bundle(&arrays), "a.npz") {
        Ok(_) => panic!("{:?} was read", changes.iter().map(|(key, _)| key).collect::<Vec<_>>()),
        Err(error) => error.to_string(),
    }
}

/// Values of a 64-bit array in the tiny rig, some of them changed.
fn changed(key: &str, changes: &[(usize, f64)]) -> Npy {
    let (_, array) = tiny_rig().into_iter().find(|(k, _)| *k == key).unwrap();
    let mut values = array.floats();
    for (at, value) in changes {
        values[*at] = *value;
    }
    floats(&values, &array.shape)
}

#[test]
fn bundles_that_contradict_themselves_say_where() {
    let nan = f64::NAN;
    let empty = |descr: &str, shape: &[u64]| Npy { descr: descr.into(), shape: shape.to_vec(), data: vec![] };
    for (changes, expected) in [
        // Counts.
        (
            vec![("rest_vertices", floats(&[0.0; 9], &[3, 3]))],
            "array \"face_indices\": entry 3 names vertex 3, but there are 3 vertices",
        ),
        (
            vec![("rest_vertices", floats(&[0.0; 15], &[5, 3]))],
            "array \"lbs_weights\" has shape (4, 2), but (5, 2) is expected",
        ),
        (
            vec![("vertices", floats(&[0.0; 18], &[2, 3, 3]))],
            "array \"vertices\" has shape (2, 3, 3), but (any, 4, 3) is expected",
        ),
        (vec![("vertices", floats(&[0.0; 36], &[3, 4, 3]))], "\"pose_matrices\" holds 2 poses, but \"vertices\" 3"),
        (
            vec![("pose_matrices", floats(&[0.0; 32], &[2, 4, 4]))],
            "array \"pose_matrices\" has shape (2, 4, 4), but (any, 2, 4, 4) is expected",
        ),
        (vec![("pose_labels", texts("a b c", &[3]))], "array \"pose_labels\" has shape (3,), but (2,) is expected"),
        (vec![("pose_weights", floats(&[1.0], &[1]))], "array \"pose_weights\" has shape (1,), but (2,) is expected"),
        (vec![("bone_parents", integers(&[-1], &[1]))], "array \"bone_parents\" has shape (1,), but (2,) is expected"),
        (vec![("bone_names", texts("a", &[1]))], "array \"bone_names\" has shape (1,), but (2,) is expected"),
        (vec![("face_counts", integers(&[3], &[1]))], "the polygons have 3 corners by their counts but list 4"),
        (vec![("face_counts", integers(&[2, 2], &[2]))], "array \"face_counts\": polygon 0 has 2 corners"),
        (vec![("face_counts", integers(&[-4], &[1]))], "array \"face_counts\": polygon 0 has -4 corners"),
        (
            vec![("face_counts", integers(&[1 << 40], &[1]))],
            "array \"face_counts\": polygon 0 has 1099511627776 corners",
        ),
        // Indices.
        (
            vec![("faces", integers(&[0, 1, 2, 0, 2, 9], &[2, 3]))],
            "array \"faces\": entry 1 names vertex 9, but there are 4 vertices",
        ),
        (vec![("faces", integers(&[0, 1, -1], &[1, 3]))], "array \"faces\": entry 0 names vertex -1"),
        (vec![("faces", floats(&[0.0, 1.0, 2.0], &[1, 3]))], "array \"faces\" holds no integers"),
        (
            vec![("faces", integers(&[0, 1, 2, 3, 0], &[1, 5]))],
            "array \"faces\" has shape (1, 5), but (any, 3) or (any, 4) is expected",
        ),
        (
            vec![("faces", integers(&[0, 1, 2, 9], &[1, 4]))],
            "array \"faces\": entry 0 names vertex 9, but there are 4 vertices",
        ),
        // Skeletons.
        (vec![("bone_parents", integers(&[1, 0], &[2]))], "is its own ancestor"),
        (vec![("bone_parents", integers(&[-1, 1], &[2]))], "bone \"tip\" is its own ancestor"),
        (vec![("bone_parents", integers(&[-1, 7], &[2]))], "bone \"tip\" names parent 7, but there are 2 bones"),
        (
            vec![("bone_parents", integers(&[-1, -9], &[2]))],
            "array \"bone_parents\": bone \"tip\" has parent -9; a root has -1",
        ),
        (
            vec![("bind_matrices", changed("bind_matrices", &[(16, 0.0)]))],
            "the bind matrix of bone \"tip\" cannot be inverted",
        ),
        (
            vec![("bind_matrices", changed("bind_matrices", &[(3, nan)]))],
            "the bind matrix of bone \"root\" is not finite",
        ),
        (
            vec![("bind_matrices", changed("bind_matrices", &[(28, 1.0)]))],
            "array \"bind_matrices\", bone \"tip\": the last row is [1.0, 0.0, 0.0, 1.0], not",
        ),
        (
            vec![("pose_matrices", changed("pose_matrices", &[(63, 0.0)]))],
            "array \"pose_matrices\", pose \"bent\", bone 1: the last row is",
        ),
        (
            vec![
                ("bind_matrices", empty("<f8", &[0, 4, 4])),
                ("bone_names", empty("<U1", &[0])),
                ("bone_parents", empty("<i8", &[0])),
            ],
            "the skeleton has no bones",
        ),
        // Values.
        (vec![("rest_vertices", changed("rest_vertices", &[(4, nan)]))], "vertex 1 is not finite"),
        (
            vec![("rest_vertices", empty("<f8", &[0, 3]))],
            "array \"face_indices\": entry 0 names vertex 0, but there are 0 vertices",
        ),
        (
            vec![("lbs_weights", changed("lbs_weights", &[(3, nan)]))],
            "array \"lbs_weights\": vertex 1: the value for bone 1 is not finite",
        ),
        (vec![("pose_weights", floats(&[1.0, -1.0], &[2]))], "array \"pose_weights\": pose \"bent\" has weight -1"),
        (
            vec![("frame_times", floats(&[nan, 1.0], &[2]))],
            "array \"frame_times\": the time of pose \"rest\" is not finite",
        ),
        (vec![("fps", integers(&[0], &[]))], "\"fps\" is 0; it must be positive"),
        (vec![("fps", floats(&[1.0, 2.0], &[2]))], "array \"fps\" has shape (2,); one number is expected"),
        (vec![("up_axis", texts("X", &[]))], "\"up_axis\" is \"X\"; \"Y\" or \"Z\" is expected"),
        (vec![("units", floats(&[1.0], &[]))], "array \"units\" holds numbers where text is expected"),
        (vec![("pose_weights", texts("a b", &[2]))], "array \"pose_weights\" holds text where numbers are expected"),
        (vec![("bone_names", integers(&[1, 2], &[2]))], "array \"bone_names\" holds numbers where text is expected"),
        (
            vec![("bone_names", Npy { descr: "<U1".into(), shape: vec![2], data: vec![0xff; 8] })],
            "array \"bone_names\", entry [0] is no valid text",
        ),
        // Promises.
        (
            vec![("rest_vertices", empty("<f8", &[1 << 27, 3]))],
            "array \"rest_vertices\": its shape (134217728, 3) promises 3221225472 bytes, but the archive lists 0",
        ),
        (
            vec![("rest_vertices", empty("<f8", &[1 << 62, 1 << 62, 3]))],
            "array \"rest_vertices\": its shape (4611686018427387904, 4611686018427387904, 3) overflows",
        ),
        (
            vec![("vertices", empty("<f8", &[1 << 50, 0, 3]))],
            "array \"vertices\" has shape (1125899906842624, 0, 3), but (any, 4, 3) is expected",
        ),
        (vec![("lbs_weights", floats(&[], &[4, 0]))], "array \"lbs_weights\" has shape (4, 0), but (4, 2) is expected"),
        (
            vec![("pose_matrices", empty("<c16", &[2]))],
            "array \"pose_matrices\": values of type '<c16' is not supported",
        ),
    ] {
        let found = why(&changes);
        assert!(found.contains(expected), "expected: {expected}\n   found: {found}");
    }
}

#[test]
fn missing_companions_are_named() {
    let without = |missing: &str| {
        let arrays: Vec<_> = tiny_rig().into_iter().filter(|(key, _)| *key != missing).collect();
        npz::read(&bundle(&arrays), "a.npz").map(|_| ()).unwrap_err().to_string()
    };
    assert!(without("bone_names").ends_with("there is \"bind_matrices\", but no \"bone_names\""));
    assert!(without("bone_parents").ends_with("there is \"bind_matrices\", but no \"bone_parents\""));
    assert!(without("face_counts").ends_with("there is \"face_indices\", but no \"face_counts\""));
    assert!(without("face_indices").ends_with("there is \"face_counts\", but no \"face_indices\""));
}

/// Without a mesh or skeleton to compare with, extents hide behind a zero: nothing may loop over them.
#[test]
fn hollow_shapes_are_refused() {
    for (key, shape) in [
        ("vertices", vec![1 << 40, 0, 3]),
        ("pose_matrices", vec![1 << 40, 0, 4, 4]),
        ("lbs_weights", vec![1 << 40, 0]),
    ] {
        let hollow = Npy { descr: "<f4".into(), shape, data: vec![] };
        let text = npz::read(&bundle(&[(key, hollow)]), "a.npz").map(|_| ()).unwrap_err().to_string();
        assert!(text.contains(&format!("array \"{key}\" has the unusable shape (1099511627776, 0")), "{text}");
    }
    let none =
        npz::read(&bundle(&[("vertices", Npy { descr: "<f4".into(), shape: vec![0, 7, 3], data: vec![] })]), "a")
            .unwrap();
    assert!(none.records.is_empty());
}

#[test]
fn archives_that_are_none_say_so() {
    let text = |bytes: &[u8]| npz::read(bytes, "a.npz").map(|_| ()).unwrap_err().to_string();
    assert_eq!(text(b""), "not an NPZ bundle file: it is empty");
    assert_eq!(text(b"glTF\x02\0\0\0"), "not an NPZ bundle file: it does not start like a zip archive");
    assert!(text(&floats(&[1.0], &[1]).bytes()).contains("a single array (.npy)"));
    assert!(text(b"PK\x03\x04").starts_with("damaged NPZ bundle file: the archive: "));
    let empty = archive::archive([], Stored);
    assert!(text(&empty).contains("none of a bundle's arrays, but 0 others ()"));
    let strange = archive::archive([("fps.npy", b"not an array".to_vec())], Stored);
    assert!(text(&strange).contains("array \"fps\": it does not start like a NumPy array"));
    let long = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", &[0; 5]);
    let long = archive::archive([("fps.npy", long)], Stored);
    assert!(text(&long).contains("array \"fps\": its shape (1,) promises 4 bytes, but the archive lists 5"));
}

/// Two members of one name: which would be meant? The writer refuses to make such an archive, so the second is renamed.
#[test]
fn duplicate_members_are_refused() {
    let one = floats(&[24.0], &[]).bytes();
    let mut bytes = archive::archive([("fps.npy", one.clone()), ("fpz.npy", one)], Stored);
    for at in 0..bytes.len() - 7 {
        if &bytes[at..at + 7] == b"fpz.npy" {
            bytes[at + 2] = b's';
        }
    }
    let text = npz::read(&bytes, "a.npz").map(|_| ()).unwrap_err().to_string();
    assert_eq!(text, "damaged NPZ bundle file: the archive holds two arrays of the same name");
}

#[test]
fn texts_that_are_no_obj_say_which_line() {
    let alone = |_: &str, _| Err(std::io::ErrorKind::NotFound.into());
    let text = |text: &str| {
        obj::read(text.as_bytes(), "a.obj", &Space::default(), &alone).map(|_| ()).unwrap_err().to_string()
    };
    let good = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    for (bad, expected) in [
        ("", "not an OBJ file: it has no line with a vertex (v x y z)"),
        ("{\"asset\": {}}", "not an OBJ file: it has no line with a vertex (v x y z)"),
        ("v 1 2", "line 1: a vertex of 2 numbers; 3 are expected"),
        ("v 1 2 x", "line 1: \"x\" is no number"),
        ("v 1 2 3 4 5", "line 1: a vertex of 5 numbers; 3 are expected"),
        ("v 1 2 nan", "vertex 0 is not finite"),
        ("v 1 2 1e999", "vertex 0 is not finite"),
        (&format!("{good}f 1 2 4"), "line 4: a face names vertex 4, but there are 3"),
        (&format!("{good}f 1 2 4294967296"), "line 4: a face names vertex 4294967296, but there are 3"),
        (&format!("{good}f 1 2 4294967297"), "line 4: a corner \"4294967297\""),
        (&format!("{good}f 1 2 99999999999999999999"), "line 4: a corner \"99999999999999999999\""),
        (&format!("{good}f 1 2 -9223372036854775808"), "line 4: a corner \"-9223372036854775808\""),
        (&format!("{good}f 0 1 2"), "line 4: a corner \"0\""),
        (&format!("{good}\n\nf 1 2 -4"), "line 6: a corner \"-4\""),
        (&format!("{good}f 1 2 /3"), "line 4: a corner without a vertex"),
        (&format!("{good}f 1/1 2/1 3/1"), "line 4: a face names texture coordinate 1, but there are 0"),
        (&format!("{good}vt\n"), "line 4: a texture coordinate without numbers"),
        (&format!("{good}f 1 2 x\\"), "line 4: a corner \"x\""),
    ] {
        let found = text(bad);
        assert!(found.contains(expected), "expected: {expected}\n   found: {found}");
    }
}

#[test]
fn a_line_of_a_million_corners_is_read() {
    let mut text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf".to_owned();
    text.push_str(&" 1/1/1 2/2/2 3/3/3".repeat(333_333));
    text.push_str("\nvt 0 0\nvt 1 0\nvt 0 1\n");
    text.push_str(&"f 1 \\\n2 \\\n3\n".repeat(100_000));
    text.push_str(&format!("f {}1\n", "1 \\\n".repeat(100_000)));
    let alone = |_: &str, _| Err(std::io::ErrorKind::NotFound.into());
    let mesh = obj::read(text.as_bytes(), "a.obj", &Space::default(), &alone).unwrap().mesh.unwrap();
    assert_eq!(mesh.triangles.len(), 999_997 + 100_000 + 99_999);
}

#[test]
fn point_caches_that_lie_about_their_length_say_so() {
    let [.., (_, pc2, pc2_bytes), (_, mdd, mdd_bytes), _, _, _] = &formats()[..] else { panic!("ten formats") };
    let altered = |bytes: &[u8], changes: &[(usize, u8)]| {
        let mut bytes = bytes.to_vec();
        changes.iter().for_each(|(at, value)| bytes[*at] = *value);
        bytes
    };
    let text = |read: &Reader, bytes: Vec<u8>| read(&bytes).map(|_| ()).unwrap_err().to_string();
    for (changes, expected) in [
        (vec![(0, b'Q')], "not a PC2 file: it does not start with \"POINTCACHE2\""),
        (vec![(12, 2)], "version 2 of PC2 is not supported"),
        (vec![(19, 0x80)], "its header promises 2 frames of -2147483646 points"),
        (vec![(16, 0)], "its header promises 2 frames of 0 points"),
        (vec![(31, 0xff)], "its header promises -16777214 frames of 2 points"),
        (vec![(30, 1)], "65538 frames of 2 points take 1572912 bytes, but only 48 follow"),
        (vec![(19, 0x7f), (31, 0x7f)], "2130706434 frames of 2130706434 points take 5447891889466795"),
        (vec![(22, 0x80), (23, 0x7f)], "its first frame is inf"),
    ] {
        let found = text(pc2, altered(pc2_bytes, &changes));
        assert!(found.contains(expected), "expected: {expected}\n   found: {found}");
    }
    for (changes, expected) in [
        (vec![(0, 0x80)], "its header promises -2147483646 frames of 2 points"),
        (vec![(7, 0)], "its header promises 2 frames of 0 points"),
        (vec![(0, 0x7f)], "2130706434 frames are promised, but only 56 bytes follow"),
        (vec![(7, 3)], "2 frames of 3 points take 72 bytes, but only 48 follow"),
        (vec![(7, 1)], "2 frames of 1 points take 24 bytes, but 48 follow"),
        (vec![(8, 0x7f), (9, 0xc0)], "the time of frame 0 is not finite"),
    ] {
        let found = text(mdd, altered(mdd_bytes, &changes));
        assert!(found.contains(expected), "expected: {expected}\n   found: {found}");
    }
    let longer = pc2(&[pc2_bytes.as_slice(), b"more"].concat()).unwrap();
    assert_eq!(
        longer.warnings[0].to_string(),
        "1: counts disagree with the data (first: 4 bytes after the last of 2 samples)"
    );
    let spoilt = mdd(&altered(mdd_bytes, &[(16, 0x7f), (17, 0xc0)])).unwrap();
    assert_eq!(spoilt.warnings[0].to_string(), "1: frames with non-finite numbers were left out (first: frame 0)");
    assert_eq!(spoilt.records.len(), 1);
    let zero = Space { metres_per_unit: 0.0, ..Space::default() };
    let text = point_cache::read_pc2(pc2_bytes, "a", &zero).map(|_| ()).unwrap_err().to_string();
    assert_eq!(text, "a unit of 0 metres is not supported");
}

/// Masks that say nothing, are no shares, or are of other vertices name array and pose.
#[test]
fn masks_that_cannot_be_are_refused_by_name() {
    for (key, array, expected) in [
        (
            "mask",
            floats(&[1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0], &[2, 4]),
            "array \"mask\": pose \"bent\" has no vertex above 0.5",
        ),
        (
            "mask",
            floats(&[1.0, 0.0, 1.5, 0.0, 1.0, 0.0, 0.0, 0.0], &[2, 4]),
            "array \"mask\": pose \"rest\", vertex 2 is 1.5; 0 to 1 is expected",
        ),
        ("mask", floats(&[f64::NAN; 8], &[2, 4]), "pose \"rest\", vertex 0 is NaN; 0 to 1 is expected"),
        ("mask", floats(&[1.0; 4], &[1, 4]), "array \"mask\" has shape (1, 4), but (2, any) is expected"),
        ("mask", floats(&[1.0; 6], &[2, 3]), "array \"mask\" has 3 vertices, but \"vertices\" has 4"),
        ("shown", floats(&[1.0; 18], &[2, 3, 3]), "array \"shown\" has 3 vertices, but \"vertices\" has 4"),
    ] {
        let arrays = [tiny_rig(), vec![(key, array)]].concat();
        let error = npz::read(&bundle(&arrays), "a.npz").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
