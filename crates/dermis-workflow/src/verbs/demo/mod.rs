//! The whole loop on the bundled body: the files are part of the program.

pub(crate) mod recipe;

use crate::FileError;
use crate::error::Error;
use crate::load::{FileNote, LoadedRig};
use dermis_io::Contents;
use dermis_rig::{Example, ExampleSet, Frame, Influences, Motion, Rig, Skeleton};
use lzma_rust2::LzmaReader;
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

/// The bundled files.
pub struct Files {
    /// The rig and its training poses.
    pub exercise: Vec<u8>,
    /// Motion no fit may see.
    pub walk: Vec<u8>,
    /// The body with its skin and clips, as Blender exports it.
    pub glb: Vec<u8>,
}

/// The files that the program carries, unpacked once. They are empty, which no reader takes, if the program is damaged.
///
/// They lie in it as `tools/make_body.py` packs them, a third of what the compression of bundles leaves.
pub static FILES: LazyLock<Files> = LazyLock::new(|| {
    #[cfg(feature = "body")]
    const PACKED: &[u8] = include_bytes!("../../../../../assets/body/body.lzma");
    #[cfg(not(feature = "body"))]
    const PACKED: &[u8] = &[];
    // Above the dictionary.
    const KILOBYTES: u32 = 1 << 15;
    let part = |reader: &mut LzmaReader<&[u8]>, length: [u8; 8]| {
        let mut file = Vec::new();
        let read = reader.by_ref().take(u64::from_le_bytes(length)).read_to_end(&mut file);
        read.map(|_| file)
    };
    let unpacked = || {
        let mut reader = LzmaReader::new_mem_limit(PACKED, KILOBYTES, None)?;
        let mut numbers = [[0; 8]; 9];
        numbers.iter_mut().try_for_each(|number| reader.read_exact(number))?;
        let [exercise, walk, glb] = [numbers[0], numbers[1], numbers[2]].map(|length| part(&mut reader, length));
        let (mut exercise, mut walk) = (exercise?, walk?);
        for (file, at) in [&mut exercise, &mut walk].into_iter().zip([3, 6]) {
            let [start, poses, vertices] = [0, 1, 2].map(|i| u64::from_le_bytes(numbers[at + i]) as usize);
            undifference(&mut file[start..][..12 * poses * vertices], vertices);
        }
        Ok::<_, std::io::Error>(Files { exercise, walk, glb: glb? })
    };
    unpacked().unwrap_or(Files { exercise: vec![], walk: vec![], glb: vec![] })
});

/// Positions from the bytes that stand for them: in each pose, axis by axis, the difference to the vertex before in units of 2⁻¹⁴ m, its
/// sign in the lowest bit; of all differences the lowest bytes, then the next ones.
fn undifference(bytes: &mut [u8], vertices: usize) {
    let count = bytes.len() / 4;
    let code = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|plane| bytes[plane * count + i]));
    let mut positions = vec![0.0f32; count];
    for (row, first) in (0..count).step_by(vertices).enumerate() {
        let (pose, axis) = (row / 3, row % 3);
        let mut whole = 0i32;
        for v in 0..vertices {
            let code = code(first + v);
            whole += (code >> 1) as i32 ^ -((code & 1) as i32);
            positions[3 * (pose * vertices + v) + axis] = whole as f32 / 16384.0;
        }
    }
    for (bytes, position) in bytes.chunks_exact_mut(4).zip(positions) {
        bytes.copy_from_slice(&position.to_le_bytes());
    }
}

/// The bundled body: rig, training examples, held-out examples, and what was read.
///
/// # Errors
/// None as long as the bundled files are whole; a test reads them.
pub fn body() -> Result<(LoadedRig, ExampleSet, ExampleSet, Vec<FileNote>), Error> {
    let path = Path::new("body_exercise.npz");
    let exercise = read(path, &FILES.exercise)?;
    let walk = read(Path::new("body_walk.npz"), &FILES.walk)?;
    let missing = || Error::lacks(path, "the bundled body is incomplete", "");
    let (mesh, skeleton) = exercise.mesh.clone().zip(exercise.skeleton.clone()).ok_or_else(missing)?;
    let rig = Rig::new(mesh, skeleton, exercise.weights.clone()).map_err(|e| Error::lacks(path, e.to_string(), ""))?;
    let rig = rig.named("body");
    let examples = |contents: &Contents| {
        let made = contents.records.iter().filter_map(|record| {
            Some(Example {
                label: record.label.clone(),
                time: record.time,
                transforms: rig.skeleton().bone_transforms(record.pose.as_ref()?),
                positions: record.positions.clone()?,
                importance: record.importance,
                local: record.local.clone(),
            })
        });
        ExampleSet::new(contents.name.trim_end_matches(".npz").into(), made.collect(), &rig)
            .map_err(|e| Error::lacks(path, e.to_string(), ""))
    };
    let (train, held_out) = (examples(&exercise)?, examples(&walk)?);
    let notes =
        [("rig and examples", "body_exercise.npz", &FILES.exercise), ("hold-out", "body_walk.npz", &FILES.walk)];
    let notes = notes.map(|(role, name, bytes)| FileNote {
        role: role.into(),
        ..crate::load::note(Path::new(name), bytes, Vec::new())
    });
    Ok((LoadedRig { rig, space: exercise.space, notes: notes.to_vec() }, train, held_out, notes.to_vec()))
}

/// The bundled walk: the body's skeleton, its weights, and the poses.
///
/// # Errors
/// None as long as the bundled file is whole.
pub fn walk() -> Result<(Skeleton, Option<Influences>, Motion), Error> {
    let path = Path::new("body_walk.npz");
    let contents = read(path, &FILES.walk)?;
    let frames = contents.records.iter().filter_map(|record| {
        Some(Frame { label: record.label.clone(), time: record.time, pose: record.pose.clone()? })
    });
    let motion = Motion { name: "walk".into(), frames: frames.collect() };
    let skeleton = contents.skeleton.ok_or_else(|| Error::lacks(path, "the bundled walk is incomplete", ""))?;
    Ok((skeleton, contents.weights, motion))
}

fn read(path: &Path, bytes: &[u8]) -> Result<Contents, FileError> {
    if cfg!(not(feature = "body")) {
        return Err(FileError::lacks(
            path,
            "the bundled body is not part of this build of Dermis",
            "name files of your own",
        ));
    }
    let name = path.display().to_string();
    dermis_io::npz::read(bytes, &name).map_err(|source| FileError::Read { path: path.into(), source })
}
