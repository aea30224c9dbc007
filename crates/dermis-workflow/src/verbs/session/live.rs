//! A session as a window shows it: skins in poses that a person makes, and sculpts and maps that are made there.
//!
//! A window asks in JSON ([`Ask`]) and is told in JSON with arrays of numbers behind it ([`Told`]), so that the page in a browser and
//! the program behind a page answer alike.

use super::Access;
use super::error::Error;
use super::folder::{Session, frame_of, of_rig, skin};
use crate::output::{Existing, reserve_file};
use dermis_fit::maps::{MapSettings, from_weights};
use dermis_io::npz::{StoredFloat, write};
use dermis_io::{Contents, ModelFile, Record};
use dermis_rig::glam::{DQuat, DVec3};
use dermis_rig::{BoneIndex, Example, Influences, LocalSculpt, Mirror, Motion, WorldPose};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What the poses of the sculpts are called, one after another by the places of their steps.
const SCULPTS: &str = "sculpts";

/// What a window asks for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ask {
    /// The session in a folder as it is now; what follows is about this one.
    Open {
        /// The folder.
        folder: PathBuf,
    },
    /// Skins in a pose: of the present model, of the rig's own weights, or the true one.
    Pose {
        /// The pose.
        pose: Posed,
        /// Which skins.
        skins: Vec<Skin>,
    },
    /// A sculpt becomes a bundle that `add` takes: its pose, what was shown there, and what was moved.
    Keep {
        /// The pose.
        pose: Posed,
        /// The skin that was shown and sculpted.
        shown: Skin,
        /// What the sculpt is called.
        name: String,
        /// The vertices that were moved.
        vertices: Vec<u32>,
        /// Where they are now, metres.
        positions: Vec<[f64; 3]>,
        /// Where the bundle goes.
        out: PathBuf,
    },
    /// The influence maps of the rig: its own, else those that its weights give.
    Maps,
    /// Influence maps become a bundle that a fit takes as a table.
    Paint {
        /// For every vertex bones and values.
        rows: Vec<Vec<(usize, f64)>>,
        /// Where the bundle goes.
        out: PathBuf,
    },
}

/// A pose: a frame of the session, and what a person turned in it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Posed {
    /// A motion, a set of true skins or the sculpts by its place among those of [`Ask::Open`], and a frame; without it the rest pose.
    #[serde(default)]
    pub at: Option<(usize, usize)>,
    /// Bones with rotations in their own axes, as quaternions (x, y, z, w).
    #[serde(default)]
    pub turns: Vec<(usize, [f64; 4])>,
}

/// A skin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skin {
    /// Of the session's present model.
    Model,
    /// Of the rig's own weights.
    Rig,
    /// The true one, or that of a sculpt, where the session has it for the pose.
    Truth,
}

/// Numbers that a window is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Positions, matrices and values.
    Floats(Vec<f32>),
    /// Indices.
    Indices(Vec<u32>),
}

/// What a window is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Facts.
    pub facts: Value,
    /// Arrays by name.
    pub arrays: Vec<(&'static str, Numbers)>,
}

/// The session that a window shows, with what was read of it.
#[derive(Debug, Default)]
pub struct Live(Option<Opened>);

#[derive(Debug)]
struct Opened {
    session: Session,
    /// The motions of the session, then the poses of its true skins, then those of its sculpts.
    motions: Vec<Motion>,
    /// True skins and sculpts, for the last of the motions.
    truths: Vec<Vec<Example>>,
    own: ModelFile,
    present: ModelFile,
}

impl Told {
    /// The bytes that a window reads: the length of the facts, the facts as JSON with the name, kind and count of every array, blanks up
    /// to a multiple of four bytes, and the arrays, little-endian.
    pub fn bytes(&self) -> Vec<u8> {
        let array = |(name, numbers): &(&str, Numbers)| match numbers {
            Numbers::Floats(values) => json!({"name": name, "kind": "f32", "count": values.len()}),
            Numbers::Indices(values) => json!({"name": name, "kind": "u32", "count": values.len()}),
        };
        let arrays: Vec<Value> = self.arrays.iter().map(array).collect();
        let mut head = json!({"facts": self.facts, "arrays": arrays}).to_string().into_bytes();
        head.resize(head.len().next_multiple_of(4), b' ');
        // A head of 4 GB would need a billion names.
        let mut bytes = u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        bytes.extend(head);
        for (_, numbers) in &self.arrays {
            match numbers {
                Numbers::Floats(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
                Numbers::Indices(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
            }
        }
        bytes
    }
}

impl Live {
    /// Answers a question.
    ///
    /// # Errors
    /// [`Error::NoSession`] before a session is open, [`Error::NoSuchPose`] and [`Error::NotOfRig`] for what the session or its rig does not have; those of
    /// opening, reading and writing.
    pub fn answer(&mut self, ask: &Ask) -> Result<Told, crate::Error> {
        if let Ask::Open { folder } = ask {
            return Ok(self.0.insert(Opened::new(folder)?).told());
        }
        let opened = self.0.as_ref().ok_or_else(|| Error::NoSession { folder: PathBuf::new() })?;
        match ask {
            Ask::Open { .. } => Ok(opened.told()),
            Ask::Pose { pose, skins } => opened.posed(pose, skins),
            Ask::Keep { pose, shown, name, vertices, positions, out } => {
                opened.keep(pose, *shown, name, (vertices, positions), out)
            }
            Ask::Maps => opened.maps(),
            Ask::Paint { rows, out } => opened.paint(rows, out),
        }
    }
}

impl Opened {
    fn new(folder: &Path) -> Result<Self, crate::Error> {
        let session = Session::open(folder, Access::Look)?;
        let mut motions = session.motions()?;
        let mut truths = Vec::new();
        let known = session.truths()?.into_iter().map(|(file, set)| (file.name.clone(), set.examples().to_vec()));
        let sculpts = session.file().steps.iter().map(|step| session.sculpt(step)).collect::<Result<Vec<_>, _>>()?;
        for (name, examples) in known.chain([(SCULPTS.to_owned(), sculpts)]) {
            let frames = examples.iter().map(|example| frame_of(&session.rig().rig, example)).collect();
            motions.push(Motion { name, frames });
            truths.push(examples);
        }
        let (own, present) = (session.model(None)?, session.present_model()?);
        Ok(Self { session, motions, truths, own, present })
    }

    /// What does not change while a session is open.
    fn told(&self) -> Told {
        let rig = &self.session.rig().rig;
        let skeleton = rig.skeleton();
        let count = rig.mesh().positions.len();
        let mirror = rig.weights().and_then(|weights| Mirror::find(&rig.mesh().positions, skeleton, weights));
        let bones: Vec<Value> = skeleton
            .bones()
            .map(|bone| json!({"name": skeleton.names()[bone], "parent": skeleton.parents()[bone].map(BoneIndex::get)}))
            .collect();
        let first_truth = self.motions.len() - self.truths.len();
        let motion = |(at, motion): (usize, &Motion)| {
            let labels: Vec<&str> = motion.frames.iter().map(|frame| frame.label.as_str()).collect();
            let times: Vec<Option<f64>> = motion.frames.iter().map(|frame| frame.time).collect();
            let kind = match self.motions.len() - at {
                1 => "sculpts",
                _ if at >= first_truth => "truth",
                _ => "motion",
            };
            json!({"name": motion.name, "labels": labels, "times": times, "kind": kind})
        };
        let partner = |v: usize| mirror.as_ref().and_then(|mirror| mirror.vertices[v]).unwrap_or(u32::MAX);
        let dominant = |v: usize| rig.weights().and_then(|weights| weights.dominant(v)).map_or(0, BoneIndex::get);
        Told {
            facts: json!({
                "rig": rig.name(),
                "vertices": count,
                "bones": bones,
                "motions": self.motions.iter().enumerate().map(motion).collect::<Vec<_>>(),
                "symmetric": mirror.is_some(),
                "partners": mirror.as_ref().map(|mirror| mirror.bones.iter().map(|bone| bone.get()).collect::<Vec<_>>()),
                "learnt": self.session.file().state().model.is_some(),
                "extent": rig.mesh().extent(),
            }),
            arrays: vec![
                ("triangles", Numbers::Indices(rig.mesh().triangles.concat())),
                ("partners", Numbers::Indices((0..count).map(partner).collect())),
                ("dominant", Numbers::Indices((0..count).map(|v| dominant(v) as u32).collect())),
            ],
        }
    }

    /// The joint-to-world matrices of a pose.
    fn world(&self, pose: &Posed) -> Result<WorldPose, crate::Error> {
        let skeleton = self.session.rig().rig.skeleton();
        let lacks = |at: String, why: String| Error::NoSuchPose { at, why };
        let not_of_rig = |what: String, why: String| Error::NotOfRig { what, why };
        let mut posed = match pose.at {
            None => skeleton.pose(),
            Some((motion, frame)) => {
                let found = self.motions.get(motion).and_then(|motion| motion.frames.get(frame));
                let frame =
                    found.ok_or_else(|| lacks(format!("{motion}:{frame}"), "the session has no such frame".into()))?;
                if pose.turns.is_empty() {
                    return Ok(frame.pose.clone());
                }
                let flat = || {
                    lacks(frame.label.clone(), "a joint is scaled to nothing, and those below it cannot turn".into())
                };
                let local = skeleton.local_transforms(&frame.pose).ok_or_else(flat)?;
                skeleton.posed(local).map_err(|error| crate::Error::Internal(error.to_string()))?
            }
        };
        for &(bone, turn) in &pose.turns {
            let turn = DQuat::from_array(turn);
            if bone >= skeleton.len() || !turn.is_finite() || turn.length() < 0.5 {
                return Err(not_of_rig(
                    format!("bone {bone}"),
                    format!("the rig has bones 0 to {}, and rotations are unit quaternions", skeleton.len() - 1),
                )
                .into());
            }
            posed.turn(BoneIndex::new(bone), turn.normalize());
        }
        let channels = pose.at.map(|(motion, frame)| self.motions[motion].frames[frame].pose.channels.clone());
        Ok(WorldPose { channels: channels.unwrap_or_default(), ..posed.world() })
    }

    /// A skin in a pose; `None` where the true one is not known.
    fn skin(&self, pose: &Posed, world: &WorldPose, of: Skin) -> Result<Option<Vec<DVec3>>, crate::Error> {
        let transforms = || self.session.rig().rig.skeleton().bone_transforms(world);
        Ok(match of {
            Skin::Model => Some(skin(&self.present, &transforms())?),
            Skin::Rig => Some(skin(&self.own, &transforms())?),
            Skin::Truth => self.truth(pose).map(<[DVec3]>::to_vec),
        })
    }

    fn truth(&self, pose: &Posed) -> Option<&[DVec3]> {
        let (motion, frame) = pose.at.filter(|_| pose.turns.is_empty())?;
        let set = self.truths.get(motion.checked_sub(self.motions.len() - self.truths.len())?)?;
        Some(&set.get(frame)?.positions)
    }

    fn posed(&self, pose: &Posed, skins: &[Skin]) -> Result<Told, crate::Error> {
        let world = self.world(pose)?;
        let columns = world.bones.iter().flat_map(|bone| bone.to_cols_array()).map(|x| x as f32);
        let mut arrays = vec![("joints", Numbers::Floats(columns.collect()))];
        for &of in skins {
            let name = match of {
                Skin::Model => "model",
                Skin::Rig => "rig",
                Skin::Truth => "truth",
            };
            if let Some(skin) = self.skin(pose, &world, of)? {
                let numbers = skin.iter().flat_map(|p| p.as_vec3().to_array()).collect();
                arrays.push((name, Numbers::Floats(numbers)));
            }
        }
        Ok(Told { facts: Value::Null, arrays })
    }

    fn keep(
        &self,
        pose: &Posed,
        shown: Skin,
        name: &str,
        (vertices, positions): (&[u32], &[[f64; 3]]),
        out: &Path,
    ) -> Result<Told, crate::Error> {
        let world = self.world(pose)?;
        let lacks = |why: String| Error::NotOfRig { what: name.to_owned(), why };
        let shown = self.skin(pose, &world, shown)?;
        let shown = shown.ok_or_else(|| lacks("the true skin of this pose is not known".into()))?;
        let mut sculpted = shown.clone();
        let mut mask = vec![false; shown.len()];
        if vertices.len() != positions.len() {
            return Err(lacks(format!("{} vertices have {} positions", vertices.len(), positions.len())).into());
        }
        for (&v, &position) in vertices.iter().zip(positions) {
            let v = v as usize;
            let place = DVec3::from_array(position);
            if v >= shown.len() || !place.is_finite() {
                return Err(lacks(format!("vertex {v} of {} has no finite position", shown.len())).into());
            }
            (sculpted[v], mask[v]) = (place, true);
        }
        let record = Record {
            label: name.into(),
            time: None,
            pose: Some(world),
            positions: Some(sculpted),
            importance: 1.0,
            local: Some(LocalSculpt { mask: Some(mask), shown: Some(shown) }),
        };
        self.write(out, name, vec![record], None)
    }

    /// Writes a bundle of the rig.
    fn write(
        &self,
        out: &Path,
        name: &str,
        records: Vec<Record>,
        influence_maps: Option<Influences>,
    ) -> Result<Told, crate::Error> {
        let contents = Contents { name: name.into(), records, influence_maps, ..of_rig(&self.session.rig().rig) };
        reserve_file(out, Existing::Replace)?.write_with(|to| write(&contents, StoredFloat::Double, to))?;
        Ok(Told::default())
    }

    fn maps(&self) -> Result<Told, crate::Error> {
        let rig = &self.session.rig().rig;
        let internal = |error: &dyn std::fmt::Display| crate::Error::Internal(error.to_string());
        let maps = match (rig.influence_maps(), rig.weights()) {
            (Some(maps), _) => maps.clone(),
            (None, Some(weights)) => from_weights(rig.skeleton(), rig.mesh(), weights, MapSettings::default())
                .map_err(|error| internal(&error))?,
            (None, None) => return Err(internal(&"the rig has no weights")),
        };
        let counts = maps.rows().map(|row| row.len() as u32).collect();
        let bones = maps.rows().flatten().map(|(bone, _)| bone.get() as u32).collect();
        let values = maps.rows().flatten().map(|(_, value)| *value as f32).collect();
        let arrays = vec![
            ("counts", Numbers::Indices(counts)),
            ("bones", Numbers::Indices(bones)),
            ("values", Numbers::Floats(values)),
        ];
        Ok(Told { facts: Value::Null, arrays })
    }

    fn paint(&self, rows: &[Vec<(usize, f64)>], out: &Path) -> Result<Told, crate::Error> {
        let bones = self.session.rig().rig.skeleton().len();
        let lacks = |why: String| Error::NotOfRig { what: "influence maps".into(), why };
        if let Some((bone, value)) =
            rows.iter().flatten().find(|(bone, value)| *bone >= bones || !(0.0..=1.0).contains(value))
        {
            return Err(lacks(format!("bone {bone} of {bones} has the value {value}, which is not from 0 to 1")).into());
        }
        let named = |row: &Vec<(usize, f64)>| row.iter().map(|&(bone, value)| (BoneIndex::new(bone), value)).collect();
        let maps = Influences::from_rows(rows.iter().map(named)).map_err(|error| lacks(error.to_string()))?;
        self.write(out, "influence maps", vec![], Some(maps))
    }
}

#[cfg(test)]
mod tests;
