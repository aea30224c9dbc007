//! Bundles made array by array, as `numpy.savez` lays them out, and read back.

mod archive;

use archive::{Npy, bundle, floats, integers, replace, streamed, texts, tiny_rig};
use dermis_io::npz::{self, StoredFloat};
use dermis_io::to_bytes;
use dermis_io::{Contents, ReadError, Record, Space, UpAxis, WriteError};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneIndex, Influences, LocalSculpt, Mesh, Polygons, Skeleton, WorldPose};

fn read(arrays: &[(&str, Npy)]) -> Contents {
    npz::read(&bundle(arrays), "tiny.npz").unwrap()
}

fn warnings(contents: &Contents) -> Vec<String> {
    contents.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn a_rig_with_examples_is_read() {
    let contents = read(&tiny_rig());
    let mesh = contents.mesh.as_ref().unwrap();
    assert_eq!(mesh.positions[2], DVec3::new(2.0, 1.0, 0.0));
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
    assert_eq!(mesh.polygons, Some(Polygons { counts: vec![4], indices: vec![0, 1, 2, 3] }));
    let skeleton = contents.skeleton.as_ref().unwrap();
    assert_eq!(skeleton.names().to_vec(), ["root", "tip"]);
    assert_eq!(skeleton.parents().to_vec(), [None, Some(BoneIndex::new(0))]);
    assert_eq!(skeleton.bind()[BoneIndex::new(1)], DAffine3::from_translation(DVec3::X));
    let labels: Vec<_> = contents.records.iter().map(|r| (r.label.as_str(), r.time, r.importance)).collect();
    assert_eq!(labels, [("rest", Some(0.0), 1.0), ("bent", Some(0.5), 2.0)]);
    assert_eq!(contents.records[1].positions.as_ref().unwrap()[2], DVec3::new(3.0, 1.5, 0.0));
    assert_eq!(contents.weights.as_ref().unwrap().of(1), [(BoneIndex::new(0), 0.25), (BoneIndex::new(1), 0.75)]);
    assert_eq!((contents.space, contents.frames_per_second), (Space::default(), Some(2.0)));
    assert_eq!(contents.unread, ["extra"]);
    assert_eq!(contents.warnings, []);
}

/// In slices of one record, of several, of all; stored and deflated; records that are not finite left out alike.
#[test]
fn a_bundle_read_in_slices_holds_what_it_holds_as_a_whole() {
    let mut arrays = tiny_rig();
    let copies = |key: &str| arrays.iter().find(|(k, _)| *k == key).unwrap().1.floats().repeat(3);
    let (poses, mut shapes) = (copies("pose_matrices"), copies("vertices"));
    shapes[3 * 12 + 5] = f64::NAN;
    arrays.retain(|(key, _)| {
        !matches!(*key, "pose_labels" | "pose_weights" | "frame_times" | "channels" | "channel_names")
    });
    replace(&mut arrays, "pose_matrices", floats(&poses, &[6, 2, 4, 4]));
    replace(&mut arrays, "vertices", floats(&shapes, &[6, 4, 3]));
    let members = || arrays.iter().map(|(key, array)| (format!("{key}.npy"), array.bytes())).collect::<Vec<_>>();
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        let bytes = archive::archive(members().iter().map(|(name, bytes)| (name.as_str(), bytes.clone())), method);
        let whole = npz::read(&bytes, "a.npz").unwrap();
        assert_eq!(whole.left_out, ["3"]);
        for (most, expected) in [(0, vec![1; 5]), (2 * 4 * 24, vec![2, 2, 1]), (usize::MAX, vec![5])] {
            let (mut records, mut sizes) = (Vec::new(), Vec::new());
            let reader = std::io::Cursor::new(&bytes);
            let contents = npz::stream(reader, bytes.len() as u64, "a.npz", most, |contents| {
                sizes.push(contents.records.len());
                records.append(&mut contents.records);
                Ok::<_, ReadError>(())
            });
            let contents = contents.unwrap().unwrap();
            assert_eq!(sizes, expected);
            assert_eq!(records, whole.records);
            assert_eq!((&contents.left_out, &contents.unread), (&whole.left_out, &whole.unread));
            assert_eq!((&contents.mesh, &contents.warnings), (&whole.mesh, &whole.warnings));
        }
    }
}

/// The same character in centimetres with Z up: skinning with what was read is C times skinning in the file's space.
#[test]
fn axes_and_units_are_converted_alike_everywhere() {
    let mut arrays = tiny_rig();
    let plain = read(&arrays);
    replace(&mut arrays, "up_axis", texts("Z", &[]));
    replace(&mut arrays, "units", texts("Centimetres ", &[]));
    let turned = read(&arrays);
    assert_eq!(turned.space, Space { up: UpAxis::Z, metres_per_unit: 0.01, unit: "m".into() });
    let c = turned.space.to_ours();
    let skinned = |contents: &Contents, record: usize| -> Vec<DVec3> {
        let pose = contents.records[record].pose.as_ref().unwrap();
        let transforms = contents.skeleton.as_ref().unwrap().bone_transforms(pose);
        let weights = contents.weights.as_ref().unwrap();
        let rest = &contents.mesh.as_ref().unwrap().positions;
        let blend = |v: usize| weights.of(v).iter().map(|(b, w)| *w * transforms[*b].transform_point3(rest[v])).sum();
        (0..rest.len()).map(blend).collect()
    };
    for record in 0..2 {
        for (a, b) in skinned(&plain, record).into_iter().zip(skinned(&turned, record)) {
            assert!(c.transform_point3(a).abs_diff_eq(b, 1e-16), "{a} {b}"); // a few centimetres, a few roundings
        }
    }
}

#[test]
fn any_subset_is_a_bundle() {
    let only = |keys: &[&str]| {
        let arrays: Vec<_> = tiny_rig().into_iter().filter(|(key, _)| keys.contains(key)).collect();
        read(&arrays)
    };
    let sequence = only(&["rest_vertices", "face_counts", "face_indices", "vertices", "units", "up_axis"]);
    assert_eq!(sequence.mesh.unwrap().triangles, [[0, 1, 2], [0, 2, 3]]);
    assert!(sequence.skeleton.is_none() && sequence.records.iter().all(|r| r.pose.is_none() && r.positions.is_some()));
    assert_eq!((sequence.records[1].label.as_str(), sequence.records[1].time), ("1", None));

    let shapes = only(&["vertices", "fps"]);
    assert!(shapes.mesh.is_none() && shapes.records[1].time == Some(0.5));
    let unknown = "2: unit or axes are not stated; metres and Y up are assumed (first: up_axis)";
    assert_eq!(warnings(&shapes), [unknown]);

    let rig = only(&["rest_vertices", "faces", "bone_names", "bone_parents", "bind_matrices", "lbs_weights"]);
    assert!(rig.skeleton.is_some() && rig.weights.is_some() && rig.records.is_empty());

    let motion = only(&["pose_matrices", "bone_names", "pose_labels"]);
    assert!(motion.skeleton.is_none() && motion.mesh.is_none());
    assert_eq!(motion.bone_names, ["root", "tip"]);
    assert_eq!(motion.records[1].pose.as_ref().unwrap().bones.len(), 2);

    let nothing: Vec<_> = tiny_rig().into_iter().filter(|(key, _)| *key == "extra").collect();
    let why = npz::read(&bundle(&nothing), "a").unwrap_err().to_string();
    assert_eq!(why, "not an NPZ bundle file: it holds none of a bundle's arrays, but 1 others (extra)");
}

/// Faces of four columns: quads, the concave one split within its outline; −1 or a repeated corner at the end makes a triangle.
#[test]
fn faces_of_four_columns_are_quads() {
    let dart = [2.0, -1.0, 0.0, 0.5, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 9.0, 0.0, 0.0];
    let listed = [0, 1, 2, 3, 1, 4, 2, -1, 2, 4, 3, 3];
    let unsigned =
        |size: usize| -> Vec<u8> { listed.iter().flat_map(|v: &i64| v.to_le_bytes()[..size].to_vec()).collect() };
    let mut kinds = vec![integers(&listed, &[3, 4])];
    kinds.extend([1, 2, 4, 8].map(|size| Npy { descr: format!("<u{size}"), shape: vec![3, 4], data: unsigned(size) }));
    for faces in kinds {
        let kind = faces.descr.clone();
        let mesh = read(&[("rest_vertices", floats(&dart, &[5, 3])), ("faces", faces)]).mesh.unwrap();
        let polygons = Polygons { counts: vec![4, 3, 3], indices: vec![0, 1, 2, 3, 1, 4, 2, 2, 4, 3] };
        assert_eq!(mesh.polygons, Some(polygons), "{kind}");
        assert_eq!(mesh.triangles[2..], [[1, 4, 2], [2, 4, 3]]);
        let area = |[a, b, c]: [u32; 3]| {
            let [a, b, c] = [a, b, c].map(|corner| mesh.positions[corner as usize]);
            (b - a).cross(c - a).z / 2.0
        };
        assert_eq!(mesh.triangles[..2].iter().map(|t| area(*t)).collect::<Vec<_>>(), [0.25, 0.25], "{kind}");
        // Written and read again it is the same.
        let again =
            npz::read(&bytes_of(&Contents { mesh: Some(mesh.clone()), ..Contents::default() }), "b").unwrap().mesh;
        assert_eq!(again, Some(mesh), "{kind}");
    }
}

fn bytes_of(contents: &Contents) -> Vec<u8> {
    to_bytes(|out| npz::write(contents, StoredFloat::Double, out)).unwrap()
}

/// −1 as an unsigned number has it, in every width.
#[test]
fn a_root_may_be_stored_without_a_sign() {
    for size in [1usize, 2, 4, 8] {
        for big in [false, true] {
            let word = |value: u64| -> Vec<u8> {
                if big { value.to_be_bytes()[8 - size..].to_vec() } else { value.to_le_bytes()[..size].to_vec() }
            };
            let mut arrays = tiny_rig();
            let descr = format!("{}u{size}", if big { ">" } else { "<" });
            replace(
                &mut arrays,
                "bone_parents",
                Npy { descr, shape: vec![2], data: [word(u64::MAX), word(0)].concat() },
            );
            let skeleton = read(&arrays).skeleton.unwrap();
            assert_eq!(skeleton.parents().to_vec(), [None, Some(BoneIndex::new(0))], "{size} {big}");
        }
    }
    // Any other number that names no bone is still a mistake.
    let mut arrays = tiny_rig();
    replace(&mut arrays, "bone_parents", Npy { descr: "|u1".into(), shape: vec![2], data: vec![255, 254] });
    let why = npz::read(&bundle(&arrays), "a").unwrap_err().to_string();
    assert!(why.contains("names parent 254, but there are 2 bones"), "{why}");
}

/// Arrays of 16 bits: whatever has a place in them is exact, also in slices.
#[test]
fn halves_are_numbers_like_others() {
    let halves = |array: &Npy| {
        let half = |x: f64| -> u16 {
            let bits = (x as f32).to_bits();
            if x == 0.0 { 0 } else { ((bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10))) as u16 }
        };
        Npy {
            descr: "<f2".into(),
            shape: array.shape.clone(),
            data: array.floats().iter().flat_map(|x| half(*x).to_le_bytes()).collect(),
        }
    };
    let whole = read(&tiny_rig());
    let mut arrays = tiny_rig();
    for key in
        ["rest_vertices", "bind_matrices", "vertices", "lbs_weights", "influence_maps", "pose_weights", "frame_times"]
    {
        let array = arrays.iter().find(|(k, _)| *k == key).unwrap().1.clone();
        replace(&mut arrays, key, halves(&array));
    }
    let found = read(&arrays);
    assert_eq!((&found.mesh, &found.skeleton, &found.records), (&whole.mesh, &whole.skeleton, &whole.records));
    assert_eq!((&found.weights, &found.influence_maps), (&whole.weights, &whole.influence_maps));
    assert_eq!(streamed(&bundle(&arrays)).unwrap().records, whole.records);
}

/// A vertex that is finite in no frame is known, and so that there is none.
#[test]
fn the_vertex_that_is_never_finite_is_named() {
    for (bad, expected) in [([5, 12 + 3], Some(1)), ([5, 12 + 6], None)] {
        let mut arrays = tiny_rig();
        let mut vertices = arrays.iter().find(|(key, _)| *key == "vertices").unwrap().1.floats();
        bad.iter().for_each(|at| vertices[*at] = f64::NAN);
        replace(&mut arrays, "vertices", floats(&vertices, &[2, 4, 3]));
        for contents in [read(&arrays), streamed(&bundle(&arrays)).unwrap()] {
            assert_eq!((contents.records.len(), contents.left_out.len()), (0, 2));
            assert_eq!(contents.never_finite, expected);
        }
    }
}

/// Times and rates that 32 bits would make one, or nothing, are stored in 64.
#[test]
fn times_that_ascend_stay_apart() {
    let record = |time: f64| Record {
        label: String::new(),
        time: Some(time),
        pose: None,
        positions: Some(vec![DVec3::ONE]),
        importance: 1.0,
        local: None,
    };
    for (times, rate) in [([1e6, 1e6 + 0.01], 100.0), ([0.0, 1e-300], 1e300), ([0.0, 1e300], 1e-300), ([0.0, 0.5], 2.0)]
    {
        let contents =
            Contents { records: times.map(record).to_vec(), frames_per_second: Some(rate), ..Contents::default() };
        let bytes = to_bytes(|out| npz::write(&contents, StoredFloat::Single, out)).unwrap();
        let again = npz::read(&bytes, "a").unwrap();
        assert_eq!(again.records.iter().map(|r| r.time.unwrap()).collect::<Vec<_>>(), times);
        assert_eq!(again.frames_per_second, Some(rate));
    }
}

/// The tiny rig, in which two poses have two channels.
fn with_channels(names: Npy, values: Npy) -> Vec<(&'static str, Npy)> {
    [tiny_rig(), vec![("channel_names", names), ("channels", values)]].concat()
}

/// Channels of a record, sorted by their name.
fn channels(record: &Record) -> Vec<(&str, f64)> {
    let mut list: Vec<(&str, f64)> =
        record.pose.as_ref().unwrap().channels.iter().map(|(name, value)| (&**name, *value)).collect();
    list.sort_by_key(|c| c.0);
    list
}

#[test]
fn channels_belong_to_their_names_in_any_order() {
    let one = read(&with_channels(texts("flex load", &[2]), floats(&[0.0, 0.0, 1.5, -2.0], &[2, 2])));
    let other = read(&with_channels(texts("load flex", &[2]), integers(&[0, 0, -2, 2], &[2, 2])));
    assert_eq!(channels(&one.records[1]), [("flex", 1.5), ("load", -2.0)]);
    assert_eq!(channels(&other.records[1]), [("flex", 2.0), ("load", -2.0)]);
    assert_eq!((&one.unread, &one.warnings), (&vec!["extra".to_owned()], &vec![]));
    // To the deformers the order is none.
    let of = |record: &Record| {
        let pose = record.pose.as_ref().unwrap();
        let skeleton = one.skeleton.as_ref().unwrap();
        let moved = skeleton.bone_transforms(pose);
        [moved.channel("flex"), moved.channel("load"), moved.channel("never heard of")]
    };
    assert_eq!(of(&one.records[1]), [1.5, -2.0, 0.0]);
    assert_eq!(of(&other.records[1]), [2.0, -2.0, 0.0]);
    // Beside a sequence without poses nobody reads them.
    let shapes: Vec<_> = with_channels(texts("a b", &[2]), floats(&[0.0; 4], &[2, 2]))
        .into_iter()
        .filter(|(key, _)| *key != "pose_matrices")
        .collect();
    assert_eq!(read(&shapes).unread, ["channel_names", "channels", "extra"]);
}

#[test]
fn a_pose_with_a_channel_that_is_no_number_is_left_out() {
    for bad in [f64::NAN, f64::INFINITY] {
        let contents = read(&with_channels(texts("flex load", &[2]), floats(&[0.0, bad, 1.5, -2.0], &[2, 2])));
        assert_eq!(contents.left_out, ["rest"]);
        assert_eq!((contents.records.len(), channels(&contents.records[0])[0]), (1, ("flex", 1.5)));
        assert_eq!(warnings(&contents).len(), 1);
    }
}

#[test]
fn channels_that_disagree_with_their_names_are_refused() {
    let why = |arrays: &[(&str, Npy)]| npz::read(&bundle(arrays), "a").unwrap_err().to_string();
    for (names, values, says) in [
        (texts("flex load", &[2]), floats(&[0.0; 6], &[2, 3]), "array \"channels\" has shape (2, 3), but (2, 2) is"),
        (texts("flex load", &[2]), floats(&[0.0; 6], &[3, 2]), "array \"channels\" has shape (3, 2), but (2, 2) is"),
        (texts("flex load", &[2]), floats(&[0.0; 2], &[2]), "array \"channels\" has shape (2,), but (2, 2) is"),
        (texts("flex load", &[1, 2]), floats(&[0.0; 4], &[2, 2]), "array \"channel_names\" has shape (1, 2)"),
        (texts("flex flex", &[2]), floats(&[0.0; 4], &[2, 2]), "array \"channel_names\" holds \"flex\" twice"),
        (floats(&[1.0, 2.0], &[2]), floats(&[0.0; 4], &[2, 2]), "array \"channel_names\" holds numbers where text"),
        (texts("flex load", &[2]), texts("a b c d", &[2, 2]), "array \"channels\" holds text where numbers"),
    ] {
        let found = why(&with_channels(names, values));
        assert!(found.contains(says), "expected: {says}\n   found: {found}");
    }
    let mut alone = tiny_rig();
    alone.push(("channels", floats(&[0.0; 4], &[2, 2])));
    assert!(why(&alone).contains("there is \"channels\", but no \"channel_names\""), "{}", why(&alone));
    alone.pop();
    alone.push(("channel_names", texts("flex load", &[2])));
    assert!(why(&alone).contains("there is \"channel_names\", but no \"channels\""), "{}", why(&alone));
}

/// Every pose has its own channels; what one lacks is zero there, as at rest.
#[test]
fn channels_are_written_and_read_back() {
    let mut before = full(Space::default());
    let own: [&[(&str, f64)]; 3] = [&[("load", -2.5), ("flex", 0.1)], &[], &[("Größe", 3.0), ("load", 1e-9)]];
    for (record, own) in before.records.iter_mut().zip(own) {
        let channels = own.iter().map(|(name, value)| ((*name).into(), *value)).collect();
        record.pose.as_mut().unwrap().channels = channels;
    }
    let after = npz::read(&to_bytes(|out| npz::write(&before, StoredFloat::Double, out)).unwrap(), "").unwrap();
    assert_eq!((after.warnings, after.records.len()), (vec![], 3));
    let expected = [[0.1, 0.0, -2.5], [0.0, 0.0, 0.0], [0.0, 3.0, 1e-9]];
    for (record, [flex, size, load]) in after.records.iter().zip(expected) {
        assert_eq!(channels(record), [("Größe", size), ("flex", flex), ("load", load)]);
    }
    before.records[2].pose.as_mut().unwrap().channels[0].1 = f64::NAN;
    let refused = to_bytes(|out| npz::write(&before, StoredFloat::Double, out)).unwrap_err().to_string();
    assert!(refused.contains("\"channels\" is not finite"), "{refused}");
}

#[test]
fn units_in_words_of_their_own_are_kept() {
    let mut arrays = tiny_rig();
    for (text, metres, unit) in [
        ("inches", 0.0254, "m"),
        ("FT", 0.3048, "m"),
        ("mm", 0.001, "m"),
        ("source units (not metric), Z up", 1.0, "source units (not metric), Z up"),
    ] {
        replace(&mut arrays, "units", texts(text, &[]));
        let space = read(&arrays).space;
        assert_eq!((space.metres_per_unit, space.unit.as_str(), space.up), (metres, unit, UpAxis::Y));
    }
}

/// Bones children first: poses, weights and parents follow the names.
#[test]
fn bones_are_sorted_with_all_that_belongs_to_them() {
    let mut arrays = tiny_rig();
    let before = read(&arrays);
    let swap = |values: &[f64], size: usize| -> Vec<f64> {
        values.chunks(2 * size).flat_map(|two| [&two[size..], &two[..size]].concat()).collect()
    };
    for (key, size) in [("bind_matrices", 16), ("pose_matrices", 16), ("lbs_weights", 1), ("influence_maps", 1)] {
        let (_, array) = arrays.iter_mut().find(|(k, _)| *k == key).unwrap();
        *array = floats(&swap(&array.floats(), size), &array.shape);
    }
    replace(&mut arrays, "bone_names", texts("tip root", &[2]));
    replace(&mut arrays, "bone_parents", integers(&[1, -1], &[2]));
    let after = read(&arrays);
    assert_eq!(warnings(&after), ["2: bones were reordered so that parents come first (first: root)"]);
    assert_eq!(after.skeleton, before.skeleton);
    assert_eq!(after.records, before.records);
    assert_eq!((after.weights, after.influence_maps), (before.weights, before.influence_maps));
}

#[test]
fn flaws_are_mended_and_counted() {
    let mut arrays = tiny_rig();
    replace(&mut arrays, "lbs_weights", floats(&[0.997, 0.0, -1.0, 1.0, 0.0, 0.0, 0.5, 0.5], &[4, 2]));
    replace(&mut arrays, "bone_names", texts("arm arm", &[2]));
    replace(&mut arrays, "faces", integers(&[0, 1, 1, 0, 1, 2, 0, 2, 3], &[3, 3]));
    let mut vertices = arrays.iter().find(|(key, _)| *key == "vertices").unwrap().1.floats();
    vertices[5] = f64::NAN;
    replace(&mut arrays, "vertices", floats(&vertices, &[2, 4, 3]));
    let contents = read(&arrays);
    assert_eq!(
        warnings(&contents),
        [
            "1: counts disagree with the data (first: 3 triangles in \"faces\", 2 by \"face_counts\")",
            "1: triangles have no area (first: triangle 0, [0, 1, 1])",
            "1: bones, clips, shapes or markers shared a name and were renamed (first: arm)",
            "1: weights did not sum to one and were scaled (first: vertex 0, sum 0.997)",
            "1: negative weights were set to zero (first: vertex 1, sum 1)",
            "1: vertices without weights were bound to the first bone (first: vertex 2, sum 0)",
            "1: frames with non-finite numbers were left out (first: rest)",
        ]
    );
    assert_eq!(contents.records.len(), 1);
    assert_eq!(contents.skeleton.unwrap().names().to_vec(), ["arm", "arm.2"]);
}

/// Contents of every kind.
fn full(space: Space) -> Contents {
    let mesh = Mesh {
        positions: (0..6).map(|v| DVec3::new(f64::from(v), f64::from(v % 2), 0.125)).collect(),
        triangles: vec![[0, 1, 2], [0, 2, 3], [3, 4, 5]],
        polygons: Some(Polygons { counts: vec![4, 3], indices: vec![0, 1, 2, 3, 3, 4, 5] }),
        ..Mesh::default()
    };
    let bone = |at: f64| DAffine3::from_rotation_translation(DQuat::from_rotation_z(at), DVec3::new(at, 0.0, 1.0));
    let parents = vec![None, Some(BoneIndex::new(0))];
    let skeleton = Skeleton::new(vec!["hüfte".into(), "knee".into()], parents, vec![bone(0.0), bone(0.5)]);
    let record = |at: f64| Record {
        label: format!("pose {at}"),
        time: Some(at),
        pose: Some(WorldPose::new(vec![bone(at), bone(at * 2.0)])),
        positions: Some(mesh.positions.iter().map(|p| *p + at).collect()),
        importance: 1.0 + at,
        local: None,
    };
    let weights = [1.0, 0.0, 0.5, 0.5, 0.25, 0.75, 0.0, 1.0, 1.0, 0.0, 0.5, 0.5];
    Contents {
        space,
        records: vec![record(0.0), record(0.25), record(0.5)],
        skeleton: Some(skeleton.unwrap()),
        weights: Some(Influences::from_dense(&weights, 2).unwrap()),
        influence_maps: Some(Influences::from_dense(&[0.5; 12], 2).unwrap()),
        mesh: Some(mesh),
        frames_per_second: Some(4.0),
        ..Contents::default()
    }
}

/// Masks and shown skins come back, with ones for a record that says all of its skin; what no array can say is refused.
#[test]
fn masks_and_shown_skins_come_back() {
    let space = Space { up: UpAxis::Z, metres_per_unit: 0.01, ..Space::default() };
    let mut contents = full(space);
    let local = |shift: f64, record: &Record| LocalSculpt {
        mask: Some((0..6).map(|v| f64::from(v) > 1.0 + shift).collect()),
        shown: record.positions.as_ref().map(|all| all.iter().map(|p| *p + shift).collect()),
    };
    for (at, shift) in [(0, 1.0), (2, 2.0)] {
        contents.records[at].local = Some(local(shift, &contents.records[at]));
    }
    let bytes = to_bytes(|out| npz::write(&contents, StoredFloat::Double, out)).unwrap();
    let read = npz::read(&bytes, "a.npz").unwrap();
    for (at, (before, after)) in contents.records.iter().zip(&read.records).enumerate() {
        let after = after.local.as_ref().unwrap();
        let whole = LocalSculpt { mask: Some(vec![true; 6]), shown: before.positions.clone() };
        let before = before.local.as_ref().unwrap_or(&whole);
        assert_eq!(before.mask, after.mask, "{at}");
        let (before, after) = (before.shown.as_ref().unwrap(), after.shown.as_ref().unwrap());
        assert!(before.iter().zip(after).all(|(a, b)| a.distance(*b) < 1e-12), "{at}");
    }
    contents.records[0].local = Some(LocalSculpt::default());
    let error = to_bytes(|out| npz::write(&contents, StoredFloat::Double, out)).unwrap_err().to_string();
    assert!(error.contains("a local sculpt without a mask"), "{error}");
    contents.records[0].local = Some(LocalSculpt { shown: None, ..local(1.0, &contents.records[0]) });
    let error = to_bytes(|out| npz::write(&contents, StoredFloat::Double, out)).unwrap_err().to_string();
    assert!(error.contains("without a shown skin"), "{error}");
}

/// Shapes that are given one by one make the bytes of shapes that are held, whatever their number of bytes; one that ends early is an error.
#[test]
fn shapes_that_are_not_held_make_the_same_bytes() {
    let mut random = dermis_testkit::Random::new(3);
    for (records, vertices) in [(1, 1), (7, 5462), (40, 50_000)] {
        let positions: Vec<DVec3> = (0..vertices).map(|_| DVec3::X * random.between(-1.0, 1.0)).collect();
        let mesh = Mesh { positions, ..Mesh::default() };
        let record = |at: usize, random: &mut dermis_testkit::Random| Record {
            label: format!("frame {at}"),
            time: Some(at as f64),
            pose: None,
            // A third of the numbers repeats those before.
            positions: Some(
                (0..vertices).map(|_| DVec3::new(random.between(-2.0, 2.0), 1.0, at as f64 / 7.0)).collect(),
            ),
            importance: 1.0,
            local: None,
        };
        let held: Vec<Record> = (0..records).map(|at| record(at, &mut random)).collect();
        let bare = |record: &Record| Record { positions: None, ..record.clone() };
        let contents = |records: Vec<Record>| Contents { mesh: Some(mesh.clone()), records, ..Contents::default() };
        for float in [StoredFloat::Single, StoredFloat::Double] {
            let expected = to_bytes(|out| npz::write(&contents(held.clone()), float, out)).unwrap();
            let streamed = |until: usize| {
                let mut out = std::io::Cursor::new(Vec::new());
                let mut fill = |at: usize, shape: &mut Vec<DVec3>| {
                    shape.clone_from(held[at].positions.as_ref().unwrap());
                    if at < until { Ok(()) } else { Err(WriteError::Ended) }
                };
                let bare = contents(held.iter().map(bare).collect());
                npz::write_streamed(&bare, float, &mut fill, &mut out).map(|()| out.into_inner())
            };
            assert!(streamed(records).unwrap() == expected, "{records} of {vertices}");
            assert_eq!(streamed(records - 1), Err(WriteError::Ended));
        }
    }
}

#[test]
fn what_is_written_is_read() {
    // Numbers up to 6 are rounded to 2⁻²⁴ of themselves in 32 bits; converting back and forth costs a few 2⁻⁵³.
    let (single, double) = (6.0 * 6e-8, 1e-14);
    let inches = Space { up: UpAxis::Z, metres_per_unit: 0.0254, unit: "m".into() };
    for (space, precision, tolerance) in [
        (Space::default(), StoredFloat::Double, 0.0),
        (Space { unit: "cubits".into(), ..Space::default() }, StoredFloat::Single, single),
        (inches, StoredFloat::Double, double),
        (Space { up: UpAxis::Z, metres_per_unit: 0.01, unit: "m".into() }, StoredFloat::Single, single),
    ] {
        let before = full(space);
        let bytes = to_bytes(|out| npz::write(&before, precision, out)).unwrap();
        assert_eq!(
            bytes,
            to_bytes(|out| npz::write(&before, precision, out)).unwrap(),
            "the same contents give the same bytes"
        );
        let after = npz::read(&bytes, "").unwrap();
        assert_eq!(after.warnings, []);
        assert_eq!(after.space, before.space);
        assert_eq!(after.frames_per_second, before.frames_per_second);
        assert_eq!((&after.weights, &after.influence_maps), (&before.weights, &before.influence_maps));
        let close =
            |a: &[DVec3], b: &[DVec3]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.abs_diff_eq(*b, tolerance));
        let same = |a: &[DAffine3], b: &[DAffine3]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.abs_diff_eq(*b, tolerance))
        };
        let (a, b) = (after.mesh.unwrap(), before.mesh.unwrap());
        assert_eq!((&a.triangles, &a.polygons), (&b.triangles, &b.polygons));
        assert!(close(&a.positions, &b.positions));
        let (a, b) = (after.skeleton.unwrap(), before.skeleton.unwrap());
        assert_eq!((a.names(), a.parents()), (b.names(), b.parents()));
        assert!(same(a.bind(), b.bind()));
        assert_eq!(after.records.len(), before.records.len());
        for (a, b) in after.records.iter().zip(&before.records) {
            assert_eq!((&a.label, a.time, a.importance), (&b.label, b.time, b.importance));
            assert!(close(a.positions.as_ref().unwrap(), b.positions.as_ref().unwrap()));
            assert!(same(&a.pose.as_ref().unwrap().bones, &b.pose.as_ref().unwrap().bones));
        }
    }
}

#[test]
fn a_unit_that_bundles_cannot_name_is_written_in_metres() {
    let before = full(Space { up: UpAxis::Z, metres_per_unit: 0.9144, unit: "m".into() });
    let after = npz::read(&to_bytes(|out| npz::write(&before, StoredFloat::Double, out)).unwrap(), "").unwrap();
    assert_eq!(after.space, Space { up: UpAxis::Z, ..Space::default() });
    assert!(after.mesh.unwrap().positions[5].abs_diff_eq(before.mesh.unwrap().positions[5], 1e-15));
}

#[test]
fn what_cannot_be_written_is_named() {
    let why = |change: &dyn Fn(&mut Contents)| {
        let mut contents = full(Space::default());
        change(&mut contents);
        to_bytes(|out| npz::write(&contents, StoredFloat::Single, out)).unwrap_err().to_string()
    };
    let text = why(&|c| c.records[1].pose = None);
    assert_eq!(text, "a NPZ bundle file cannot hold record \"pose 0.25\" without a pose, as 2 others have");
    let text = why(&|c| c.records[1].positions = Some(vec![]));
    assert_eq!(text, "record \"pose 0.25\" has 0 vertices, but 6 are expected");
    let text = why(&|c| c.mesh.as_mut().unwrap().positions[1].y = 1e39);
    assert_eq!(text, "value 4 of \"rest_vertices\" is not finite in 32 bits");
    let text = why(&|c| c.weights = Some(Influences::from_dense(&[1.0, 0.0], 2).unwrap()));
    assert_eq!(text, "lbs_weights has 1 vertices, but 6 are expected");
    let empty = to_bytes(|out| npz::write(&Contents::default(), StoredFloat::Single, out));
    assert!(matches!(empty, Err(WriteError::Nothing { .. })));
}

#[test]
fn pickles_are_refused_by_name() {
    let pickle = |shape: &[u64]| Npy { descr: "|O".into(), shape: shape.to_vec(), data: b"cos\nsystem".to_vec() };
    let mut arrays = tiny_rig();
    replace(&mut arrays, "bone_names", pickle(&[2]));
    let error = npz::read(&bundle(&arrays), "a").unwrap_err();
    assert!(matches!(error, ReadError::Unsupported { .. }));
    let text = "array \"bone_names\": Python objects (a pickle; save text with dtype=str) is not supported";
    assert_eq!(error.to_string(), text);
    // Among the arrays that nothing reads, they are listed like any other.
    let mut arrays = tiny_rig();
    arrays.push(("notes", pickle(&[])));
    assert_eq!(read(&arrays).unread, ["extra", "notes"]);
}

/// Displacements beside the records are turned and scaled like positions, which in axes without an offset are the same: written
/// under the name of the positions they are read back as they were.
#[test]
fn displacements_are_written_in_the_axes_and_unit_of_the_file() {
    let space = Space { up: UpAxis::Z, metres_per_unit: 0.0254, unit: "m".into() };
    let record = |label: &str| Record {
        label: label.into(),
        time: None,
        pose: None,
        positions: None,
        importance: 1.0,
        local: None,
    };
    let mesh = Mesh { positions: vec![DVec3::ZERO, DVec3::X], ..Mesh::default() };
    let contents = Contents { mesh: Some(mesh), space, records: vec![record("a"), record("b")], ..Contents::default() };
    let moved = [vec![DVec3::new(1.0, 2.0, 3.0), DVec3::Y], vec![DVec3::ZERO, DVec3::new(-0.5, 0.0, 1e-9)]];
    let bytes = to_bytes(|out| npz::write_with(&contents, StoredFloat::Double, &[("vertices", &moved)], out)).unwrap();
    let read = npz::read(&bytes, "d.npz").unwrap();
    for (record, moved) in read.records.iter().zip(&moved) {
        let found = record.positions.as_ref().unwrap();
        assert!(found.iter().zip(moved).all(|(a, b)| a.distance(*b) < 1e-15), "{found:?} {moved:?}");
    }
    for (rows, says) in [(&moved[..1], "1 records"), (&[vec![], vec![]], "0 vertices")] {
        let refused = to_bytes(|out| npz::write_with(&contents, StoredFloat::Double, &[("d", rows)], out)).unwrap_err();
        assert!(refused.to_string().contains(says), "{refused}");
    }
}
