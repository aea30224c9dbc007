//! A small character for tests: a square column of bones with a seam along one edge, two morph targets and a clip.
#![allow(dead_code)] // each test binary uses its part

use dermis_io::gltf::{GlbClip, GlbScene, write_glb};
use dermis_io::skinned_scene::{SkinnedScene, clip_of_frames};
use dermis_io::{Clip, ClipFrame, MorphTarget, to_bytes};
use dermis_rig::glam::{DAffine3, DQuat, DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{BoneIndex, Influences, Mesh, MeshObject, Polygons, RenderMesh, Skeleton, WorldPose};

pub struct Character {
    pub mesh: Mesh,
    pub skeleton: Skeleton,
    pub weights: Influences,
    pub morphs: Vec<MorphTarget>,
    pub clips: Vec<GlbClip>,
}

/// A column of `bones` bones, each 0.3 m long, with two rings of vertices per bone.
pub fn character(bones: usize) -> Character {
    let rings = 2 * bones + 1;
    let (mut mesh, mut render) = (Mesh::default(), RenderMesh::default());
    let mut rows = Vec::new();
    for ring in 0..rings {
        let height = 0.15 * ring as f64;
        for corner in 0..4 {
            let angle = std::f64::consts::FRAC_PI_2 * corner as f64;
            mesh.positions.push(DVec3::new(0.1 * angle.cos(), height, 0.1 * angle.sin()));
            let weight = |bone: usize| (-((height - 0.3 * bone as f64 - 0.15) / 0.3).powi(2)).exp();
            let sum: f64 = (0..bones).map(weight).sum();
            rows.push((0..bones).map(|bone| (BoneIndex::new(bone), weight(bone) / sum)).collect());
        }
        // The first corner is drawn twice: texture coordinate 0 and 1.
        for step in 0..5 {
            render.source.push((4 * ring + step % 4) as u32);
            render.uvs.push(DVec2::new(0.25 * step as f64, height));
        }
    }
    for ring in 0..rings as u32 - 1 {
        for step in 0..4 {
            let (a, b) = (5 * ring + step, 5 * ring + step + 1);
            render.triangles.extend([[a, a + 5, b], [b, a + 5, b + 5]]);
        }
    }
    let half = render.triangles.len() as u32 / 2;
    let part = |name: &str, start, count, red| RenderPart {
        name: name.into(),
        start,
        count,
        color: Vec4::new(red, 0.5, 0.25, 1.0),
        material: None,
    };
    render.parts = vec![part("low", 0, half, 1.0), part("high", half, render.triangles.len() as u32 - half, 0.0)];
    mesh.triangles = render.triangles.iter().map(|t| t.map(|corner| render.source[corner as usize])).collect();

    let names = (0..bones).map(|bone| format!("bone{bone}")).collect();
    let parents = (0..bones).map(|bone| bone.checked_sub(1).map(BoneIndex::new)).collect();
    let tilt = |bone: usize| DQuat::from_rotation_y(0.4 * bone as f64);
    let bind = |bone| DAffine3::from_rotation_translation(tilt(bone), DVec3::Y * 0.3 * bone as f64);
    let skeleton = Skeleton::new(names, parents, (0..bones).map(bind).collect()).unwrap();

    let bulge = |axis: DVec3| mesh.positions.iter().map(|p| axis * (3.0 * p.y).sin() * 0.02).collect();
    let morphs = vec![
        MorphTarget { name: "wide".into(), deltas: bulge(DVec3::X) },
        MorphTarget { name: "deep".into(), deltas: bulge(DVec3::Z) },
    ];
    let rest = skeleton.local_transforms(&WorldPose::new(skeleton.bind().to_vec())).unwrap();
    let mut clip = GlbClip { name: "bend".into(), ..GlbClip::default() };
    for frame in 0..5 {
        let turn = 0.5 * f64::from(frame);
        let local = rest.enumerate().map(|(bone, local)| match bone.get() {
            0 => DAffine3::from_translation(DVec3::X * turn * 0.1) * *local,
            1 => {
                *local * DAffine3::from_rotation_x(turn) * DAffine3::from_scale(DVec3::new(1.0, 1.0 + 0.1 * turn, 1.0))
            }
            _ => *local,
        });
        let local = dermis_rig::BoneVec::new(local.collect());
        clip.times.push(0.25 * f64::from(frame));
        clip.poses.push(skeleton.posed(local).unwrap().world());
        clip.morph_weights.push(vec![turn / 2.0, 0.9 - turn / 3.0]);
    }
    mesh.render = Some(render);
    let weights = Influences::from_rows(rows).unwrap();
    Character { mesh, skeleton, weights, morphs, clips: vec![clip] }
}

impl Character {
    pub fn scene(&self) -> GlbScene<'_> {
        GlbScene {
            name: "column",
            mesh: Some(&self.mesh),
            skeleton: Some(&self.skeleton),
            weights: Some(&self.weights),
            morphs: &self.morphs,
            clips: &self.clips,
            ..GlbScene::default()
        }
    }

    pub fn skinned<'a>(&'a self, clips: &'a [&'a Clip]) -> SkinnedScene<'a> {
        SkinnedScene {
            name: "column",
            mesh: Some(&self.mesh),
            skeleton: Some(&self.skeleton),
            weights: Some(&self.weights),
            morphs: &self.morphs,
            clips,
            ..SkinnedScene::default()
        }
    }

    pub fn glb(&self) -> Vec<u8> {
        to_bytes(|out| write_glb(&self.scene(), out)).unwrap()
    }
}

/// Frames as a clip that is sampled at any time.
pub fn of(skeleton: &Skeleton, clip: &GlbClip) -> Clip {
    let GlbClip { name, times, poses, morph_weights, .. } = clip.clone();
    clip_of_frames(&name, Some(skeleton), times, &poses, morph_weights).unwrap()
}

/// The skin of a frame, by the definition of linear blending.
pub fn skin(
    mesh: &Mesh,
    skeleton: &Skeleton,
    weights: &Influences,
    morphs: &[MorphTarget],
    frame: &ClipFrame,
) -> Vec<DVec3> {
    let vertex = |(v, rest): (usize, &DVec3)| {
        let shapes = morphs.iter().zip(&frame.morph_weights).map(|(morph, weight)| morph.deltas[v] * *weight);
        let rest = *rest + shapes.sum::<DVec3>();
        let moved = |(bone, weight): &(BoneIndex, f64)| {
            (frame.pose.bones[*bone] * skeleton.inverse_bind()[*bone]).transform_point3(rest) * *weight
        };
        weights.of(v).iter().map(moved).sum()
    };
    mesh.positions.iter().enumerate().map(vertex).collect()
}

/// The largest distance between points of the same number.
pub fn far(a: &[DVec3], b: &[DVec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

/// A block of quads and a pentagon with hard edges: polygons, their order, and the normals of their corners.
pub fn house() -> Mesh {
    let (x, y) = ([0.0, 1.0, 1.0, 0.5, 0.0], [0.0, 0.0, 1.0, 1.5, 1.0]);
    let front = (0..5).map(|at| DVec3::new(x[at], y[at], 1.0));
    let back = (0..5).map(|at| DVec3::new(x[at], y[at], 0.0));
    let mut polygons = Polygons { counts: vec![5, 5], indices: vec![0, 1, 2, 3, 4, 9, 8, 7, 6, 5] };
    for at in 0..5 {
        let next = (at + 1) % 5;
        polygons.counts.push(4);
        polygons.indices.extend([at + 5, next + 5, next, at]);
    }
    let mut mesh = Mesh { positions: front.chain(back).collect(), ..Mesh::default() };
    let mut render = RenderMesh { by_corner: true, ..RenderMesh::default() };
    for polygon in polygons.iter() {
        let [a, b, c] = [0, 1, 2].map(|at| mesh.positions[polygon[at] as usize]);
        let (first, normal) = (render.source.len() as u32, (b - a).cross(c - a).normalize());
        for &vertex in polygon {
            let p = mesh.positions[vertex as usize];
            render.source.push(vertex);
            render.normals.push(normal);
            render.uvs.push(DVec2::new(0.25 * p.x + 0.5 * p.z, 0.25 * p.y));
        }
        for at in 1..polygon.len() as u32 - 1 {
            render.triangles.push([first, first + at, first + at + 1]);
            mesh.triangles.push([polygon[0], polygon[at as usize], polygon[at as usize + 1]]);
        }
    }
    mesh.polygons = Some(polygons);
    mesh.render = Some(render);
    mesh
}

/// A head and its teeth, which are hidden, each with a material of its own, three morph targets, and a clip of them.
pub fn face() -> (Mesh, Vec<MorphTarget>, Clip) {
    let (mut mesh, mut render) = (Mesh::default(), RenderMesh::default());
    for (number, name) in ["head", "teeth"].into_iter().enumerate() {
        let (base, aside) = (3 * number as u32, DVec3::X * 2.0 * number as f64);
        mesh.positions.extend([aside, aside + DVec3::X, aside + DVec3::Y]);
        mesh.triangles.push([base, base + 1, base + 2]);
        mesh.objects.push(MeshObject { name: name.into(), vertices: 3, visible: number == 0 });
        let color = Vec4::new(0.25, 0.5 * number as f32, 1.0, 1.0);
        let (name, start) = (format!("of_{name}"), number as u32);
        render.parts.push(RenderPart { name, start, count: 1, color, material: None });
    }
    render.source = (0..6).collect();
    render.triangles = mesh.triangles.clone();
    mesh.render = Some(render);
    let both = MorphTarget { name: "open".into(), deltas: (0..6).map(|v| DVec3::Z * f64::from(v + 1)).collect() };
    let still = MorphTarget { name: "still".into(), deltas: vec![DVec3::ZERO; 6] };
    let one = MorphTarget { name: "smile".into(), deltas: (0..6).map(|v| DVec3::Y * f64::from(v / 3)).collect() };
    let rows = [[0.25, 0.0, -0.5], [1.0, 0.5, 2.0]].map(Vec::from).to_vec();
    (mesh, vec![both, still, one], clip_of_frames("talk", None, vec![0.0, 2.0], &[], rows).unwrap())
}
