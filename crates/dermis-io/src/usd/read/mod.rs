//! USD: text (`.usda`) and binary (`.usdc`) layers and packages of them (`.usdz`).
//!
//! A layer is read whole, its values when they are asked for; layers are composed into a [`stage`]; of the stage's prims skeletons,
//! meshes, animations and materials are read.
//!
//! A skinned vertex is p' = S Σ w_k J_k B_k⁻¹ G p, with S the way from the skeleton to the world, J_k the joints in the skeleton,
//! B_k `bindTransforms` and G `geomBindTransform`. So the rest mesh is G p and its joints B_k, both moved as the scene shows them.
//!
//! Written by hand: the crate `openusd` allocates what a damaged file promises, and panics. Source: OpenUSD 26.11,
//! github.com/PixarAnimationStudios/OpenUSD.
//! Not read, and named: subdivision, value clips, splines, relocates, point instancers, curves, points, implicit
//! shapes, cameras, lights, files outside of the folder, variants that are not chosen.

mod budget;
mod bytes;
mod clips;
mod compose;
mod crate_file;
mod files;
mod frames;
mod geometry;
mod joints;
mod layer;
mod material;
mod mesh;
mod packed;
mod primvar;
mod scene;
mod skel;
mod skin;
mod stage;
mod text;
mod track;
mod values;
mod words;
mod xform;

use crate::contents::{Contents, Flaw, Format, ReadError, Resolve, Space, UpAxis};
use crate::flaws::{Flaws, make_names_unique, make_unique};
use budget::Budget;
use compose::Composer;
use dermis_rig::Skeleton as Rig;
use files::{Files, folder};
use joints::Bones;
use layer::{Layer, Meta};
use scene::Scene;
use skel::Skeleton;
use stage::Stage;
use std::borrow::Cow;
use std::sync::Arc;

fn damaged(reason: impl Into<String>) -> ReadError {
    ReadError::Damaged { format: Format::Usd, reason: reason.into() }
}

/// Reads a .usd, .usda, .usdc or .usdz file.
///
/// - `name`: what the file is called in [`Contents::name`]
/// - `resolve`: a file beside this one, by its relative path; called for layers and images within the folder, a gigabyte at most
///
/// What is below the default prim is read, or the whole stage if it has none. Meshes are objects in the order of the stage, hidden
/// ones too; guides and proxies are left out and named. If any mesh has joints, one without is a bone of its own if it moves or
/// has blend shapes, and left out otherwise. If none has, all stand where the scene shows them, and where any of them moves, every
/// moment at which something was sampled is a record. Joints are called by the last part of their path.
///
/// What the scene plays is one clip, named after its animation: of several animations that play at once, the first. Animations that
/// nothing plays are clips as well, if all their joints are those of the only skeleton. Time is the time code over the time codes per second. The default pose is
/// `restTransforms`, or what an animation without time samples says.
///
/// # Errors
/// [`ReadError`]: the wrong kind of file, damage, a file that needs more memory than 256 times its bytes and 64 MiB, indices out
/// of range, joints that make no skeleton.
pub fn read(bytes: &[u8], name: &str, resolve: &Resolve<'_>) -> Result<Contents, ReadError> {
    let beginning = bytes.trim_ascii_start();
    if ![&b"PK"[..], b"PXR-USDC", b"#usda"].iter().any(|known| beginning.starts_with(known)) {
        return Err(ReadError::WrongKind { format: Format::Usd, reason: "it does not begin as one".into() });
    }
    let (budget, mut flaws) = (Budget::new(bytes.len()), Flaws::default());
    let (files, first, path) = Files::open(bytes, resolve)?;
    let first = Layer::read(Cow::Borrowed(first), folder(&path), &budget)?;
    let space = space(&first.meta);
    space.check()?;
    let (rate, opens) = (rate(&first.meta), first.meta.start_time_code);
    let default_prim = first.meta.default_prim.clone();
    first.meta.unread.iter().for_each(|what| flaws.unread(what));
    let composer = Composer::new(first, &path, &files, &budget, &mut flaws)?;
    let stage = Stage::new(composer, &budget)?;

    let mut contents = Contents { name: name.into(), format: Format::Usd, space, ..Contents::default() };
    let world = contents.space.to_ours();
    let chains = xform::chains(&stage, rate, &mut flaws)?;
    let prims = scene::shown(&stage, default_prim.as_deref(), &mut flaws)?;
    let skeletons = Skeleton::all(&stage, &prims, &chains, rate, &mut flaws)?;
    let scene = Scene::read(&stage, &prims, &chains, &skeletons, &mut flaws)?;
    let mut bones = Bones::read(&scene, &skeletons, &world, &mut flaws);
    make_unique(&mut bones.names, &mut flaws);

    let mut place: Vec<usize> = Vec::new(); // of each bone in the skeleton
    let mut order: Vec<usize> = Vec::new();
    if !bones.names.is_empty() {
        let rig;
        (rig, order) = Rig::sorted(bones.names.clone(), &bones.parents, &bones.binds)?;
        place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
            if new != old {
                flaws.add(Flaw::BonesReordered, || bones.names[old].clone());
            }
        }
        contents.skeleton = Some(rig);
    }
    let targets = mesh::join(&stage, &scene, &bones, &place, &files, &mut contents, &mut flaws)?;
    let player = Arc::new(clips::Player::new(&bones, &order, &skeletons, world, &targets));
    let weights = player.still_weights();
    for (morph, weight) in contents.morphs.iter().zip(&weights).filter(|(_, weight)| **weight != 0.0) {
        if !weight.is_finite() {
            return Err(damaged(format!("the weight of blend shape \"{}\" is not finite", morph.name)));
        }
        flaws.add(Flaw::NotAtZero, || format!("\"{}\" at {weight}", morph.name));
    }
    if weights.iter().any(|weight| *weight != 0.0) {
        contents.morph_weights = weights;
    }
    if let Some(rig) = &contents.skeleton {
        let shown = player.still();
        contents.default_pose = crate::shown::moved_from_rest(rig, shown, contents.mesh.as_ref(), &mut flaws);
    }
    if contents.skeleton.is_some() || !contents.morphs.is_empty() {
        let opens = opens.filter(|code| code.is_finite()).map(|code| code / rate);
        contents.clips = clips::read(&stage, &prims, &skeletons, player, (rate, opens), &mut flaws)?;
    }
    if !scene.is_skinned {
        frames::read(&scene, &world, rate, &budget, &mut contents)?;
    }
    contents.frames_per_second = Some(rate);
    make_names_unique(&mut contents.clips, |clip| &mut clip.name, &mut flaws);
    make_names_unique(&mut contents.morphs, |morph| &mut morph.name, &mut flaws);
    contents.unread.append(&mut flaws.unread);
    contents.warnings.append(&mut flaws.warnings);
    Ok(contents)
}

/// Axes and unit; Y up and centimetres where the file says nothing, as the format has it.
fn space(meta: &Meta) -> Space {
    let up = if meta.up.as_deref() == Some("Z") { UpAxis::Z } else { UpAxis::Y };
    Space { up, metres_per_unit: meta.metres_per_unit.unwrap_or(0.01), unit: "m".into() }
}

/// Time codes per second.
fn rate(meta: &Meta) -> f64 {
    let fine = |rate: &f64| (1e-3..=1e6).contains(rate);
    meta.time_codes_per_second.filter(fine).or(meta.frames_per_second.filter(fine)).unwrap_or(24.0)
}
