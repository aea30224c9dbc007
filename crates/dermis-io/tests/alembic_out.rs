//! Alembic as it is written: read again, cut short, with flipped bits.

use dermis_io::alembic::{AlembicScene, read, write};
use dermis_io::obj::Normals;
use dermis_io::{Contents, Flaw, Space, UpAxis, WriteError};
use dermis_rig::glam::{DAffine3, DQuat, DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Mesh, MeshObject, Polygons, RenderMesh};
use std::io::Cursor;

/// A box with hard edges, its sides parted between two materials, and a smooth tetrahedron that is hidden; every corner of the box has
/// texture coordinates of its own.
fn mesh() -> Mesh {
    let corner =
        |at: u32| DVec3::new(f64::from(at & 1), f64::from(at >> 1 & 1), f64::from(at >> 2)) - DVec3::splat(0.5);
    let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let normals = [DVec3::NEG_Z, DVec3::Z, DVec3::NEG_Y, DVec3::Y, DVec3::NEG_X, DVec3::X];
    let below = [[8u32, 10, 9], [8, 9, 11], [8, 11, 10], [9, 10, 11]];
    let tetrahedron = [DVec3::X * 3.0, DVec3::X * 4.0, DVec3::new(3.0, 1.0, 0.0), DVec3::new(3.0, 0.0, 1.0)];
    let positions: Vec<DVec3> = (0..8).map(corner).chain(tetrahedron).collect();
    let mut render = RenderMesh { by_corner: true, ..RenderMesh::default() };
    let (mut triangles, mut drawn) = (Vec::new(), Vec::new());
    for (side, (corners, normal)) in (0u32..).zip(sides.iter().zip(normals)) {
        let first = 4 * side;
        for [a, b, c] in [[0, 1, 2], [0, 2, 3]] {
            triangles.push([a, b, c].map(|at| corners[at as usize]));
            drawn.push([a, b, c].map(|at| first + at));
        }
        for (at, &vertex) in (0u32..).zip(corners) {
            render.source.push(vertex);
            render.normals.push(normal);
            render.uvs.push(DVec2::new(f64::from(side) / 8.0, f64::from(at) / 4.0));
        }
    }
    for corners in below {
        triangles.push(corners);
        drawn.push(corners.map(|vertex| vertex - 8 + 24));
    }
    for vertex in 8..12u32 {
        render.source.push(vertex);
        render.normals.push((positions[vertex as usize] - DVec3::new(3.25, 0.25, 0.25)).normalize());
        render.uvs.push(DVec2::ZERO);
    }
    render.more_uvs = vec![render.uvs.iter().map(|uv| DVec2::new(uv.y, uv.x)).collect()];
    render.colors = (0..28).map(|at| Vec4::new(at as f32 / 32.0, 0.5, 0.25, 1.0)).collect();
    render.triangles = drawn;
    let part =
        |name: &str, start, count| RenderPart { name: name.into(), start, count, color: Vec4::ONE, material: None };
    render.parts = vec![part("red", 0, 4), part("blue", 4, 8), part("red", 12, 4)];
    let counts = [vec![4; 6], vec![3; 4]].concat();
    let indices = sides.iter().flatten().copied().chain(below.into_iter().flatten()).collect();
    let object = |name: &str, vertices, visible| MeshObject { name: name.into(), vertices, visible };
    Mesh {
        positions,
        triangles,
        polygons: Some(Polygons { counts, indices }),
        objects: vec![object("box", 8, true), object("tip.L", 4, false)],
        render: Some(render),
        ..Mesh::default()
    }
}

/// The mesh turned and bent a little further in every frame.
fn frames(mesh: &Mesh, count: usize) -> Vec<Vec<DVec3>> {
    let shape = |at: usize| {
        let turn = DAffine3::from_quat(DQuat::from_rotation_z(0.1 * at as f64));
        mesh.positions.iter().map(|p| turn.transform_point3(*p + DVec3::Y * 0.05 * at as f64 * p.x * p.x)).collect()
    };
    (0..count).map(shape).collect()
}

fn bytes(mesh: &Mesh, times: &[f64], frames: &[Vec<DVec3>], space: &Space) -> Result<Vec<u8>, WriteError> {
    let scene = AlembicScene { name: "scene", mesh, times, normals: Normals::Written };
    let mut asked = 0;
    let mut fill = |at: usize, skin: &mut Vec<DVec3>| {
        assert_eq!(at, asked, "frames are asked for once, in their order");
        asked += 1;
        skin.clone_from(&frames[at]);
        Ok(())
    };
    let mut out = Cursor::new(Vec::new());
    write(&scene, space, &mut fill, &mut out)?;
    Ok(out.into_inner())
}

fn reread(bytes: &[u8], space: &Space) -> Contents {
    read(bytes, "scene.abc", space).unwrap()
}

fn stored(p: DVec3) -> DVec3 {
    p.as_vec3().as_dvec3()
}

/// What the drawn mesh shows at every corner of every polygon, polygons in their order.
fn shown(mesh: &Mesh) -> Vec<(u32, [DVec2; 2], DVec3, Vec4)> {
    let render = mesh.render.as_ref().unwrap();
    let at = |&drawn: &u32| {
        let drawn = drawn as usize;
        let color = render.colors[drawn];
        (render.source[drawn], [render.uvs[drawn], render.more_uvs[0][drawn]], render.normals[drawn], color)
    };
    render.triangles.iter().flatten().map(at).collect()
}

#[test]
fn what_is_written_is_read_to_the_bit() {
    let (mesh, space) = (mesh(), Space::default());
    let (times, shapes): (Vec<f64>, _) = ((0..5).map(|at| 2.0 + f64::from(at) / 24.0).collect(), frames(&mesh, 5));
    let found = reread(&bytes(&mesh, &times, &shapes, &space).unwrap(), &space);
    assert_eq!(found.frames_per_second, Some(24.0));
    for (record, (time, shape)) in found.records.iter().zip(times.iter().zip(&shapes)) {
        assert!((record.time.unwrap() - time).abs() < 1e-12);
        let expected: Vec<DVec3> = shape.iter().map(|p| stored(*p)).collect();
        assert_eq!(record.positions.as_ref().unwrap(), &expected);
    }
    assert_eq!(found.records.len(), 5);
    let read = found.mesh.unwrap();
    assert_eq!((&read.polygons, &read.triangles), (&mesh.polygons, &mesh.triangles));
    let told: Vec<_> = read.objects.iter().map(|o| (o.name.as_str(), o.vertices, o.visible)).collect();
    assert_eq!(told, [("box", 8, true), ("tip_L", 4, false)]);
    assert!(found.warnings.iter().any(|w| w.flaw == Flaw::Hidden && w.count == 1), "{:?}", found.warnings);
    for (found, given) in shown(&read).iter().zip(shown(&mesh)) {
        assert_eq!((found.0, found.1, found.3), (given.0, given.1, given.3));
        // Unit normals in 32 bits.
        assert!(found.2.abs_diff_eq(given.2, 1e-7), "{} {}", found.2, given.2);
    }
    let parts: Vec<_> =
        read.render.as_ref().unwrap().parts.iter().map(|p| (p.name.as_str(), p.start, p.count)).collect();
    assert_eq!(parts, [("red", 0, 4), ("blue", 4, 8), ("red", 12, 4)]);
    assert!(found.unread.is_empty(), "{:?}", found.unread);
}

/// A rigid motion turns hard edges along: the normals of its last frame are those of the first, turned.
#[test]
fn normals_turn_with_the_surface() {
    let (mesh, space) = (mesh(), Space::default());
    let turn = DQuat::from_rotation_x(1.0);
    let turned: Vec<DVec3> = mesh.positions.iter().map(|p| turn * *p).collect();
    let still = Mesh { positions: turned.clone(), ..mesh.clone() };
    let found = reread(&bytes(&mesh, &[0.0], std::slice::from_ref(&turned), &space).unwrap(), &space).mesh.unwrap();
    for (found, given) in shown(&found).iter().zip(shown(&still)).take(36) {
        assert!(found.2.abs_diff_eq(turn * given.2, 1e-6), "{} {}", found.2, turn * given.2);
    }
}

#[test]
fn axes_and_unit_are_the_callers() {
    let (mesh, shapes) = (mesh(), frames(&mesh(), 2));
    let space = Space { up: UpAxis::Z, metres_per_unit: 0.01, unit: "m".into() };
    let written = bytes(&mesh, &[0.0, 0.5], &shapes, &space).unwrap();
    let found = reread(&written, &space);
    for (record, shape) in found.records.iter().zip(&shapes) {
        for (a, b) in record.positions.as_ref().unwrap().iter().zip(shape) {
            // Up to 500 units of a centimetre with 24 bits.
            assert!(a.abs_diff_eq(*b, 500.0 * 0.01 * 2f64.powi(-24)), "{a} {b}");
        }
    }
    // A vertex that is up by one metre is up by a hundred units along the file's z.
    let raw = reread(&written, &Space::default());
    let (raw, ours) = (raw.records[1].positions.as_ref().unwrap()[10], shapes[1][10]);
    assert!(raw.abs_diff_eq(DVec3::new(ours.x, -ours.z, ours.y) * 100.0, 1e-4), "{raw} {ours}");
}

#[test]
fn uneven_times_are_kept() {
    let (mesh, space) = (mesh(), Space::default());
    let times = [0.1, 0.2, 0.45, 3.0];
    let found = reread(&bytes(&mesh, &times, &frames(&mesh, 4), &space).unwrap(), &space);
    assert_eq!(found.records.iter().map(|r| r.time.unwrap()).collect::<Vec<_>>(), times);
    assert_eq!(found.frames_per_second, None);
}

/// Held frames, frames that come back, and a mesh that stands still take no room.
#[test]
fn equal_samples_are_stored_once() {
    let (mesh, space) = (mesh(), Space::default());
    let shapes = frames(&mesh, 2);
    let of = |order: &[usize]| -> (usize, Contents) {
        let times: Vec<f64> = (0..order.len()).map(|at| at as f64 / 30.0).collect();
        let frames: Vec<_> = order.iter().map(|&at| shapes[at].clone()).collect();
        let written = bytes(&mesh, &times, &frames, &space).unwrap();
        (written.len(), reread(&written, &space))
    };
    let (one, _) = of(&[0]);
    let (held, found) = of(&[0; 500]);
    assert!(held < one + 200, "{held} bytes for 500 frames, {one} for one");
    assert_eq!(found.records.len(), 500);
    let (two, _) = of(&[0, 1]);
    let order = [0, 0, 1, 1, 0, 0, 1, 0, 0];
    let (back, found) = of(&order);
    // A place of eight bytes for every sample, two for lists.
    assert!(back < two + order.len() * 100, "{back} bytes, {two} for two frames");
    for (record, &at) in found.records.iter().zip(&order) {
        assert_eq!(record.positions.as_ref().unwrap()[10], stored(shapes[at][10]));
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let (mesh, space) = (mesh(), Space::default());
    let shapes = frames(&mesh, 2);
    let why = |times: &[f64], shapes: &[Vec<DVec3>]| bytes(&mesh, times, shapes, &space).unwrap_err().to_string();
    assert!(why(&[], &[]).contains("nothing to write"));
    assert!(why(&[1.0, 1.0], &shapes).contains("a frame at 1 s that follows one at 1 s"));
    let short = vec![shapes[0].clone(), shapes[1][..5].to_vec()];
    assert_eq!(why(&[0.0, 1.0], &short), "frame 1 has 5 vertices, but 12 are expected");
    let mut far = shapes.clone();
    far[1][3].x = 1e39;
    assert_eq!(why(&[0.0, 1.0], &far), "vertex 3 of frame 1 is not finite in 32 bits");
    let mut wrong = mesh.clone();
    wrong.render.as_mut().unwrap().uvs[3].x = f64::NAN;
    let error = bytes(&wrong, &[0.0], &shapes[..1], &space).unwrap_err().to_string();
    assert!(error.contains("texture coordinate"), "{error}");
}

/// Every beginning of an archive is refused, and every flipped bit is an error or leaves contents that hold together.
#[test]
fn cut_and_flipped_archives_are_refused_or_harmless() {
    let (mesh, space) = (mesh(), Space::default());
    let good = bytes(&mesh, &[0.0, 0.5, 1.5], &frames(&mesh, 3), &space).unwrap();
    for length in 0..good.len() {
        let mut cut = good[..length].to_vec();
        assert!(read(&cut, "a", &space).is_err(), "{length}");
        cut.resize(good.len(), 0);
        if let Ok(contents) = read(&cut, "a", &space) {
            contents.mesh.unwrap().check().unwrap();
        }
    }
    for bit in 0..8 * good.len() {
        let mut flipped = good.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok(Contents { mesh: Some(mesh), .. }) = read(&flipped, "a", &space) {
            mesh.check().unwrap();
        }
    }
}
