//! Wavefront OBJ: one mesh, or a sequence of files with a shape each.
//!
//! The `v` lines are the vertices, in their order and all of them, because examples are matched by order. The reader takes
//! `v` (with colours, if there are any), `vt`, `f`, `usemtl`, `mtllib`, and `o`, or else `g`, as far as these keep vertices apart. It passes
//! over normals and smoothing, and counts curves, lines and points. OBJ states neither axes nor unit, so the caller does.
//!
//! The reader is written by hand. Crates that read OBJ files merge or reorder vertices for drawing, which would break the
//! match of examples with the rig.

mod materials;
mod objects;
mod read;
mod sequence;
mod write;

pub use materials::{Library, library};
pub use read::read;
pub use sequence::{Sequence, natural_order};
pub use write::{Normals, write, write_shape};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_bytes;
    use crate::{Flaw, Space, UpAxis};
    use dermis_rig::glam::{DVec2, DVec3, Vec4};
    use dermis_rig::{Mesh, Polygons};

    fn alone(_: &str, _: u64) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    fn mesh(text: &str) -> (Mesh, Vec<crate::Warning>) {
        let contents = read(text.as_bytes(), "a.obj", &Space::default(), &alone).unwrap();
        (contents.mesh.unwrap(), contents.warnings)
    }

    #[test]
    fn every_way_to_name_a_corner() {
        let vertices = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\n";
        let uvs = "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n";
        for (face, textured) in [
            ("f 1 2 3 4", false),
            ("f 1// 2// 3// 4//", false),
            ("f 1//1 2//1 3//1 4//1", false),
            ("f 1/1 2/2 3/3 4/4", true),
            ("f 1/1/1 2/2/1 3/3/1 4/4/1", true),
            ("f -4/-4 -3/-3 -2/-2 -1/-1", true),
            ("f 1/1 \\\r\n 2/2 3/3 \\\n4/4", true),
            ("\tf   1/1\t2/2 3/3 4/4   ", true),
        ] {
            for ending in ["", "\r\n", "\n\n# C:\\models\\\n"] {
                let (mesh, warnings) = mesh(&format!("# made by hand \\\n{vertices}{uvs}{face}{ending}"));
                assert_eq!(mesh.polygons, Some(Polygons { counts: vec![4], indices: vec![0, 1, 2, 3] }), "{face}");
                assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]], "{face}");
                assert_eq!(mesh.render.is_some(), textured, "{face}");
                assert!(warnings.is_empty(), "{face} {warnings:?}");
            }
        }
    }

    #[test]
    fn order_of_the_vertex_lines_is_kept_and_seams_are_split_apart() {
        // Vertex 1 is named by no face, the edge 3 4 has two texture coordinates on either side, and faces come first.
        let text = "usemtl skin\nf 5/1 3/2 4/3\nusemtl cloth\nf 2/4 4/5 3/6\nv 9 9 9\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 0 0\n\
                    vt 0 0\nvt 1 0\nvt 0 1\nvt 1 1\nvt .5 .5\nvt .25 .75\n";
        let (mesh, warnings) = mesh(text);
        assert_eq!(mesh.positions[0], DVec3::splat(9.0));
        assert_eq!(mesh.triangles, [[4, 2, 3], [1, 3, 2]]);
        let render = mesh.render.unwrap();
        assert_eq!(render.source, [1, 2, 2, 3, 3, 4]);
        assert_eq!(render.triangles, [[5, 1, 3], [0, 4, 2]]);
        assert_eq!(render.uvs[2], DVec2::new(0.25, 0.25));
        let parts: Vec<_> = render.parts.iter().map(|p| (p.name.as_str(), p.start, p.count, p.material)).collect();
        assert_eq!(parts, [("skin", 0, 1, Some(0)), ("cloth", 1, 1, Some(1))]);
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].to_string(), "1: vertices belong to no face (first: vertex 0)");
    }

    #[test]
    fn colours_weights_and_oddities() {
        let (mesh, warnings) =
            mesh("v 0 0 0 1\nv 1 0 0 .5 0 1\nv 0 1 0 # here\nv 1 1 0\nf 1 2 3\nf 1 2\nl 1 2\np 1\nf 2 3 4");
        assert_eq!(mesh.colors, Some(vec![Vec4::ONE, Vec4::new(0.5, 0.0, 1.0, 1.0), Vec4::ONE, Vec4::ONE]));
        let texts: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(texts[0], "2: unsupported things were left out (first: line 7, \"l\")");
        assert_eq!(texts[1], "1: triangles have no area (first: line 6, a face of 2 corners was left out)");
        assert_eq!(mesh.triangles.len(), 2);
    }

    #[test]
    fn a_written_mesh_is_read_again() {
        let text = "v .1 .2 .3\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0.5 2 1e-7\nvt 0 0\nvt 1 0\nvt 1 .125\nvt 0 1\nvt .5 .5\nvt .5 .75\n\
                    f 1/1 2/2 3/3 4/4\nf 4/6 3/3 5/5\n";
        let (before, _) = mesh(text);
        for space in [Space::default(), Space { up: UpAxis::Z, metres_per_unit: 0.5, ..Space::default() }] {
            let bytes = to_bytes(|out| write(&before, &before.positions, &space, out)).unwrap();
            let after = read(&bytes, "b.obj", &space, &alone).unwrap().mesh.unwrap();
            assert_eq!(after, before, "powers of two lose nothing: {}", String::from_utf8_lossy(&bytes));
        }
    }

    /// A concave polygon with texture coordinates, and a quad beside it; also where its triangles are those of a fan, as older models have them.
    #[test]
    fn concave_polygons_keep_their_texture_coordinates() {
        let text = "v 2 -1 0\nv 0.5 0 0\nv 2 1 0\nv 0 0 0\nv 0 -1 0\nvt 0 0\nvt 1 0\nvt 1 0.125\nvt 0 1\nvt 0.5 0.5\n\
                    f 1/1 2/2 3/3 4/4\nf 1/5 4/4 5/3\n";
        let (before, warnings) = mesh(text);
        assert_eq!((&before.triangles[..], warnings), (&[[1, 2, 3], [0, 1, 3], [0, 3, 4]][..], vec![]));
        let render = before.render.as_ref().unwrap();
        let hung = render.triangles.iter().map(|t| t.map(|corner| render.source[corner as usize]));
        assert!(hung.eq(before.triangles.iter().copied()), "what is drawn is split as the mesh is");
        let mut as_fan = before.clone();
        as_fan.triangles[..2].copy_from_slice(&[[0, 1, 2], [0, 2, 3]]);
        let drawn: Vec<u32> = [[0, 1, 2], [0, 2, 3]].concat();
        let of = |vertex: u32| {
            render.triangles[..2].as_flattened().iter().copied().find(|d| render.source[*d as usize] == vertex)
        };
        let drawn: Vec<[u32; 3]> =
            drawn.chunks(3).map(|t| [t[0], t[1], t[2]].map(|vertex| of(vertex).unwrap())).collect();
        as_fan.render.as_mut().unwrap().triangles[..2].copy_from_slice(&drawn);
        for mesh in [&before, &as_fan] {
            let bytes = to_bytes(|out| write(mesh, &mesh.positions, &Space::default(), out)).unwrap();
            assert_eq!(read(&bytes, "b.obj", &Space::default(), &alone).unwrap().mesh.as_ref(), Some(&before));
        }
    }

    #[test]
    fn numbered_files_are_a_sequence() {
        let mut names = ["walk10.obj", "walk9.obj", "walk010.obj", "Walk.obj", "walk1_2.obj", "walk1_10.obj", "walk"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(
            names,
            ["Walk.obj", "walk", "walk1_2.obj", "walk1_10.obj", "walk9.obj", "walk010.obj", "walk10.obj"]
        );

        let frame = |x: &str, face: &str| format!("v {x} 0 0\nv 1 0 0\nv 0 1 0\nf {face}\n").into_bytes();
        let mut sequence = Sequence::new("walk", &Space::default());
        sequence.push("walk0.obj", &frame("nan", "1 2 3"), &alone).unwrap();
        sequence.push("walk1.obj", &frame("0.25", "1 2 3"), &alone).unwrap();
        sequence.push("walk2.obj", &frame("0.5", "2 3 1"), &alone).unwrap();
        let why = sequence.push("walk3.obj", b"v 0 0 0", &alone).unwrap_err().to_string();
        assert_eq!(why, "damaged OBJ file: \"walk3.obj\" has 1 vertices, but the files before it have 3");
        let contents = sequence.finish().unwrap();
        let labels: Vec<_> =
            contents.records.iter().map(|r| (r.label.as_str(), r.positions.as_ref().unwrap()[0].x)).collect();
        assert_eq!(labels, [("walk1", 0.25), ("walk2", 0.5)]);
        assert_eq!(contents.mesh.unwrap().positions[0].x, 0.25);
        let flaws: Vec<_> = contents.warnings.iter().map(|w| (w.flaw, w.count)).collect();
        assert_eq!(flaws, [(Flaw::NonFiniteFrame, 1), (Flaw::CountMismatch, 1)]);
        assert!(Sequence::new("none", &Space::default()).finish().is_err());
    }
}
