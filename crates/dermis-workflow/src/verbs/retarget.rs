//! `retarget`: a motion of one character on another.

use super::exercise::judged;
use crate::convert::{Converted, is_folder, write_converted};
use crate::error::Error;
use crate::load::{FileNote, ReadOptions, note, own_motion, read_bytes, read_contents};
use crate::output::{Output, reserve_file};
use crate::recipe::{Existing, Input, Watch, keep, reserve, seen, step};
use dermis_io::gltf::MorphNormals;
use dermis_io::{Contents, Record};
use dermis_motion::retarget::{
    Character, Contacts, PairTable, PairedBy, RetargetError, Retargeted, Unpaired, retarget,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A motion to be brought onto a rig.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RetargetRecipe {
    /// The motion, with the skeleton that it moves.
    pub source: Input,
    /// The rig that it is brought onto: a file with a skeleton, or a model.
    pub rig: Input,
    /// A table of bones: a JSON object from names of the rig's bones to names of the source's, or to null.
    #[serde(default)]
    pub map: Option<Input>,
    /// Where the pairs found go, as such a table; bones of a limb without partner have an empty name. Written also if the motion is refused for it.
    #[serde(default)]
    pub write_map: Option<PathBuf>,
    /// Whether a limb that both characters have may go without partner.
    #[serde(default)]
    pub partial: bool,
    /// Whether feet and hands are kept where the source's stand.
    #[serde(default = "kept")]
    pub contacts: bool,
    /// Whether they stand still also where the source's slide.
    #[serde(default)]
    pub still: bool,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where it goes; the ending of the name is the format.
    pub out: PathBuf,
    /// What happens to an output that is there already.
    #[serde(default)]
    pub existing: Existing,
}

fn kept() -> bool {
    true
}

/// What came of it.
#[derive(Debug)]
pub struct RetargetOutcome {
    /// The motion, and what was done for it.
    pub retargeted: Retargeted,
    /// Bones of the rig.
    pub bones: usize,
    /// What was written, and what was not.
    pub converted: Converted,
    /// The files read.
    pub inputs: Vec<String>,
    /// Where it went.
    pub written: PathBuf,
    /// Where the pairs went.
    pub map_written: Option<PathBuf>,
}

impl RetargetRecipe {
    /// Reads, retargets and writes.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<RetargetOutcome, Error> {
        let out = reserve(&self.out, self.existing, is_folder(&self.out)?)?;
        let inputs: Vec<&Input> = [&self.source, &self.rig].into_iter().chain(&self.map).collect();
        let map_out = self.write_map.as_deref().map(|path| reserve_file(path, self.existing)).transpose()?;
        if self.write_map.as_ref() == Some(&self.out) {
            return Err(Error::lacks(&self.out, "the motion and the map would be one file", "give them two names"));
        }
        keep(&inputs, [&out].into_iter().chain(&map_out))?;
        let (source, motion, source_note) = step(watch, "read motion", |_| own_motion(&self.source.file, &self.read))?;
        let (mut rig, mut rig_note) = step(watch, "read rig", |_| {
            let path = &self.rig.file.path;
            read_contents(path, &self.read.space_of(path, &source.space))
        })?;
        rig_note.role = "rig".into();
        let mut notes = vec![source_note, rig_note];
        let table = match &self.map {
            None => PairTable::new(),
            Some(input) => {
                let (table, note) = table(&input.file.path)?;
                notes.push(note);
                table
            }
        };
        self.read.must_act_on(&notes)?;
        seen(watch, inputs, &notes)?;
        let lacking = "name a rig, a model, or another file with a skeleton";
        let skeleton = rig.skeleton.clone();
        let skeleton = skeleton.ok_or_else(|| Error::lacks(&self.rig.file.path, "there is no skeleton", lacking))?;
        let own = "the motion is retargeted from the rest pose of its skeleton: use the file of the character";
        let theirs = source.skeleton.as_ref();
        let theirs = theirs.ok_or_else(|| Error::lacks(&self.source.file.path, "there is no skeleton", own))?;
        let from = Character { skeleton: theirs, weights: source.weights.as_ref() };
        let to = Character { skeleton: &skeleton, weights: rig.weights.as_ref() };
        let contacts = match (self.contacts, self.still) {
            (false, _) => Contacts::Free,
            (true, false) => Contacts::Kept,
            (true, true) => Contacts::Still,
        };
        let unpaired = if self.partial { Unpaired::Allowed } else { Unpaired::Refused };
        let found = step(watch, "retarget", |p| retarget(from, &motion, to, &table, unpaired, contacts, p));
        if let Some(out) = &map_out {
            match &found {
                Ok(retargeted) => write_map(map_of(retargeted), out)?,
                Err(Error::Retarget(
                    RetargetError::LimbsWithoutPartner { map, .. } | RetargetError::NothingInCommon { map, .. },
                )) => write_map(map.clone(), out)?,
                Err(_) => {}
            }
        }
        let retargeted = found?;
        put(&mut rig, &retargeted, &source);
        let converted =
            step(watch, "write", |_| write_converted(&rig, &self.rig.file, &self.read, MorphNormals::Written, &out))?;
        Ok(RetargetOutcome {
            bones: skeleton.len(),
            retargeted,
            converted,
            inputs: notes.into_iter().map(|note| note.path).collect(),
            written: out.path().to_path_buf(),
            map_written: self.write_map.clone(),
        })
    }
}

/// The pairs found as a table: the names of the rig's bones, and of their partners.
fn map_of(found: &Retargeted) -> Vec<(String, Option<String>)> {
    let pairs = found.pairs.iter().map(|pair| (pair.bone.clone(), Some(pair.source.clone())));
    pairs.chain(found.without_partner.iter().map(|bone| (bone.clone(), None))).collect()
}

/// Writes a table of bones, a bone a line.
fn write_map(map: Vec<(String, Option<String>)>, out: &Output) -> Result<(), Error> {
    let object: serde_json::Map<String, Value> =
        map.into_iter().map(|(bone, partner)| (bone, partner.into())).collect();
    let text = serde_json::to_string_pretty(&object).map_err(|e| Error::Internal(e.to_string()))?;
    Ok(out.write(format!("{text}\n").as_bytes())?)
}

/// A table of bones from a file.
pub(super) fn table(path: &Path) -> Result<(PairTable, FileNote), Error> {
    let bytes = read_bytes(path)?;
    let table = serde_json::from_slice(&bytes).map_err(|error| {
        let hint = "it is a JSON object: {\"bone of the rig\": \"bone of the source\", \"another\": null}";
        Error::lacks(path, format!("this is no table of bones: {error}"), hint)
    })?;
    Ok((table, FileNote { role: "map".into(), ..note(path, &bytes, Vec::new()) }))
}

/// Puts the motion into the contents of the rig's file, in place of its own motions.
fn put(rig: &mut Contents, retargeted: &Retargeted, source: &Contents) {
    let motion = &retargeted.motion;
    rig.clips.clear();
    rig.frames_per_second = source.frames_per_second.or(rig.frames_per_second);
    rig.name.clone_from(&motion.name);
    rig.records = motion.frames.iter().cloned().map(Record::from).collect();
}

impl RetargetOutcome {
    /// The largest slide of a contact, millimetres, and that of the source times the ratio of the leg lengths.
    pub fn slide_mm(&self) -> (f64, f64) {
        let contacts = &self.retargeted.contacts;
        let most = |slides: &mut dyn Iterator<Item = f64>| 1e3 * slides.fold(0.0, f64::max);
        (most(&mut contacts.iter().map(|c| c.slide)), most(&mut contacts.iter().map(|c| c.source_slide)))
    }

    /// What is to be looked at.
    pub fn warnings(&self) -> Vec<String> {
        let found = &self.retargeted;
        let lone = (found.lone_limbs.iter()).map(|limb| {
            format!("the rig's {limb} goes with the bone above it: no bones of the source are known as its partners")
        });
        let feet = found.feet_never_stand.then(|| {
            "no foot of the source ever stands, so none was kept in its place: see whether the feet are paired, and the unit and the axes of the source".into()
        });
        lone.chain(feet).collect()
    }

    /// How bones were paired, as a word.
    pub fn paired_by(&self) -> &'static str {
        match self.retargeted.paired_by {
            PairedBy::Names => "names",
            PairedBy::Table => "table",
            PairedBy::Topology => "topology",
        }
    }

    /// `retarget --json`. "map" is what a table may be made of.
    pub fn json(&self) -> Value {
        let found = &self.retargeted;
        let ground = found.ground.map(|velocity| velocity.to_array());
        let (slide, source_slide) = self.slide_mm();
        let map: serde_json::Map<String, Value> =
            map_of(found).into_iter().map(|(bone, partner)| (bone, partner.into())).collect();
        let contacts: Vec<Value> = (found.contacts.iter())
            .map(|contact| {
                json!({
                    "bone": contact.bone,
                    "source_bone": contact.source_bone,
                    "from": contact.from,
                    "to": contact.to,
                    "slide_mm": 1e3 * contact.slide,
                    "source_slide_mm": 1e3 * contact.source_slide,
                    "off_mm": 1e3 * contact.off,
                })
            })
            .collect();
        json!({
            "out": self.written.display().to_string(),
            "inputs": self.inputs,
            "motion": found.motion.name,
            "frames": found.motion.frames.len(),
            "bones": self.bones,
            "paired_by": self.paired_by(),
            "bones_recognised": {"source": judged(&found.judged[0]), "rig": judged(&found.judged[1])},
            "map": map,
            "without_partner": found.without_partner,
            "lone_limbs": found.lone_limbs,
            "warnings": self.warnings(),
            "unused": found.unused,
            "hung": found.hung.iter().map(|(root, bone)| json!({"root": root, "bone": bone})).collect::<Vec<_>>(),
            "scale": found.scale,
            "facing_degrees": found.facing.to_degrees(),
            "ground_velocity": ground,
            "lowered_mm": 1e3 * found.lowered,
            "foot_slide_mm": slide,
            "source_foot_slide_mm": source_slide,
            "contacts": contacts,
            "written": self.converted.json(),
            "map_written": self.map_written,
        })
    }
}
