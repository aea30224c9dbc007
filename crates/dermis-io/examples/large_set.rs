//! A large set of examples for trials of scale, written in slices: `large_set RIG.npz EXAMPLES.npz VERTICES POSES [BONES]`.
//!
//! A tube of rings along a chain of bones that bend and twist at random; where a joint bends, skin swells.

use dermis_deform::lbs;
use dermis_io::npz::{StoredFloat, write};
use dermis_io::{Contents, Space};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::skeleton::row;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mesh, Skeleton};
use dermis_testkit::Random;
use std::error::Error;
use std::f64::consts::TAU;
use std::fs::File;
use std::io::{BufWriter, Write};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

const AROUND: usize = 50;

fn head(shape: &str) -> Vec<u8> {
    let mut text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    while !(10 + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat()
}

fn bytes(numbers: impl Iterator<Item = f64>) -> Vec<u8> {
    numbers.flat_map(|x| (x as f32).to_le_bytes()).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [rig_path, path, vertices, poses, ..] = &args[..] else { return Err("see the top of this file".into()) };
    let (vertices, poses): (usize, usize) = (vertices.parse()?, poses.parse()?);
    let bones: usize = args.get(4).map_or(Ok(30), |text| text.parse())?;
    let rings = vertices / AROUND;
    let vertices = rings * AROUND;
    let along = |v: usize| (v / AROUND) as f64 / (rings - 1) as f64 * bones as f64;
    let outward = |v: usize| {
        let angle = (v % AROUND) as f64 / AROUND as f64 * TAU;
        DVec3::new(0.0, angle.cos(), angle.sin())
    };
    let rest: Vec<DVec3> = (0..vertices).map(|v| DVec3::X * along(v) * 0.1 + outward(v) * 0.05).collect();
    let corner = |ring: usize, at: usize| (ring * AROUND + at % AROUND) as u32;
    let quads = (0..rings - 1).flat_map(|ring| (0..AROUND).map(move |at| (ring, at)));
    let triangles = quads.flat_map(|(r, a)| {
        [[corner(r, a), corner(r + 1, a), corner(r, a + 1)], [corner(r, a + 1), corner(r + 1, a), corner(r + 1, a + 1)]]
    });
    let mesh = Mesh { positions: rest.clone(), triangles: triangles.collect(), ..Mesh::default() };
    let bind: Vec<DAffine3> = (0..bones).map(|b| DAffine3::from_translation(DVec3::X * b as f64 * 0.1)).collect();
    let parents = (0..bones).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
    let skeleton = Skeleton::new((0..bones).map(|b| format!("bone{b}")).collect(), parents, bind.clone())?;
    // A joint blends over half a bone's length to each side.
    let weights = Influences::from_rows((0..vertices).map(|v| {
        let joint = along(v).round().clamp(1.0, (bones - 1) as f64);
        let t = (along(v) - joint + 0.5).clamp(0.0, 1.0);
        let (low, high) = (BoneIndex::new(joint as usize - 1), BoneIndex::new(joint as usize));
        vec![(low, 1.0 - t), (high, t)].into_iter().filter(|(_, w)| *w > 0.0).collect()
    }))?;
    let rig = Contents {
        mesh: Some(mesh),
        skeleton: Some(skeleton.clone()),
        weights: Some(weights.clone()),
        space: Space::default(),
        ..Contents::default()
    };
    write(&rig, StoredFloat::Single, &mut std::fs::File::create(rig_path)?)?;

    let mut random = Random::new(1);
    let angles: Vec<Vec<(f64, f64)>> = (0..poses)
        .map(|_| (0..bones).map(|_| (random.between(-0.6, 0.6), random.between(-0.4, 0.4))).collect())
        .collect();
    let posed = |angles: &[(f64, f64)]| {
        let mut world: Vec<DAffine3> = Vec::with_capacity(bones);
        for (b, (bend, twist)) in angles.iter().enumerate() {
            let turn = DAffine3::from_quat(DQuat::from_rotation_z(*bend) * DQuat::from_rotation_x(*twist));
            let joint = if b == 0 { DAffine3::IDENTITY } else { DAffine3::from_translation(DVec3::X * 0.1) * turn };
            world.push(world.last().copied().unwrap_or(DAffine3::IDENTITY) * joint);
        }
        world
    };
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let mut zip = ZipWriter::new(BufWriter::with_capacity(1 << 20, File::create(path)?));
    zip.start_file("pose_matrices.npy", options)?;
    zip.write_all(&head(&format!("({poses}, {bones}, 4, 4)")))?;
    for angles in &angles {
        let last = [0.0, 0.0, 0.0, 1.0];
        let rows = posed(angles).into_iter().flat_map(|m| [row(&m, 0), row(&m, 1), row(&m, 2), last]);
        zip.write_all(&bytes(rows.flatten()))?;
    }
    zip.start_file("vertices.npy", options)?;
    zip.write_all(&head(&format!("({poses}, {vertices}, 3)")))?;
    let mut swollen = rest.clone();
    let mut skin = rest.clone();
    for angles in &angles {
        for (v, p) in swollen.iter_mut().enumerate() {
            let joint = along(v).round().clamp(1.0, (bones - 1) as f64);
            let near = (-(along(v) - joint).powi(2) * 12.0).exp();
            let (bend, twist) = angles[joint as usize];
            *p = rest[v] + outward(v) * (0.01 * near * (1.0 - bend.cos() + 0.5 * twist * outward(v).y));
        }
        let own = posed(angles);
        let transforms = BoneTransforms::new(own.iter().zip(&bind).map(|(t, b)| *t * b.inverse()).collect());
        lbs(&swollen, &weights, &transforms, &mut skin);
        zip.write_all(&bytes(skin.iter().flat_map(|p| p.to_array())))?;
    }
    zip.finish()?.flush()?;
    Ok(())
}
