//! FBX that is written, read by the C library ufbx through our reader, whose own tests hold it to files of other programs.

mod character;

use character::character;
use dermis_io::fbx::{self, FbxScene, FbxWritten, clip_of_frames, common_space};
use dermis_io::gltf::GlbClip;
use dermis_io::{Clip, Contents, Space, UpAxis, to_bytes};
use dermis_rig::Skeleton;
use dermis_rig::glam::{DAffine3, DVec3};

fn alone(_: &str, _: u64) -> std::io::Result<Vec<u8>> {
    Err(std::io::ErrorKind::NotFound.into())
}

fn metres(up: UpAxis) -> Space {
    Space { up, ..Space::default() }
}

fn written(scene: &FbxScene<'_>, space: &Space) -> (Vec<u8>, FbxWritten) {
    let mut done = FbxWritten::default();
    let bytes = to_bytes(|out| {
        done = fbx::write(scene, space, out)?;
        Ok(())
    });
    (bytes.unwrap_or_else(|e| panic!("{e}")), done)
}

fn read(bytes: &[u8]) -> Contents {
    fbx::read(bytes, "written.fbx", &alone).unwrap_or_else(|e| panic!("{e}"))
}

fn clip(skeleton: &Skeleton, clip: &GlbClip) -> Clip {
    let GlbClip { name, times, poses, morph_weights, .. } = clip.clone();
    clip_of_frames(&name, Some(skeleton), times, &poses, morph_weights).unwrap()
}

/// In each axis and unit what is written comes back.
#[test]
fn a_character_comes_back() {
    let column = character(4);
    let clip = clip(&column.skeleton, &column.clips[0]);
    for space in
        [metres(UpAxis::Y), metres(UpAxis::Z), common_space(), Space { metres_per_unit: 0.0254, ..metres(UpAxis::Z) }]
    {
        let clips = [&clip];
        let scene = FbxScene {
            name: "column",
            mesh: Some(&column.mesh),
            skeleton: Some(&column.skeleton),
            weights: Some(&column.weights),
            morphs: &column.morphs,
            clips: &clips,
            ..FbxScene::default()
        };
        let (bytes, done) = written(&scene, &space);
        let again = read(&bytes);
        println!("{done:?} {:?} {:?}", again.warnings, again.unread);
        assert_eq!(again.space, space);
        assert_eq!(again.warnings, []);
        assert_eq!(again.unread, Vec::<String>::new());
        let mesh = again.mesh.as_ref().unwrap();
        // A conversion and the binding: a few roundings of 2⁻⁵³ of the mesh's 1.3 m.
        let near = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).all(|(a, b)| a.distance(*b) < 4e-15);
        assert!(near(&mesh.positions, &column.mesh.positions));
        assert_eq!(mesh.triangles, column.mesh.triangles);
        for (a, b) in again.weights.as_ref().unwrap().rows().zip(column.weights.normalised().0.rows()) {
            let b: Vec<_> = b.iter().copied().filter(|(_, w)| *w != 0.0).collect();
            assert_eq!(a, b);
        }
        for (a, b) in again.morphs.iter().zip(&column.morphs) {
            assert_eq!(a.name, b.name);
            assert!(near(&a.deltas, &b.deltas));
        }
        let skeleton = again.skeleton.as_ref().unwrap();
        assert_eq!((skeleton.names(), skeleton.parents()), (column.skeleton.names(), column.skeleton.parents()));
        for (a, b) in skeleton.bind().iter().zip(column.skeleton.bind().iter()) {
            assert!(a.abs_diff_eq(*b, 4e-15));
        }
        let read = &again.clips[0];
        assert_eq!((read.name.as_str(), read.duration), ("bend", 1.0));
        for step in 0..=97 {
            let time = f64::from(step) / 97.0;
            let (a, b) = ((read.sample)(time), (clip.sample)(time));
            let at = |frame: &dermis_io::ClipFrame| -> Vec<DAffine3> { frame.pose.bones.iter().copied().collect() };
            for (a, b) in at(&a).iter().zip(at(&b)) {
                assert!(a.abs_diff_eq(b, 2e-4), "{time}: {a} {b}");
            }
            for (a, b) in a.morph_weights.iter().zip(&b.morph_weights) {
                assert!((a - b).abs() < 1e-7);
            }
        }
    }
}
