//! Normals in OBJ files, against what the lines say.

use dermis_io::obj::{self, Normals};
use dermis_io::{Space, UpAxis, to_bytes};
use dermis_rig::glam::{DQuat, DVec3};
use dermis_rig::{Mesh, RenderMesh};

/// A roof of two slopes that meet along z, with a hard ridge or without normals.
fn roof(hard: bool) -> Mesh {
    let positions = vec![
        DVec3::new(-1.0, 0.0, 0.0),
        DVec3::new(-1.0, 0.0, 1.0),
        DVec3::new(0.0, 1.0, 0.0),
        DVec3::new(0.0, 1.0, 1.0),
        DVec3::new(1.0, 0.0, 0.0),
        DVec3::new(1.0, 0.0, 1.0),
    ];
    let (left, right) = (DVec3::new(-1.0, 1.0, 0.0).normalize(), DVec3::new(1.0, 1.0, 0.0).normalize());
    let render = RenderMesh {
        source: vec![0, 1, 2, 3, 2, 3, 4, 5],
        triangles: vec![[0, 1, 2], [2, 1, 3], [4, 5, 6], [6, 5, 7]],
        normals: [[left; 4], [right; 4]].concat(),
        ..RenderMesh::default()
    };
    Mesh {
        positions,
        triangles: vec![[0, 1, 2], [2, 1, 3], [2, 3, 4], [4, 3, 5]],
        render: hard.then_some(render),
        ..Mesh::default()
    }
}

/// The normals of every corner, and the vertices they stand at.
fn corners(text: &str) -> Vec<(usize, DVec3)> {
    let numbers = |line: &str| -> Vec<f64> { line.split(' ').skip(1).map(|x| x.parse().unwrap()).collect() };
    let normals: Vec<DVec3> =
        text.lines().filter(|line| line.starts_with("vn ")).map(|line| DVec3::from_slice(&numbers(line))).collect();
    let faces = text.lines().filter(|line| line.starts_with("f "));
    let corner = |word: &str| {
        let parts: Vec<&str> = word.split('/').collect();
        (parts[0].parse::<usize>().unwrap() - 1, normals[parts[2].parse::<usize>().unwrap() - 1])
    };
    faces.flat_map(|line| line.split(' ').skip(1).map(corner).collect::<Vec<_>>()).collect()
}

fn text(mesh: &Mesh, positions: &[DVec3], space: &Space) -> String {
    String::from_utf8(to_bytes(|out| obj::write_shape(mesh, positions, Normals::Written, None, space, out)).unwrap())
        .unwrap()
}

#[test]
fn normals_turn_with_the_shape_and_hard_edges_stay() {
    let mesh = roof(true);
    let turn = DQuat::from_rotation_z(0.5);
    let moved: Vec<DVec3> = mesh.positions.iter().map(|p| turn * *p).collect();
    for space in [Space::default(), Space { up: UpAxis::Z, metres_per_unit: 0.01, ..Space::default() }] {
        let found = corners(&text(&mesh, &moved, &space));
        assert_eq!(found.len(), 12);
        for (at, (_, normal)) in found.iter().enumerate() {
            let side = if at < 6 { -1.0 } else { 1.0 };
            let ours = turn * DVec3::new(side, 1.0, 0.0).normalize();
            // Z up: (x, y, z) of ours is (x, −z, y) there.
            let expected = if space.up == UpAxis::Z { DVec3::new(ours.x, -ours.z, ours.y) } else { ours };
            assert!(normal.abs_diff_eq(expected, 1e-12), "corner {at}: {normal} {expected}");
        }
    }
}

#[test]
fn a_mesh_without_normals_is_shaded_smoothly_and_read_again() {
    let mesh = roof(false);
    let text = text(&mesh, &mesh.positions, &Space::default());
    for (vertex, normal) in corners(&text) {
        // The ridge: at one end two triangles of the left slope meet one of the right, at the other end one meets two.
        let lean = match vertex {
            2 => -1.0,
            3 => 1.0,
            _ => continue,
        };
        assert!(normal.abs_diff_eq(DVec3::new(lean, 3.0, 0.0).normalize(), 1e-12), "{vertex}: {normal}");
    }
    let again =
        obj::read(text.as_bytes(), "roof.obj", &Space::default(), &|_, _| Err(std::io::ErrorKind::NotFound.into()))
            .unwrap();
    assert_eq!(again.mesh.unwrap().positions, mesh.positions);
    assert!(again.warnings.is_empty());
    let plain = to_bytes(|out| obj::write(&mesh, &mesh.positions, &Space::default(), out)).unwrap();
    assert!(!String::from_utf8(plain).unwrap().contains("vn"));
}
