//! Alembic against archives that a writer of its own makes.

use dermis_io::{Contents, Flaw, Format, ReadError, Space, UpAxis, alembic, sniff};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_testkit::ogawa::{
    Archive, Object, Property, block, face_set, group, indexed, mesh, param, transform, visible,
};

/// A square in the plane z = 0, its corners clockwise seen from +z, and a triangle behind it.
const COUNTS: [i32; 2] = [4, 3];
const CORNERS: [i32; 7] = [0, 3, 2, 1, 0, 1, 4];

fn square(z: f32) -> Vec<[f32; 3]> {
    vec![[0.0, 0.0, z], [1.0, 0.0, z], [1.0, 1.0, z], [0.0, 1.0, z], [0.5, 0.5, z - 1.0]]
}

fn read(archive: &Archive) -> Result<Contents, ReadError> {
    let bytes = archive.bytes();
    assert_eq!(sniff(&bytes, "a"), Some(Format::Alembic));
    alembic::read(&bytes, "a.abc", &Space::default())
}

fn skins(contents: &Contents) -> Vec<Vec<DVec3>> {
    contents.records.iter().filter_map(|r| r.positions.clone()).collect()
}

fn points(list: &[[f32; 3]]) -> Vec<DVec3> {
    list.iter().map(|p| DVec3::from(p.map(f64::from))).collect()
}

fn at_24() -> Vec<(f64, Vec<f64>)> {
    vec![(1.0 / 24.0, vec![1.0 / 24.0])]
}

#[test]
fn frames_times_and_faces_come_back() {
    // Held at both ends: samples 0 to 2 and 4 to 6 are stored once each.
    let frames: Vec<_> = [0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0].map(square).to_vec();
    let objects = vec![mesh("plate", &COUNTS, &CORNERS, 1, &frames)];
    let contents = read(&Archive { objects, samplings: at_24() }).unwrap();
    assert_eq!(skins(&contents), frames.iter().map(|f| points(f)).collect::<Vec<_>>());
    for (at, record) in contents.records.iter().enumerate() {
        assert!((record.time.unwrap() - (at as f64 + 1.0) / 24.0).abs() < 1e-12);
    }
    assert_eq!(contents.frames_per_second, Some(24.0));
    let found = contents.mesh.unwrap();
    let polygons = found.polygons.unwrap();
    assert_eq!((polygons.counts, polygons.indices), (vec![4, 3], vec![0, 1, 2, 3, 0, 4, 1]));
    assert_eq!(found.positions, points(&frames[0]), "the mesh is the first frame");
    let [a, b, c] = found.triangles[0].map(|corner| found.positions[corner as usize]);
    assert!((b - a).cross(c - a).z > 0.0, "counter-clockwise from outside");
}

#[test]
fn transforms_act_from_the_last_operation_up_to_the_root() {
    let frames = vec![square(0.0); 2];
    let plate = mesh("plate", &COUNTS, &CORNERS, 1, &frames);
    // Scale first, then a turn about y, then a move: the order of the list is the order of the matrices.
    let moves = [vec![1.0, 2.0, 3.0, 90.0, 2.0, 2.0, 2.0], vec![4.0, 2.0, 3.0, 0.0, 2.0, 2.0, 2.0]];
    let inner = transform("inner", true, &[1, 5, 0], 1, &moves, plate);
    // A quarter turn about z as a matrix with its translation in the last row.
    let matrix = vec![0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 10.0, 0.0, 0.0, 1.0];
    let outer = transform("outer", true, &[3], 0, &[matrix], inner);
    let contents = read(&Archive { objects: vec![outer], samplings: at_24() }).unwrap();
    let outer = DAffine3::from_translation(DVec3::X * 10.0) * DAffine3::from_rotation_z(90f64.to_radians());
    for (skin, sample) in skins(&contents).iter().zip(&moves) {
        let inner = DAffine3::from_translation(DVec3::new(sample[0], sample[1], sample[2]))
            * DAffine3::from_rotation_y(sample[3].to_radians())
            * DAffine3::from_scale(DVec3::splat(2.0));
        for (found, p) in skin.iter().zip(points(&frames[0])) {
            assert!(found.distance((outer * inner).transform_point3(p)) < 1e-12);
        }
    }
}

#[test]
fn a_transform_that_does_not_inherit_starts_at_the_world() {
    let plate = mesh("plate", &COUNTS, &CORNERS, 0, &[square(0.0)]);
    let inner = transform("inner", false, &[1], 0, &[vec![1.0, 0.0, 0.0]], plate);
    let outer = transform("outer", true, &[1], 0, &[vec![100.0, 0.0, 0.0]], inner);
    let contents = read(&Archive { objects: vec![outer], samplings: vec![] }).unwrap();
    assert_eq!(contents.mesh.unwrap().positions[0], DVec3::X);
}

#[test]
fn meshes_are_objects_in_file_order_over_all_their_times() {
    let one = mesh("one", &[4], &[0, 3, 2, 1], 1, &[0.0, 2.0].map(square));
    let two = mesh("two", &[3], &[2, 1, 0], 2, &[0.0, 4.0].map(square));
    // Frames at 0 and 1 s, and at 0 and 2 s: three moments. Before and after its samples a mesh stands still, between
    // them it moves evenly.
    let samplings = vec![(1.0, vec![0.0]), (2.0, vec![0.0])];
    let contents = read(&Archive { objects: vec![one, two], samplings }).unwrap();
    let times: Vec<f64> = contents.records.iter().filter_map(|r| r.time).collect();
    assert_eq!(times, [0.0, 1.0, 2.0]);
    let heights: Vec<(f64, f64)> = skins(&contents).iter().map(|skin| (skin[0].z, skin[5].z)).collect();
    assert_eq!(heights, [(0.0, 0.0), (2.0, 2.0), (2.0, 4.0)]);
    assert_eq!(contents.mesh.as_ref().unwrap().polygons.as_ref().unwrap().indices, [0, 1, 2, 3, 7, 5, 6]);
    let objects = &contents.mesh.as_ref().unwrap().objects;
    let told: Vec<_> = objects.iter().map(|object| (object.name.as_str(), object.vertices, object.visible)).collect();
    assert_eq!(told, [("one", 5, true), ("two", 5, true)]);
    assert!(contents.warnings.iter().all(|w| w.flaw != Flaw::Joined), "{:?}", contents.warnings);
}

#[test]
fn cyclic_and_acyclic_times_are_followed() {
    let frames: Vec<_> = (0..4).map(|z| square(z as f32)).collect();
    for (sampling, expected) in [
        ((1.0, vec![0.0, 0.25]), [0.0, 0.25, 1.0, 1.25]),
        ((f64::MAX / 32.0, vec![0.0, 0.1, 0.5, 3.0]), [0.0, 0.1, 0.5, 3.0]),
    ] {
        let objects = vec![mesh("plate", &COUNTS, &CORNERS, 1, &frames)];
        let contents = read(&Archive { objects, samplings: vec![sampling] }).unwrap();
        assert_eq!(contents.records.iter().filter_map(|r| r.time).collect::<Vec<_>>(), expected);
        assert_eq!(contents.frames_per_second, None);
    }
}

#[test]
fn the_space_is_the_callers() {
    let objects = vec![mesh("plate", &COUNTS, &CORNERS, 0, &[square(0.0)])];
    let bytes = Archive { objects, samplings: vec![] }.bytes();
    let space = Space { up: UpAxis::Z, metres_per_unit: 0.01, unit: "m".into() };
    let contents = alembic::read(&bytes, "a.abc", &space).unwrap();
    assert_eq!(contents.mesh.unwrap().positions[2], DVec3::new(0.01, 0.0, -0.01));
}

fn why(archive: &Archive) -> String {
    read(archive).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn what_is_not_supported_is_named() {
    let hdf = alembic::read(b"\x89HDF\r\n\x1a\n and more", "", &Space::default()).unwrap_err().to_string();
    assert!(hdf.contains("HDF5"), "{hdf}");
    let mut open = Archive::default().bytes();
    open[5] = 0;
    assert!(alembic::read(&open, "", &Space::default()).unwrap_err().to_string().contains("never finished"));
    let mut growing = vec![square(0.0), square(1.0)];
    growing[1].push([0.0; 3]);
    let why_growing = why(&Archive { objects: vec![mesh("m", &COUNTS, &CORNERS, 1, &growing)], samplings: at_24() });
    assert!(why_growing.contains("changes over time"), "{why_growing}");
    assert!(why(&Archive::default()).contains("no polygon mesh"));
    let far = mesh("m", &COUNTS, &[0, 3, 2, 1, 0, 1, 5], 0, &[square(0.0)]);
    assert!(why(&Archive { objects: vec![far], samplings: vec![] }).contains("vertex 5"));
    let negative = mesh("m", &[4, -3], &CORNERS, 0, &[square(0.0)]);
    assert!(why(&Archive { objects: vec![negative], samplings: vec![] }).contains("negative"));
    let short = mesh("m", &[4, 4], &CORNERS, 0, &[square(0.0)]);
    assert!(why(&Archive { objects: vec![short], samplings: vec![] }).contains("8 corners"));
}

/// A concave face is split within its outline, and the rest of the mesh as it was.
#[test]
fn concave_faces_are_split_within_their_outline() {
    let dart = vec![[2.0, -1.0, 0.0], [0.5, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]];
    let objects = vec![mesh("dart", &[4], &[0, 3, 2, 1], 0, &[dart])];
    let found = read(&Archive { objects, samplings: vec![] }).unwrap().mesh.unwrap();
    let area = |[a, b, c]: [u32; 3]| {
        let [a, b, c] = [a, b, c].map(|corner| found.positions[corner as usize]);
        (b - a).cross(c - a).z / 2.0
    };
    let areas: Vec<f64> = found.triangles.iter().map(|corners| area(*corners)).collect();
    // The half above the axis and the half below it: half of 0.5 by 1 each.
    assert_eq!(areas, [0.25, 0.25], "{:?}", found.triangles);
}

#[test]
fn frames_that_are_not_finite_are_left_out() {
    let frames = [square(0.0), square(f32::NAN), square(1.0)];
    let objects = vec![mesh("m", &COUNTS, &CORNERS, 1, &frames)];
    let contents = read(&Archive { objects, samplings: at_24() }).unwrap();
    assert_eq!(contents.records.len(), 2);
    assert!(contents.warnings.iter().any(|w| w.flaw == Flaw::NonFiniteFrame && w.count == 1));
    assert_eq!((contents.left_out, contents.never_finite), (vec!["frame 1".to_owned()], None));
    let mut frames = [square(0.0), square(f32::NAN), square(1.0)];
    frames.iter_mut().for_each(|frame| frame[3][1] = f32::INFINITY);
    let objects = vec![mesh("m", &COUNTS, &CORNERS, 1, &frames)];
    let contents = read(&Archive { objects, samplings: at_24() }).unwrap();
    assert_eq!((contents.records.len(), contents.mesh, contents.never_finite), (0, None, Some(3)));
}

/// What programs write of an object that they hide: all its properties, and no sample of any. The other objects are read, at whatever
/// place of the file it stands, and it is named.
#[test]
fn a_mesh_without_samples_is_left_out_and_named() {
    let plate = || mesh("plate", &COUNTS, &CORNERS, 1, &[0.0, 1.0].map(square));
    let hidden =
        |name: &str| transform("above", true, &[1], 0, &[vec![1.0, 0.0, 0.0]], mesh(name, &COUNTS, &CORNERS, 1, &[]));
    for (objects, names) in [
        (vec![hidden("one"), plate()], vec!["one"]),
        (vec![plate(), hidden("one")], vec!["one"]),
        (vec![hidden("one"), plate(), mesh("two", &[], &[], 0, &[])], vec!["one", "two"]),
    ] {
        let contents = read(&Archive { objects, samplings: at_24() }).unwrap();
        assert_eq!((contents.records.len(), contents.mesh.as_ref().unwrap().positions.len()), (2, 5));
        let expected: Vec<String> = names.iter().map(|name| format!("mesh \"{name}\" without samples")).collect();
        assert_eq!(contents.unread, expected);
        assert!(contents.warnings.iter().all(|w| w.flaw != Flaw::Joined), "{:?}", contents.warnings);
    }
    let alone = why(&Archive { objects: vec![hidden("one")], samplings: at_24() });
    assert!(alone.contains("\"one\"") && alone.contains("hidden") && !alone.contains("damaged"), "{alone}");
    // A property of another kind is damage all the same.
    let mut wrong = plate();
    let Property::Compound(_, properties) = &mut wrong.properties[0] else { unreachable!() };
    properties.remove(0);
    assert!(why(&Archive { objects: vec![wrong], samplings: at_24() }).contains("no property \"P\""));
}

/// An archive whose top object is the group at the offset that `make` returns.
fn with_top(make: impl FnOnce(&mut Vec<u8>) -> u64) -> Vec<u8> {
    let mut file = b"Ogawa\xff\x00\x01".to_vec();
    file.extend([0; 8]);
    let number = block(&mut file, &[0; 4]);
    let mut times = 1u32.to_le_bytes().to_vec();
    times.extend(1f64.to_le_bytes());
    times.extend(1u32.to_le_bytes());
    times.extend(0f64.to_le_bytes());
    let (times, metadata) = (block(&mut file, &times), block(&mut file, b""));
    let top = make(&mut file);
    let root = group(&mut file, &[number, number, top, number, times, metadata]);
    file[8..16].copy_from_slice(&root.to_le_bytes());
    file
}

/// Headers of `count` objects called "o" without a schema.
fn headers(count: usize) -> Vec<u8> {
    [[1, 0, 0, 0, b'o', 0].repeat(count), vec![0; 32]].concat()
}

#[test]
fn groups_that_contain_themselves_or_each_other_end_in_an_error() {
    // An object that is its own child.
    let own = with_top(|file| {
        let list = block(file, &headers(1));
        let at = file.len() as u64;
        group(file, &[0, at, list])
    });
    // Sixty objects, each of which holds the next one twice: 2⁶⁰ ways through them.
    let doubled = with_top(|file| {
        let list = block(file, &headers(2));
        let nothing = block(file, &headers(0));
        let mut below = group(file, &[0, nothing]);
        for _ in 0..60 {
            below = group(file, &[0, below, below, list]);
        }
        below
    });
    for (name, bytes) in [("own child", own), ("doubled", doubled)] {
        let error = alembic::read(&bytes, "", &Space::default()).unwrap_err().to_string();
        assert!(error.contains("contain each other") || error.contains("deep"), "{name}: {error}");
    }
}

#[test]
fn depth_is_bounded() {
    let mut object = mesh("plate", &COUNTS, &CORNERS, 0, &[square(0.0)]);
    for _ in 0..1000 {
        object = Object { name: "o".into(), schema: "none".into(), properties: vec![], children: vec![object] };
    }
    assert!(why(&Archive { objects: vec![object], samplings: vec![] }).contains("256 deep"));
}

/// Every four bytes of a good archive replaced by enormous counts in turn.
#[test]
fn absurd_counts_are_refused_or_harmless() {
    let frames: Vec<_> = [0.0, 1.0, 1.0].map(square).to_vec();
    let plate = mesh("plate", &COUNTS, &CORNERS, 1, &frames);
    let moved = transform("moved", true, &[1, 2], 1, &vec![vec![1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 45.0]; 3], plate);
    let good = Archive { objects: vec![moved], samplings: at_24() }.bytes();
    for at in 0..good.len() - 4 {
        for word in [u32::MAX, i32::MAX as u32, 1 << 28, 0] {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            if let Ok(contents) = alembic::read(&bytes, "", &Space::default()) {
                // Three stored frames may be held, as far as the bound on memory goes.
                let held: usize = contents.records.len() * contents.mesh.map_or(0, |m| m.positions.len());
                assert!(held * 24 <= 256 * good.len() + (64 << 20), "byte {at}: {held} positions");
            }
        }
    }
}

/// A face of fewer than three corners is left out and counted, on either side of a mirror.
#[test]
fn faces_of_fewer_than_three_corners_are_left_out() {
    let corners = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let small = mesh("small", &[0, 3, 2, 1], &[0, 1, 2, 0, 1, 2], 0, &[corners]);
    for (scale, expected) in [(1.0, [0, 2, 1]), (-1.0, [0, 1, 2])] {
        let scaled = transform("s", true, &[0], 0, &[vec![scale, 1.0, 1.0]], small.clone());
        let archive = Archive { objects: vec![scaled], samplings: vec![] };
        let contents = alembic::read(&archive.bytes(), "a.abc", &Space::default()).unwrap();
        let polygons = contents.mesh.unwrap().polygons.unwrap();
        assert_eq!((polygons.counts.as_slice(), polygons.indices.as_slice()), (&[3][..], &expected[..]));
        let said: Vec<String> = contents.warnings.iter().map(ToString::to_string).collect();
        let left_out = "3: triangles have no area (first: mesh \"small\", a face of 0 corners was left out)";
        assert!(said.contains(&left_out.to_owned()), "{said:?}");
    }
}

/// A square of two triangles' corners, with further properties of its geometry.
fn with_params(more: Vec<Property>, arbitrary: Vec<Property>) -> Object {
    let mut made = mesh("plate", &COUNTS, &CORNERS, 0, &[square(0.0)]);
    let Property::Compound(_, geometry) = &mut made.properties[0] else { unreachable!() };
    geometry.extend(more);
    if !arbitrary.is_empty() {
        geometry.push(Property::Compound(".arbGeomParams".into(), arbitrary));
    }
    made
}

/// The drawn vertices at the corners of the polygons: the square's four, then the triangle's three.
fn corners_of(mesh: &dermis_rig::Mesh) -> Vec<usize> {
    let render = mesh.render.as_ref().unwrap();
    let [[a, b, c], [_, _, d], [e, f, g]] = render.triangles[..] else { panic!("{:?}", render.triangles) };
    [a, b, c, d, e, f, g].map(|at| at as usize).to_vec()
}

/// Corners of the file are clockwise, those of the toolkit the other way round: a value goes with its corner.
#[test]
fn normals_texture_coordinates_and_colours_hang_on_their_corners() {
    // At the file's corner c: u = c / 8, and a normal of its own.
    let places: Vec<f32> = (0..7).flat_map(|c| [c as f32 / 8.0, 0.25]).collect();
    let normals: Vec<f32> = (0..7).flat_map(|c| [0.0, (c as f32).sin(), (c as f32).cos()]).collect();
    let second: Vec<u32> = vec![1, 0, 1, 0, 1, 0, 1];
    let colors: Vec<f32> = (0..5).flat_map(|v| [v as f32 / 4.0, 0.0, 1.0]).collect();
    let object = with_params(
        vec![param("uv", "fvr", "vector", 2, &places), param("N", "fvr", "normal", 3, &normals)],
        vec![
            indexed("second", "fvr", "vector", 2, &[0.5, 0.5, 1.0, 1.0], &second),
            param("Cd", "vtx", "rgb", 3, &colors),
            param("rest", "vtx", "point", 3, &[0.0; 15]),
        ],
    );
    let contents = read(&Archive { objects: vec![object], samplings: vec![] }).unwrap();
    assert_eq!(contents.unread, ["1 of kind parameter \"rest\""]);
    let found = contents.mesh.unwrap();
    let render = found.render.as_ref().unwrap();
    assert!(render.by_corner);
    // The square is 0 3 2 1 in the file and 0 1 2 3 here, the triangle 0 1 4 and 0 4 1.
    for (at, in_file) in corners_of(&found).into_iter().zip([0, 3, 2, 1, 4, 6, 5]) {
        let angle = in_file as f64;
        assert!(render.normals[at].abs_diff_eq(DVec3::new(0.0, angle.sin(), angle.cos()), 1e-7), "corner {in_file}");
        assert_eq!(render.uvs[at], dermis_rig::glam::DVec2::new(angle / 8.0, 0.75));
        let second = if in_file % 2 == 0 { 1.0 } else { 0.5 };
        assert_eq!(render.more_uvs[0][at], dermis_rig::glam::DVec2::new(second, 1.0 - second));
        assert_eq!(render.colors[at].x, render.source[at] as f32 / 4.0);
    }
    assert_eq!(found.colors.unwrap()[3].to_array(), [0.75, 0.0, 1.0, 1.0]);
}

/// A mirror turns faces, and with them which corner is which; normals stay outside.
#[test]
fn a_mirror_keeps_values_with_their_corners() {
    let places: Vec<f32> = (0..7).flat_map(|c| [c as f32 / 8.0, 0.0]).collect();
    let more = vec![param("uv", "fvr", "vector", 2, &places), param("N", "con", "normal", 3, &[0.6, 0.0, 0.8])];
    let mirrored = transform("mirror", true, &[0], 0, &[vec![-1.0, 1.0, 1.0]], with_params(more, vec![]));
    let found = read(&Archive { objects: vec![mirrored], samplings: vec![] }).unwrap().mesh.unwrap();
    let render = found.render.as_ref().unwrap();
    for (at, in_file) in corners_of(&found).into_iter().zip(0..7) {
        assert_eq!(render.uvs[at].x, f64::from(in_file) / 8.0);
        assert!(render.normals[at].abs_diff_eq(DVec3::new(-0.6, 0.0, 0.8), 1e-7), "{}", render.normals[at]);
    }
}

#[test]
fn face_sets_are_parts() {
    let mut object = with_params(vec![], vec![]);
    object.children = vec![face_set("red", &[1, 7]), face_set("blue", &[1])];
    let contents = read(&Archive { objects: vec![object], samplings: vec![] }).unwrap();
    let parts = contents.mesh.unwrap().render.unwrap().parts;
    let told: Vec<_> = parts.iter().map(|part| (part.name.as_str(), part.start, part.count)).collect();
    assert_eq!(told, [("plate", 0, 2), ("red", 2, 1)]);
    assert_eq!(contents.unread.len(), 2, "{:?}", contents.unread);
    assert!(contents.unread[0].starts_with("1 faces of the set \"red\""), "{:?}", contents.unread);
}

#[test]
fn values_that_do_not_fit_are_named() {
    let short = param("uv", "fvr", "vector", 2, &[0.0; 12]);
    let beyond = indexed("N", "fvr", "normal", 3, &[0.0, 0.0, 1.0], &[0, 0, 0, 1, 0, 0, 0]);
    let object = with_params(vec![short, beyond], vec![]);
    let contents = read(&Archive { objects: vec![object], samplings: vec![] }).unwrap();
    let why = "of mesh \"plate\", which are not as many as it needs";
    assert_eq!(contents.unread, [format!("normals {why}"), format!("texture coordinates {why}")]);
    let odd = with_params(vec![param("uv", "elsewhere", "vector", 2, &[0.0; 14])], vec![]);
    let contents = read(&Archive { objects: vec![odd], samplings: vec![] }).unwrap();
    assert_eq!(contents.unread, ["1 of kind parameter \"uv\""]);
}

/// The nearest object that says so hides a mesh; one that is shown at some time is shown.
#[test]
fn hidden_meshes_are_read_and_marked() {
    let plate = || mesh("plate", &COUNTS, &CORNERS, 0, &[square(0.0)]);
    let shown = |own: Option<&[u8]>, above: Option<&[u8]>| {
        let mut inner = plate();
        inner.properties.extend(own.map(|samples| visible(0, samples)));
        let mut outer = transform("above", true, &[], 0, &[vec![]], inner);
        outer.properties.extend(above.map(|samples| visible(0, samples)));
        let contents = read(&Archive { objects: vec![outer, plate()], samplings: vec![] }).unwrap();
        let objects = contents.mesh.unwrap().objects;
        assert!(objects[1].visible);
        let hidden = contents.warnings.iter().filter(|w| w.flaw == Flaw::Hidden).map(|w| w.count).sum::<usize>();
        assert_eq!(hidden, usize::from(!objects[0].visible));
        (objects[0].visible, contents.unread.len())
    };
    for (own, above, expected) in [
        (None, None, (true, 0)),
        (Some(&[0u8][..]), None, (false, 0)),
        (None, Some(&[0u8][..]), (false, 0)),
        (Some(&[1]), Some(&[0]), (true, 0)),
        (Some(&[0xff]), Some(&[0]), (false, 0)),
        (Some(&[0, 1]), None, (true, 1)),
    ] {
        assert_eq!(shown(own, above), expected, "{own:?} {above:?}");
    }
}

/// Meshes that change over time, and those that hold no vertex at first, are left out by name; the others are read.
#[test]
fn meshes_that_change_are_left_out_and_named() {
    let plate = || mesh("plate", &COUNTS, &CORNERS, 1, &[0.0, 1.0].map(square));
    let mut growing = vec![square(0.0), square(1.0)];
    growing[1].push([0.0; 3]);
    let growing = mesh("growing", &COUNTS, &CORNERS, 1, &growing);
    let mut turned = plate();
    turned.name = "turned".into();
    let Property::Compound(_, geometry) = &mut turned.properties[0] else { unreachable!() };
    geometry[1] = dermis_testkit::ogawa::integers(".faceIndices", 1, &[&CORNERS, &[0, 1, 2, 3, 0, 4, 1]]);
    let late = mesh("late", &COUNTS, &CORNERS, 1, &[vec![], square(1.0)]);
    let contents = read(&Archive { objects: vec![growing, plate(), turned, late], samplings: at_24() }).unwrap();
    let expected =
        ["growing", "turned", "late"].map(|n| format!("mesh \"{n}\" of connectivity that changes over time"));
    assert_eq!(contents.unread, expected);
    assert_eq!(contents.mesh.unwrap().objects.len(), 1);
    assert_eq!(contents.records.len(), 2);
}
