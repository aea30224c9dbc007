//! A sculpt is added: it is read, compared with what its artist was shown, and becomes a step.

use super::error::Error;
use super::file::{MaskFrom, Offer, PoseName, Role, ShownBy, Step};
use super::folder::{Session, pose_name, put_sculpt, skin};
use super::scores::touched;
use crate::load::{FileNote, ReadOptions, Source, kind_of, read_bytes, read_contents};
use crate::recipe::{Watch, step};
use crate::verbs::invert::{SculptSource, ShownSkin, load_sculpts};
use dermis_io::Format;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Example, LocalSculpt, same_place};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A sculpt to be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AddSculpt {
    /// The file; none for an anchor.
    #[serde(default)]
    pub sculpt: Option<Source>,
    /// Its pose: an offer, `walk:12`, or a frame of the only motion. Without it the file is called as an offer, or holds the pose.
    #[serde(default)]
    pub at: Option<String>,
    /// What it is for; as it was offered without it, else a sculpt.
    #[serde(default)]
    pub role: Option<Role>,
    /// A file with a number from 0 to 1 for every vertex of the rig: which were sculpted.
    #[serde(default)]
    pub mask: Option<PathBuf>,
    /// Whether all of the skin says how it is.
    #[serde(default)]
    pub whole: bool,
    /// The factor of what it changes.
    #[serde(default = "AddSculpt::as_it_is")]
    pub strength: f64,
    /// How the file is read where it does not say it itself.
    #[serde(default)]
    pub read: ReadOptions,
}

/// A pose of the session's motions.
struct At {
    motion: usize,
    frame: usize,
    name: PoseName,
}

/// A sculpt as it was read, with what its artist was shown.
struct Sculpted {
    example: Example,
    /// The vertices of the objects that it covers; `None` if it covers the rig, or its file has a mask.
    object: Option<Vec<u32>>,
    by: ShownBy,
    shown: Vec<DVec3>,
    warnings: Vec<String>,
    notes: Vec<FileNote>,
}

/// The strongest factor.
const STRONGEST: f64 = 4.0;

impl AddSculpt {
    fn as_it_is() -> f64 {
        1.0
    }

    /// A file with a pose.
    pub fn new(sculpt: Option<Source>, at: Option<String>) -> Self {
        let strength = Self::as_it_is();
        Self { sculpt, at, role: None, mask: None, whole: false, strength, read: ReadOptions::default() }
    }

    /// What excludes what.
    fn check(&self) -> Result<(), crate::Error> {
        let anchor = self.role == Some(Role::Anchor);
        let together = |what| Err(Error::Together { what }.into());
        match (&self.sculpt, &self.at) {
            (None, _) if !anchor => return together("a sculpt is a file; an anchor is a pose alone"),
            (Some(_), _) if anchor => {
                return together("an anchor is a pose, whose skin is right as it is shown: it takes no file");
            }
            (None, None) => return together("an anchor names a pose"),
            _ => {}
        }
        if self.whole && self.mask.is_some() {
            return together("a sculpt is whole, or it has a mask");
        }
        crate::recipe::within("strength", self.strength, f64::MIN_POSITIVE, STRONGEST)
    }
}

impl Session {
    /// Adds a sculpt, an anchor or a check, fits, and scores what that did. Result: what a user should know.
    ///
    /// # Errors
    /// [`Error`] for a sculpt without a pose, at rest, or without a touched vertex; those of reading and of the fit.
    pub fn add(&mut self, sculpt: &AddSculpt, watch: &dyn Watch) -> Result<Vec<String>, crate::Error> {
        sculpt.check()?;
        let mut at = sculpt.at.as_deref().map(|at| self.find_pose(at)).transpose()?;
        let mut holds_pose = false;
        if let (None, Some(file)) = (&at, &sculpt.sculpt) {
            let offer = self.offer_called(&name_of(file));
            at = offer.and_then(|offer| self.place_of(&offer.pose));
            let kind = kind_of(&file.path);
            if at.is_none() && kind == Some(Format::Obj) {
                return Err(Error::NoPose { path: file.path.clone() }.into());
            }
            holds_pose = at.is_some() && kind == Some(Format::Npz) && self.holds_pose(file)?;
        }
        let read = match &sculpt.sculpt {
            Some(file) => {
                step(watch, "read sculpt", |_| self.read_sculpt(file, at.as_ref(), holds_pose, &sculpt.read))?
            }
            None => self.anchored(at.as_ref().ok_or(Error::NoMotion)?)?,
        };
        sculpt.read.must_act_on(&read.notes)?;
        let of_user =
            |note: &&FileNote| sculpt.sculpt.as_ref().is_some_and(|file| note.path == file.path.display().to_string());
        watch.files(&read.notes.iter().filter(of_user).cloned().collect::<Vec<_>>());
        let Sculpted { mut example, object, by, shown, warnings: mut said, .. } = read;
        if example.is_at_bind() {
            return Err(Error::AtRest { name: example.label }.into());
        }
        // A file may be called as an offer and hold another pose.
        if let (true, Some(place)) = (holds_pose, &at)
            && !self.is_in(place, &example)?
        {
            at = None;
        }
        let name = example.label.clone();
        let mask = self.masked(sculpt, &mut example, object.as_deref(), &shown, by)?;
        let vertices = touched(&example);
        for v in 0..shown.len() {
            example.positions[v] = shown[v] + sculpt.strength * (example.positions[v] - shown[v]);
        }
        if let Some(LocalSculpt { mask: Some(mask), .. }) = &example.local {
            (0..shown.len()).filter(|&v| !mask[v]).for_each(|v| example.positions[v] = shown[v]);
        }
        let offer = at.as_ref().and_then(|at| self.offers_of(at).next());
        let role =
            sculpt.role.unwrap_or(if offer.is_some_and(|offer| offer.check) { Role::Check } else { Role::Sculpt });
        if sculpt.role.is_none() && role == Role::Check {
            said.push(format!("\"{name}\" was offered as a check: the model does not learn from it"));
        }
        if by == ShownBy::Rig && role != Role::Anchor && offer.is_none() {
            said.push(format!(
                "\"{name}\" is compared with the skin of the rig's own weights: the session did not offer its pose"
            ));
        }
        let sha256 = put_sculpt(&self.folder, role, &self.rig.rig, &example)?;
        if let Some(same) = self.file.steps.iter().find(|step| step.sha256 == sha256) {
            said.push(format!("step {} is the same sculpt", same.id));
        }
        let mut regions = BTreeMap::<&str, usize>::new();
        vertices.iter().for_each(|&v| *regions.entry(self.region(v)).or_default() += 1);
        let region = regions.into_iter().max_by_key(|(_, count)| *count).map_or("", |(region, _)| region).to_owned();
        let pose = at.map_or(PoseName { motion: None, frame: None, label: name.clone() }, |at| at.name);
        let id = self.file.next_step();
        let strength = sculpt.strength;
        let step = Step { id, name, role, pose, shown_by: by, mask, strength, sha256, touched: vertices.len(), region };
        said.extend(self.add_step(step, watch)?);
        Ok(said)
    }

    /// Reads a sculpt. Of several models that were shown in its pose, that one was shown from which the fewest vertices differ.
    fn read_sculpt(
        &self,
        file: &Source,
        at: Option<&At>,
        holds_pose: bool,
        read: &ReadOptions,
    ) -> Result<Sculpted, crate::Error> {
        let mut shown_by: Vec<ShownBy> =
            at.map_or(vec![], |at| self.offers_of(at).map(|offer| offer.shown_by).collect());
        if shown_by.is_empty() {
            shown_by.push(ShownBy::Rig);
        }
        let mut best: Option<(usize, Sculpted)> = None;
        for by in shown_by {
            let sculpted = self.read_over(file, at.filter(|_| !holds_pose), read, by)?;
            let count = self.differing(&sculpted.example, &sculpted.shown).iter().filter(|touched| **touched).count();
            if best.as_ref().is_none_or(|(least, _)| count < *least) {
                best = Some((count, sculpted));
            }
        }
        best.map(|(_, sculpted)| sculpted).ok_or_else(|| crate::Error::Internal("nothing was shown".into()))
    }

    /// Reads a sculpt of what one model showed.
    fn read_over(
        &self,
        file: &Source,
        at: Option<&At>,
        read: &ReadOptions,
        by: ShownBy,
    ) -> Result<Sculpted, crate::Error> {
        let model = self.shown_by(by)?;
        let name = if by == ShownBy::Rig { "the rig's skin" } else { "the skin that was shown" };
        let shown = ShownSkin { name, skin: Box::new(|pose| skin(&model, pose).ok()) };
        let source = SculptSource { file: file.clone(), at: at.map(|at| self.place_words(at)).transpose()? };
        let poses = at.map(|at| self.motion_source(at.motion));
        let (rig, space) = (&self.rig.rig, &self.rig.space);
        let found = load_sculpts(rig, space, &[source], poses.as_ref(), read, &shown, &dermis_fit::silent)?;
        let count = found.examples.len();
        let names =
            || found.examples.iter().take(4).map(|e| format!("\"{:.40}\"", e.label)).collect::<Vec<_>>().join(", ");
        let [example] = &found.examples[..] else {
            return Err(Error::Several { path: file.path.clone(), count, names: names() }.into());
        };
        let mut example = example.clone();
        let (by, shown) = match example.local.as_mut().and_then(|local| local.shown.take()) {
            Some(shown) => (ShownBy::File, shown),
            None => (by, skin(&model, &example.transforms)?),
        };
        let object = found.objects.into_iter().flatten().next();
        Ok(Sculpted { example, object, by, shown, warnings: found.warnings, notes: found.notes })
    }

    /// What readers of sculpts call a frame: its number, which they check, or its label where another frame is labelled with that number.
    fn place_words(&self, at: &At) -> Result<String, crate::Error> {
        let (motion, number) = (self.motion(at.motion)?, at.frame.to_string());
        let count = |words: &str| motion.frames.iter().filter(|frame| frame.label == words).count();
        match (count(&number), count(&at.name.label)) {
            (0, _) => Ok(number),
            (_, 1) => Ok(at.name.label.clone()),
            (_, several) => {
                let why = format!("{several} frames of \"{}\" are called \"{}\"", motion.name, at.name.label);
                Err(Error::NoSuchPose { at: at.name.to_string(), why }.into())
            }
        }
    }

    /// Whether a bundle holds the poses of its sculpts.
    fn holds_pose(&self, file: &Source) -> Result<bool, crate::Error> {
        let (mut contents, _) = read_contents(&file.path, &self.rig.space)?;
        file.select(&mut contents)?;
        Ok(contents.records.iter().any(|record| record.pose.is_some() && record.positions.is_some()))
    }

    /// Whether an example is in a pose of a motion.
    fn is_in(&self, at: &At, example: &Example) -> Result<bool, crate::Error> {
        let motion = self.motion(at.motion)?;
        let (rig, pose) = (&self.rig.rig, &motion.frames[at.frame].pose);
        Ok(same_place(&rig.skeleton().bone_transforms(pose), &example.transforms, rig.mesh().extent()))
    }

    /// The skin that was shown in a pose, as it is.
    fn anchored(&self, at: &At) -> Result<Sculpted, crate::Error> {
        let motion = self.motion(at.motion)?;
        let frame = &motion.frames[at.frame];
        let present = self.file.state().model.as_ref().map_or(ShownBy::Rig, |model| ShownBy::Model(model.number));
        let by = self.offers_of(at).next().map_or(present, |offer| offer.shown_by);
        let transforms: BoneTransforms = self.rig.rig.skeleton().bone_transforms(&frame.pose);
        let shown = skin(&self.shown_by(by)?, &transforms)?;
        let example = Example {
            label: at.name.to_string(),
            time: frame.time,
            transforms,
            positions: shown.clone(),
            importance: 1.0,
            local: None,
        };
        Ok(Sculpted { example, object: None, by, shown, warnings: vec![], notes: vec![] })
    }

    /// Gives a sculpt its mask; result: where it comes from.
    fn masked(
        &self,
        sculpt: &AddSculpt,
        example: &mut Example,
        object: Option<&[u32]>,
        shown: &[DVec3],
        by: ShownBy,
    ) -> Result<MaskFrom, crate::Error> {
        let painted = example.local.take().and_then(|local| local.mask).filter(|_| object.is_none());
        let (from, mask) = match (&sculpt.mask, painted) {
            (Some(path), _) => (MaskFrom::Painted, read_mask(path, shown.len())?),
            (None, _) if sculpt.whole || sculpt.role == Some(Role::Anchor) => match object {
                Some(object) => {
                    let mut mask = vec![false; shown.len()];
                    object.iter().for_each(|&v| mask[v as usize] = true);
                    (MaskFrom::Whole, mask)
                }
                None => return Ok(MaskFrom::Whole),
            },
            (None, Some(mask)) => (MaskFrom::Painted, mask),
            (None, None) => (MaskFrom::Found, self.differing(example, shown)),
        };
        if !mask.contains(&true) {
            return Err(Error::Untouched { name: example.label.clone(), shown: by.to_string() }.into());
        }
        example.local = Some(LocalSculpt { mask: Some(mask), shown: Some(shown.to_vec()) });
        Ok(from)
    }

    /// Whether each vertex differs from what was shown.
    fn differing(&self, example: &Example, shown: &[DVec3]) -> Vec<bool> {
        let far = self.touch();
        example.positions.iter().zip(shown).map(|(p, shown)| p.distance(*shown) > far).collect()
    }

    fn offer_called(&self, name: &str) -> Option<&Offer> {
        self.file.offers.iter().rev().find(|offer| offer.name == name)
    }

    /// The offers of a pose, the latest first.
    fn offers_of<'a>(&'a self, at: &'a At) -> impl Iterator<Item = &'a Offer> {
        self.file.offers.iter().rev().filter(|offer| offer.pose == at.name)
    }

    /// The place of a pose by its name.
    fn place_of(&self, pose: &PoseName) -> Option<At> {
        let motion = self.file.motions.iter().position(|motion| Some(&motion.name) == pose.motion.as_ref())?;
        Some(At { motion, frame: pose.frame.filter(|at| *at < self.file.motions[motion].frames)?, name: pose.clone() })
    }

    /// The pose that a name means: an offer, a motion and its frame by number or label, or a frame of the only motion.
    fn find_pose(&self, at: &str) -> Result<At, crate::Error> {
        let motions = &self.file.motions;
        if let Some(at) = self.offer_called(at).and_then(|offer| self.place_of(&offer.pose)) {
            return Ok(at);
        }
        let failed = |why: String| Err(Error::NoSuchPose { at: format!("{at:.60}"), why }.into());
        let known = || motions.iter().map(|motion| motion.name.clone()).collect::<Vec<_>>().join(", ");
        let named = at
            .rsplit_once(':')
            .and_then(|(motion, frame)| Some((motions.iter().position(|known| known.name == motion)?, frame)));
        let (motion, frame) = match (named, motions.len()) {
            (Some(named), _) => named,
            (None, 0) => return Err(Error::NoMotion.into()),
            (None, 1) if !at.contains(':') => (0, at),
            (None, _) => return failed(format!("the motions are {}", known())),
        };
        let read = self.motion(motion)?;
        let labelled: Vec<usize> = (0..read.frames.len()).filter(|&f| read.frames[f].label == frame).collect();
        let number = match (&labelled[..], frame.parse::<usize>()) {
            ([one], _) => *one,
            ([], Ok(number)) if number < read.frames.len() => number,
            ([], Ok(_)) => return failed(format!("\"{}\" has the frames 0 to {}", read.name, read.frames.len() - 1)),
            ([], Err(_)) => return failed(format!("no frame of \"{}\" has that label", read.name)),
            (several, _) => return failed(format!("{} frames of \"{}\" have that label", several.len(), read.name)),
        };
        Ok(At { motion, frame: number, name: pose_name(&read, number) })
    }
}

/// What a sculpt is called: the part of its file that is named, else the file.
fn name_of(file: &Source) -> String {
    let stem = || file.path.file_stem().map(|name| name.to_string_lossy().into_owned());
    file.part.clone().or_else(stem).unwrap_or_default()
}

/// Reads a mask: a number from 0 to 1 for every vertex, as text or as a JSON list.
fn read_mask(path: &Path, vertices: usize) -> Result<Vec<bool>, crate::Error> {
    let failed = |what: String| Error::Mask { path: path.into(), what };
    let bytes = read_bytes(path)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| failed("this is no text".into()))?;
    let words = text.split(|c: char| c.is_whitespace() || ",;[]".contains(c)).filter(|word| !word.is_empty());
    let mut mask = Vec::new();
    for word in words {
        let number: Option<f64> = word.parse().ok().filter(|x| (0.0..=1.0).contains(x));
        let number = number
            .ok_or_else(|| failed(format!("\"{word:.20}\" at vertex {} is no number from 0 to 1", mask.len())))?;
        mask.push(number > 0.5);
    }
    if mask.len() != vertices {
        return Err(failed(format!("it has {} numbers, but the rig has {vertices} vertices", mask.len())).into());
    }
    match mask.contains(&true) {
        true => Ok(mask),
        false => Err(failed("it touches no vertex: no number is above 0.5".into()).into()),
    }
}
