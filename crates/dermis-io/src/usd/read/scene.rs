//! What of a stage is read: meshes with what they hang on.

use super::geometry::Geometry;
use super::layer::Name;
use super::skel::Skeleton;
use super::skin::{self, Shape, Skin};
use super::stage::Stage;
use super::xform::{self, Chain};
use crate::contents::{Flaw, ReadError};
use crate::corners::MOST_UVS;
use crate::flaws::Flaws;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Kinds of prims that are read, or say nothing by themselves.
const READ: &[&str] = &[
    "",
    "Mesh",
    "Xform",
    "Scope",
    "SkelRoot",
    "Skeleton",
    "SkelAnimation",
    "BlendShape",
    "GeomSubset",
    "Material",
    "Shader",
    "NodeGraph",
];

/// Prims below the default one, or all, without what is not to be seen.
pub(super) fn shown(stage: &Stage<'_, '_>, default: Option<&str>, flaws: &mut Flaws) -> Result<Vec<usize>, ReadError> {
    let named = default.map(|path| path.split('/').filter(|part| !part.is_empty()).map(Name::from).collect::<Vec<_>>());
    let start = named.and_then(|names| stage.find(&names)).unwrap_or(0);
    if let (Some(default), 0) = (default, start) {
        flaws.add(Flaw::Reference, || format!("default prim \"{default:.100}\""));
    }
    let (mut made, mut unread) = (Vec::new(), BTreeMap::<String, usize>::new());
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        let prim = &stage.prims[at];
        if &*prim.kind == "Mesh" {
            // Skeletons are guides as well, and move what is drawn.
            let purpose = stage.inherited(at, "purpose").map(|own| own.words()).transpose()?.unwrap_or_default();
            if let Some(purpose) = purpose.first().filter(|purpose| matches!(&***purpose, "guide" | "proxy")) {
                flaws.unread(&format!("mesh <{}>, whose purpose is {purpose}", stage.path(at)));
                continue;
            }
        }
        if !READ.contains(&&*prim.kind) {
            *unread.entry(format!("{:.100}", prim.kind)).or_default() += 1;
        }
        made.push(at);
        // Below an instancer stand the prims that it repeats.
        if &*prim.kind != "PointInstancer" {
            open.extend(prim.children.iter().rev());
        }
    }
    if start != 0 {
        let meshes = |from: usize| stage.above(from).any(|at| at == start);
        let outside = (1..stage.prims.len()).filter(|&at| stage.is(at, "Mesh") && !meshes(at)).count();
        if outside > 0 {
            flaws.unread(&format!("{outside} meshes outside of the default prim <{}>", stage.path(start)));
        }
    }
    for (kind, count) in unread.iter().take(100) {
        flaws.unread(&format!("{count} of type {kind}"));
    }
    Ok(made)
}

/// What a mesh hangs on.
pub(super) enum Hung {
    /// Joints of a skeleton.
    Skin(Skin),
    /// A bone of its own.
    Own,
    /// The world: no mesh of the file has joints.
    World,
}

/// A mesh that is read.
pub(super) struct Block<'s> {
    pub prim: usize,
    pub name: String,
    pub geometry: Geometry<'s>,
    pub chain: Chain,
    pub hung: Hung,
    /// Its blend shapes, and the skeleton whose animation moves them.
    pub shapes: Vec<Shape>,
    pub skeleton: Option<usize>,
    pub visible: bool,
}

/// All meshes that are read.
pub(super) struct Scene<'s> {
    pub blocks: Vec<Block<'s>>,
    /// Names of all sets of texture coordinates.
    pub sets: Vec<String>,
    /// Whether any mesh has joints.
    pub is_skinned: bool,
}

impl<'s> Scene<'s> {
    pub fn read(
        stage: &'s Stage<'s, 's>,
        prims: &[usize],
        chains: &[Chain],
        skeletons: &[Skeleton],
        flaws: &mut Flaws,
    ) -> Result<Self, ReadError> {
        let meshes: Vec<usize> = prims.iter().copied().filter(|&prim| stage.is(prim, "Mesh")).collect();
        let sets = sets(stage, &meshes, flaws);
        let (mut blocks, mut skins) = (Vec::new(), Vec::new());
        for &prim in &meshes {
            let Some(geometry) = Geometry::read(stage, prim, &sets, flaws)? else { continue };
            let skeleton = skin::skeleton_of(stage, prim, skeletons)?;
            let skin = match skeleton {
                Some(at) => Skin::read(stage, prim, (at, &skeletons[at]), geometry.vertices, flaws)?,
                None => None,
            };
            skins.push((prim, geometry, skeleton, skin));
        }
        let is_skinned = skins.iter().any(|(.., skin)| skin.is_some());
        for (prim, geometry, skeleton, skin) in skins {
            let (chain, path) = (Arc::clone(&chains[prim]), stage.path(prim));
            let shapes = skin::shapes(stage, prim, geometry.vertices, flaws)?;
            let moves = xform::times(&chain).next().is_some();
            let hung = match skin {
                Some(skin) => Hung::Skin(skin),
                None if !is_skinned => Hung::World,
                None => {
                    let kept = moves || (!shapes.is_empty() && skeleton.is_some());
                    let fate = if kept { "a bone of its own" } else { "left out" };
                    flaws.add(Flaw::Unskinned, || format!("<{path}>, {fate}"));
                    if !kept {
                        continue;
                    }
                    Hung::Own
                }
            };
            if is_skinned && geometry.points.is_animated() {
                flaws.unread(&format!("moving points of <{path}>, which are not joints"));
            }
            if stage.said(prim, "points", |spec| spec.is_spline.then_some(())).is_some() {
                flaws.unread(&format!("splines of the points of <{path}>"));
            }
            let hidden = |at: usize| Ok::<_, ReadError>(stage.word(at, "visibility")?.as_deref() == Some("invisible"));
            let hidden = stage.above(prim).map(hidden).collect::<Result<Vec<_>, _>>()?.contains(&true);
            if hidden {
                flaws.add(Flaw::Hidden, || format!("<{path}>"));
            }
            let name = stage.prims[prim].name.to_string();
            blocks.push(Block { prim, name, geometry, chain, hung, shapes, skeleton, visible: !hidden });
        }
        Ok(Self { blocks, sets, is_skinned })
    }
}

/// Names of sets of texture coordinates: primvars of their type, and those of two numbers that are called as programs call them.
fn sets(stage: &Stage<'_, '_>, meshes: &[usize], flaws: &mut Flaws) -> Vec<String> {
    let mut sets: Vec<String> = Vec::new();
    for &mesh in meshes {
        let mut own: Vec<String> = Vec::new();
        for property in stage.properties(mesh) {
            let Some(name) = property.strip_prefix("primvars:").filter(|name| !name.contains(':')) else { continue };
            let kind = stage.said(mesh, &property, |spec| spec.kind.as_deref());
            let kind = kind.unwrap_or_default().trim_end_matches("[]");
            let called = name.starts_with("st") || name.to_ascii_lowercase().starts_with("uv") || name == "map1";
            if kind.starts_with("texCoord2") || (called && matches!(kind, "float2" | "double2" | "half2")) {
                own.push(name.to_owned());
            }
        }
        // The name that the format recommends goes first.
        own.sort_by_key(|name| name != "st");
        for name in own {
            if sets.contains(&name) {
                continue;
            }
            match sets.len() < MOST_UVS {
                true => sets.push(name),
                false => flaws.unread(&format!("texture coordinates \"{name}\"")),
            }
        }
    }
    sets
}
