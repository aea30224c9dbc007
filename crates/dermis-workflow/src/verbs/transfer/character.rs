//! Another character: the body with its bones, in its shape.

use super::error::Error;
use super::{From, To, TransferRecipe};
use crate::error::Error as Any;
use crate::load::{FileNote, load_examples, note, read_bytes};
use crate::recipe::Input;
use crate::verbs::retarget::table;
use dermis_deform::RiggedDeformer;
use dermis_fit::gain::GainFound;
use dermis_io::{Contents, ModelFile};
use dermis_motion::retarget::{Character, PairTable, PairedBy, RetargetError, counterparts};
use dermis_rig::{BoneIndex, ExampleSet, Influences, Mesh, Rig, Skeleton};
use dermis_transfer::{Body, Proportions, TransferError, laid_onto};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Bones rest in one place if they are closer than this part of the body's extent.
const ONE_PLACE: f64 = 0.003;
/// Bones that move the body and have a counterpart in a file of another character, at least.
const LEAST_PAIRED: f64 = 0.5;
/// Characters whose long bones differ more than this at rest stand in different poses, degrees.
const MOST_TURNED: f64 = 30.0;

/// How another character was matched with the body.
#[derive(Clone, Debug, PartialEq)]
pub struct CharacterMatch {
    /// Bones of the body that have a counterpart.
    pub paired: usize,
    /// Bones of the body.
    pub bones: usize,
    /// How they were paired.
    pub paired_by: PairedBy,
    /// Whether the character has the body's vertices, one by one; else the body was laid onto it.
    pub same_vertices: bool,
    /// The long bone of the body whose direction at rest differs most from its counterpart's, and by what angle, degrees.
    pub turned: Option<(String, f64)>,
    /// The factor of what corrects the base.
    pub gain: f64,
    /// How good that is on examples of the character, if it has any.
    pub examples: Option<GainFound>,
}

/// What bones and vertices of characters are paired by.
#[derive(Default)]
pub(super) struct Marks {
    map: Option<PairTable>,
    pairs: Vec<(u32, u32)>,
}

impl Marks {
    /// From the files of a recipe.
    pub(super) fn read(recipe: &TransferRecipe) -> Result<(Self, Vec<FileNote>), Any> {
        let mut notes = vec![];
        let mut read_table = |input: &Input| {
            let (table, note) = table(&input.file.path)?;
            notes.push(note);
            Ok::<_, Any>(table)
        };
        let map = recipe.map.as_ref().map(&mut read_table).transpose()?;
        let mut pairs = vec![];
        if let Some(input) = &recipe.pairs {
            let (found, note) = marked(&input.file.path)?;
            pairs = found;
            notes.push(note);
        }
        Ok((Self { map, pairs }, notes))
    }
}

/// Marked pairs: a vertex of the body and one of the character a line.
fn marked(path: &Path) -> Result<(Vec<(u32, u32)>, FileNote), Any> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut pairs = vec![];
    for (at, line) in text.lines().enumerate() {
        let told = line.split('#').next().unwrap_or_default().trim();
        if told.is_empty() {
            continue;
        }
        let numbers: Option<Vec<u32>> = told
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|s| !s.is_empty())
            .map(|s| s.parse().ok())
            .collect();
        match numbers.as_deref() {
            Some([body, character]) => pairs.push((*body, *character)),
            _ => return Err(Error::Pairs { file: path.into(), line: at + 1, text: told.into() }.into()),
        }
    }
    if pairs.is_empty() {
        return Err(Any::lacks(
            path,
            "there is no pair of vertices",
            "a line has a vertex of the body and one of the character",
        ));
    }
    Ok((pairs, FileNote { role: "pairs".into(), ..note(path, &bytes, Vec::new()) }))
}

/// The body with the bones of another character, in its shape.
pub(super) struct Other {
    pub(super) from: From,
    pub(super) body: Body,
    pub(super) found: CharacterMatch,
}

/// The body as another character, if the file of a mesh has one.
pub(super) fn other(recipe: &TransferRecipe, from: &From, to: &To, marks: &Marks) -> Result<Option<Other>, Any> {
    let (Some(mesh), Some(skeleton)) = (&to.contents.mesh, &to.contents.skeleton) else { return Ok(None) };
    let path = &to.input.file.path;
    let rig = from.file.rig();
    let of_body = from.file.weights().cloned().unwrap_or_default();
    if marks.map.is_none() && marks.pairs.is_empty() && rests_as(rig, skeleton, &of_body, to.contents.weights.as_ref())
    {
        return Ok(None);
    }
    let theirs = Character { skeleton, weights: to.contents.weights.as_ref() };
    let own = Character { skeleton: rig.skeleton(), weights: Some(&of_body) };
    let table = marks.map.clone().unwrap_or_default();
    let pairs = match counterparts(own, theirs, &table) {
        Ok(pairs) => pairs,
        // Bones of something else, such as a prop.
        Err(RetargetError::NothingInCommon { .. }) if marks.map.is_none() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let moves = used(&of_body, rig.skeleton().len());
    let count =
        |is_kept: &dyn Fn(usize) -> bool| (0..moves.len()).filter(|bone| moves[*bone] && is_kept(*bone)).count();
    let (paired, all) = (count(&|bone| pairs.bones[bone].is_some()), count(&|_| true));
    if marks.map.is_none() && (paired as f64) < LEAST_PAIRED * all as f64 {
        return Ok(None);
    }
    let Some(map) = Proportions::new(rig.skeleton(), skeleton, &pairs.bones) else { return Ok(None) };
    let turned = map.turned().map(|(bone, angle)| (rig.skeleton().names()[bone].clone(), angle.to_degrees()));
    if let Some((bone, degrees)) = turned.clone().filter(|(_, degrees)| *degrees > MOST_TURNED) {
        return Err(Error::RestsApart { mesh: path.clone(), bone, degrees }.into());
    }
    let named = |source: TransferError| Any::from(Error::Transfer { mesh: path.clone(), source });
    let same_vertices = mesh.triangles == rig.mesh().triangles && mesh.positions.len() == rig.mesh().positions.len();
    if same_vertices && !marks.pairs.is_empty() {
        return Err(crate::FileError::Unused { setting: "pairs", serves: "a character of other vertices" }.into());
    }
    let mut stand = Mesh {
        positions: map.rest(&rig.mesh().positions, &of_body),
        triangles: rig.mesh().triangles.clone(),
        ..Mesh::default()
    };
    let mut weights = map.weights(&of_body);
    if same_vertices {
        stand.positions.clone_from(&mesh.positions);
        weights = to.contents.weights.clone().filter(|_| !recipe.weights).unwrap_or(weights);
    } else {
        let lacks = || Any::lacks(path, "the mesh has no triangles", "");
        stand.positions = laid_onto(&Body::new(mesh).ok_or_else(lacks)?, &stand, &marks.pairs).map_err(named)?;
    }
    let there = (&stand.positions[..], &weights);
    let deformer = map.model(&from.deformer, &of_body, there, skeleton).map_err(named)?;
    let body = Body::new(&stand).ok_or_else(|| Any::lacks(&recipe.from.file.path, "the body has no triangles", ""))?;
    let training = from
        .file
        .training()
        .map(|training| map.training(training, (rig.skeleton(), &rig.mesh().positions), (skeleton, &stand.positions)));
    let morphs = from.morphs.iter().map(|morph| {
        let mut morph = morph.clone();
        morph.deltas.iter_mut().zip(map.scales(&of_body)).for_each(|(delta, scale)| *delta *= scale);
        morph
    });
    let morphs = morphs.collect();
    let stands = Rig::new(stand, skeleton.clone(), Some(weights)).map_err(|e| Any::lacks(path, e.to_string(), ""))?;
    let baked = deformer.bake().with_precision(from.file.baked().precision());
    let model = RiggedDeformer::new(stands.named(rig.name().to_owned()), None, baked, training)?;
    let found = CharacterMatch {
        paired: map.paired(),
        bones: rig.skeleton().len(),
        paired_by: pairs.paired_by,
        same_vertices,
        turned,
        gain: 1.0,
        examples: None,
    };
    let contents = Contents {
        space: from.contents.space.clone(),
        morph_weights: from.contents.morph_weights.clone(),
        default_pose: to.contents.default_pose.clone(),
        ..Contents::default()
    };
    let file = ModelFile { model, space: from.file.space.clone(), header: from.file.header.clone() };
    let (has_corrections, note) = (from.has_corrections, from.note.clone());
    Ok(Some(Other {
        from: From { file, deformer, has_corrections, morphs, contents, clips: vec![], note },
        body,
        found,
    }))
}

/// Bones that have weights.
fn used(weights: &Influences, bones: usize) -> Vec<bool> {
    let mut used = vec![false; bones];
    weights.rows().flatten().filter(|(_, w)| *w != 0.0).for_each(|(bone, _)| used[bone.get()] = true);
    used
}

/// Whether the bones that move a mesh are the body's own, and rest where those do.
fn rests_as(rig: &Rig, skeleton: &Skeleton, of_body: &Influences, weights: Option<&Influences>) -> bool {
    let limit = ONE_PLACE * rig.mesh().extent();
    let head = |skeleton: &Skeleton, bone: BoneIndex| skeleton.bind()[bone].translation;
    let own = used(of_body, rig.skeleton().len());
    let theirs = weights.map(|weights| used(weights, skeleton.len()));
    let mut bones = skeleton.bones().filter(|bone| theirs.as_ref().is_none_or(|used| used[bone.get()]));
    let same = |bone: BoneIndex| {
        rig.skeleton().find(&skeleton.names()[bone]).filter(|own_bone| theirs.is_some() || own[own_bone.get()])
    };
    bones.all(|bone| match same(bone) {
        Some(own) => head(rig.skeleton(), own).distance(head(skeleton, bone)) <= limit,
        None => theirs.is_none(),
    })
}

/// Examples that the file of a character holds beside its mesh.
pub(super) fn examples(recipe: &TransferRecipe, to: &To, rig: &Rig) -> Result<ExampleSet, Any> {
    if !to.contents.records.iter().any(|record| record.pose.is_some() && record.positions.is_some()) {
        return Ok(ExampleSet::default());
    }
    let sources = [to.input.file.clone()];
    let (set, _) = load_examples(rig, &to.contents.space, &sources, &recipe.read, "examples")?;
    Ok(set)
}

impl CharacterMatch {
    /// How much of the corrections is taken and how good that is, in words.
    pub fn gain_words(&self) -> String {
        let Some(found) = self.examples else {
            return format!("Corrections times {:.2}; not validated: the character has no examples", self.gain);
        };
        let checked = match found.left {
            Some(left) if found.is_fitted => format!("cross-validated {:.2} mm", 1e3 * left),
            Some(left) => format!("held out {:.2} mm", 1e3 * left),
            None => "not validated".to_owned(),
        };
        let from = if found.is_fitted { "fitted to" } else { "on" };
        format!(
            "Corrections times {:.2}, {from} {} examples of the character: {checked}; at full size {:.2} mm, the base alone {:.2} mm",
            self.gain,
            found.examples,
            1e3 * found.whole,
            1e3 * found.base,
        )
    }

    /// What JSON says of it.
    pub(super) fn told(&self) -> Value {
        json!({
            "bones": self.bones,
            "paired": self.paired,
            "paired_by": match self.paired_by { PairedBy::Names => "names", PairedBy::Table => "table", PairedBy::Topology => "topology" },
            "same_vertices": self.same_vertices,
            "turned": self.turned.as_ref().map(|(bone, degrees)| json!({"bone": bone, "degrees": degrees})),
            "gain": self.gain,
            "examples": self.examples.map(|found| json!({
                "examples": found.examples,
                "base": found.base,
                "whole": found.whole,
                "fitted": found.is_fitted,
                "left": found.left,
            })),
        })
    }
}

/// The clips of a character's own file.
pub(super) fn own_clips(to: &mut To) -> Vec<Arc<dermis_io::Clip>> {
    std::mem::take(&mut to.contents.clips).into_iter().map(Arc::new).collect()
}
