//! Reading, by the library ufbx.

mod appearance;
mod bones;
mod caches;
mod clips;
mod drawn;
mod frames;
mod mesh;
mod shapes;

use crate::contents::{Contents, Flaw, Format, ReadError, Resolve, Space, UpAxis};
use crate::flaws::{Flaws, make_names_unique, make_unique};
use bones::Bones;
use caches::Caches;
use dermis_rig::Skeleton;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::memory::at_most;
use std::sync::Arc;
use ufbx::{AllocatorOpts, CoordinateAxis, ErrorType, FileFormat, IndexErrorHandling, LoadOpts, SceneRoot};

fn damaged(reason: impl Into<String>) -> ReadError {
    ReadError::Damaged { format: Format::Fbx, reason: reason.into() }
}

/// What may be made of a file of so many bytes: its arrays are deflated, by a thousand at most.
fn allowance(file: usize) -> usize {
    file.saturating_mul(256).saturating_add(64 << 20).min(at_most(8u64 << 30))
}

/// Reads an .fbx file.
///
/// - `name`: what the file is called in [`Contents::name`]; its textures may stand in `STEM.fbm/`
/// - `resolve`: a file beside this one, by its relative path; called for the images of textures and for geometry caches, a gigabyte each at most
///
/// Meshes are objects in the order of the scene, hidden ones too. A mesh without a skin hangs rigidly on the bone above it, if other
/// meshes have one, or is a bone of its own if a take moves it, else it is left out. Without any skin, meshes hang on
/// bones likewise if a take moves one of them, those that nothing moves on one; else all are at rest where the scene shows them. Vertices of a skin that have no weight hang on the node of their mesh, which is a bone then. Bones are
/// the nodes a skin names and those the file calls limbs; in a file without any, but with animation and without a mesh, all
/// nodes. Every take is a clip with a key per frame of the file's rate, from 0 at the take's beginning; between frames it
/// is evaluated as well. Bones are scaled to unit size at rest, which moves no vertex. Polygons of one material come one
/// after another. An image that is neither in the file nor beside it is left out and counted.
///
/// # Errors
/// [`ReadError`]: the wrong kind of file, damage, a file that needs more memory than 256 times its bytes and 64 MiB, indices out of
/// range, bones that make no skeleton.
pub fn read(bytes: &[u8], name: &str, resolve: &Resolve<'_>) -> Result<Contents, ReadError> {
    let scene = Arc::new(load(bytes)?);
    let mut flaws = Flaws::default();
    let (space, world) = space(&scene, &mut flaws);
    space.check()?;
    let mut contents = Contents { name: name.into(), format: Format::Fbx, space, ..Contents::default() };
    let blocks = mesh::blocks(&scene, allowance(bytes.len()))?;
    let is_skinned = blocks.iter().any(|block| !block.mesh(&scene).skin_deformers.is_empty());
    let caches = match is_skinned {
        true => Caches::default(),
        false => Caches::read(&scene, &blocks, clips::rate(&scene).unwrap_or(24.0), (name, resolve), &mut flaws),
    };
    let moving = clips::moving_nodes(&scene);
    let mut bones = Bones::read(&scene, &world, &blocks, (&moving, !caches.is_empty()), &mut flaws)?;
    make_unique(&mut bones.names, &mut flaws);

    let mut place: Vec<usize> = Vec::new(); // of each bone in the skeleton
    let mut sorted = Vec::new();
    if !bones.names.is_empty() {
        let (skeleton, order) = Skeleton::sorted(bones.names.clone(), &bones.parents(&scene), &bones.binds)?;
        place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
            sorted.push((bones.nodes[old], bones.sizes[old]));
        }
        contents.skeleton = Some(skeleton);
    }
    let mut joined = mesh::Joined::read(&scene, &world, &blocks, &bones, &place, &mut flaws)?;
    if let Some(mesh) = &mut joined.mesh {
        let look = appearance::read(&scene, name, resolve, &mut flaws).map(Arc::new);
        if let Some(render) = &mut mesh.render {
            render.appearance = look;
        }
    }
    let showers = joined.fill(&scene, &mut contents, allowance(bytes.len()), &mut flaws)?;
    if let Some(skeleton) = &contents.skeleton {
        contents.default_pose =
            bones::default_pose(skeleton, &scene, &world, &sorted, contents.mesh.as_ref(), &mut flaws);
    }
    contents.frames_per_second = clips::rate(&scene);
    let most = allowance(bytes.len().saturating_add(caches.bytes));
    let recorded = frames::read(&scene, &world, &joined.parts, (&caches, &showers), most, &mut contents, &mut flaws);
    contents.clips = clips::read(&scene, &world, sorted, showers, (allowance(bytes.len()), recorded), &mut flaws);
    make_names_unique(&mut contents.clips, |clip| &mut clip.name, &mut flaws);
    make_names_unique(&mut contents.morphs, |morph| &mut morph.name, &mut flaws);
    mesh::name_unread(&scene, &blocks, &bones, &mut flaws);
    for (count, what) in [
        (scene.lod_groups.len(), "groups of levels of detail (every level is joined)"),
        (
            scene.cache_files.len() - caches.met,
            if is_skinned { "geometry caches, beside skins" } else { "geometry caches of no mesh" },
        ),
        (scene.cameras.len(), "cameras"),
        (scene.lights.len(), "lights"),
        (scene.nurbs_curves.len() + scene.line_curves.len(), "curves"),
        (scene.nurbs_surfaces.len(), "NURBS surfaces"),
        (scene.constraints.len(), "constraints"),
    ] {
        if count > 0 {
            contents.unread.push(format!("{count} {what}"));
        }
    }
    let repaired = scene.metadata.warnings.iter().map(|warning| warning.count.max(1)).sum();
    let first = scene.metadata.warnings.first().map(|warning| warning.description.to_string());
    flaws.warn(Flaw::Repaired, repaired, first);
    contents.unread.append(&mut flaws.unread);
    contents.warnings.append(&mut flaws.warnings);
    Ok(contents)
}

fn load(bytes: &[u8]) -> Result<SceneRoot, ReadError> {
    let limit = || AllocatorOpts { memory_limit: allowance(bytes.len()), ..AllocatorOpts::default() };
    let options = LoadOpts {
        temp_allocator: limit(),
        result_allocator: limit(),
        file_format: FileFormat::Fbx,
        index_error_handling: IndexErrorHandling::AbortLoading,
        node_depth_limit: 1000,
        retain_dom: true, // for what the library has no word for: `FullWeights` as written
        ..LoadOpts::default()
    };
    ufbx::load_memory(bytes, options).map_err(|error| {
        let reason = error.description.to_string();
        match error.type_ {
            ErrorType::UnrecognizedFileFormat | ErrorType::EmptyFile => {
                ReadError::WrongKind { format: Format::Fbx, reason: "it does not begin as one".into() }
            }
            ErrorType::UnsupportedVersion => ReadError::Unsupported { feature: "this version of FBX".into() },
            ErrorType::MemoryLimit | ErrorType::AllocationLimit => {
                damaged(format!("its {} bytes ask for more memory than they can fill", bytes.len()))
            }
            _ => damaged(reason),
        }
    })
}

/// The file's axes and unit, and the map from its world to ours. Any axes are understood, also left-handed ones; what
/// the file does not state is taken as Y up and metres.
fn space(scene: &SceneRoot, flaws: &mut Flaws) -> (Space, DAffine3) {
    let axis = |axis: CoordinateAxis| {
        Some(match axis {
            CoordinateAxis::PositiveX => DVec3::X,
            CoordinateAxis::NegativeX => DVec3::NEG_X,
            CoordinateAxis::PositiveY => DVec3::Y,
            CoordinateAxis::NegativeY => DVec3::NEG_Y,
            CoordinateAxis::PositiveZ => DVec3::Z,
            CoordinateAxis::NegativeZ => DVec3::NEG_Z,
            CoordinateAxis::Unknown => return None,
        })
    };
    let stated = scene.settings.axes;
    // Rows: our x, y, z are what the file has to the right, up and to the front.
    let turn = axis(stated.right)
        .zip(axis(stated.up))
        .zip(axis(stated.front))
        .map(|((right, up), front)| DMat3::from_cols(right, up, front).transpose());
    let turn = turn.filter(|turn| turn.determinant().abs() > 0.5);
    let metres = scene.settings.unit_meters;
    let known = metres.is_finite() && metres > 0.0;
    if turn.is_none() || !known {
        flaws.add(Flaw::UnknownSpace, || if known { "axes".into() } else { "unit".into() });
    }
    let metres_per_unit = if known { metres } else { 1.0 };
    let up = match stated.up {
        CoordinateAxis::PositiveZ => UpAxis::Z,
        _ => UpAxis::Y,
    };
    let world = DAffine3::from_mat3(turn.unwrap_or(DMat3::IDENTITY) * metres_per_unit);
    (Space { up, metres_per_unit, unit: "m".into() }, world)
}

/// A matrix of the library as ours.
fn affine(m: &ufbx::Matrix) -> DAffine3 {
    let linear = DMat3::from_cols(
        DVec3::new(m.m00, m.m10, m.m20),
        DVec3::new(m.m01, m.m11, m.m21),
        DVec3::new(m.m02, m.m12, m.m22),
    );
    DAffine3::from_mat3_translation(linear, DVec3::new(m.m03, m.m13, m.m23))
}
