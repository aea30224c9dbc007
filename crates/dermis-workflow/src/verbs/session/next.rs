//! The poses to sculpt next, with the skin that the present model shows in them.

use super::error::Error;
use super::file::{Offer, PoseName, Role, ShownBy};
use super::folder::{Session, pose_name};
use super::scores::mirror;
use crate::convert::write_converted;
use crate::load::{ReadOptions, Source};
use crate::output::{Existing, Output, ending, reserve_file, reserve_folder};
use crate::recipe::{Watch, step};
use crate::verbs::suggest::{Suggestion, study_touched};
use dermis_deform::TrainingPoses;
use dermis_deform::training::moves_skin;
use dermis_files::FileError;
use dermis_io::gltf::MorphNormals;
use dermis_io::npz::{StoredFloat, write};
use dermis_io::obj::{Normals, write_shape};
use dermis_io::{Contents, Format, ModelFile, Record, to_bytes};
use dermis_measure::WideRunner;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Frame, LocalSculpt, Motion};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A wish for poses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NextPoses {
    /// How many.
    #[serde(default = "NextPoses::default_count")]
    pub count: u16,
    /// Whether they are for checks.
    #[serde(default)]
    pub check: bool,
    /// A folder for OBJ files, a bundle (.npz), or a mesh with a morph target per pose (.glb).
    #[serde(default)]
    pub out: Option<PathBuf>,
    /// What happens to outputs that are there already.
    #[serde(default)]
    pub existing: Existing,
}

/// Poses that were handed out.
#[derive(Debug)]
pub struct Offered {
    /// The poses.
    pub offers: Vec<Offer>,
    /// Where their skins went.
    pub written: Option<PathBuf>,
}

/// Every so many offers one asks for a check of taught skin.
const CHECK_EVERY: usize = 3;

impl NextPoses {
    /// How many poses are offered by default.
    pub const COUNT: u16 = 3;

    fn default_count() -> u16 {
        Self::COUNT
    }
}

impl Default for NextPoses {
    fn default() -> Self {
        Self { count: Self::COUNT, check: false, out: None, existing: Existing::default() }
    }
}

/// A frame that could be handed out.
struct Candidate {
    motion: usize,
    frame: usize,
    check: bool,
    region: String,
}

impl Session {
    /// Hands out poses to be sculpted, or checked, with the skin of the present model, and remembers what was shown.
    ///
    /// # Errors
    /// [`Error::NoMotion`], [`Error::NoOffer`], [`Error::NothingTaught`]; those of the design and of writing.
    pub fn next(&mut self, wish: &NextPoses, watch: &dyn Watch) -> Result<Offered, crate::Error> {
        if self.file.motions.is_empty() {
            return Err(Error::NoMotion.into());
        }
        let out = wish.out.as_ref().map(|path| match ending(path).as_str() {
            "" => reserve_folder(path, wish.existing),
            "npz" | "glb" => reserve_file(path, wish.existing),
            _ => {
                let endings = "name a folder for OBJ files, or a file that ends in .npz or .glb";
                Err(FileError::Ending { path: path.clone(), what: "offers are written as skins", endings })
            }
        });
        let out = out.transpose()?;
        let model = self.present_model()?;
        let motions = self.motions()?;
        let count = usize::from(wish.count);
        let taught = self.file.taught(&self.file.state().active).next().is_some();
        // A third of the offers are checks, once there is something to check.
        let checks = match (wish.check, taught) {
            (true, _) => count,
            (false, true) => (self.file.offers.len() + count) / CHECK_EVERY - self.file.offers.len() / CHECK_EVERY,
            (false, false) => 0,
        };
        let mut chosen: Vec<Candidate> = Vec::new();
        if checks < count {
            chosen = self.to_sculpt(&model, &motions, count - checks, watch)?;
        }
        if checks > 0 {
            let taken: Vec<(usize, usize)> = chosen.iter().map(|c| (c.motion, c.frame)).collect();
            chosen.extend(step(watch, "look for checks", |_| self.to_check(&model, &motions, checks, &taken))?);
        }
        if chosen.is_empty() {
            return Err(Error::NoOffer { what: if wish.check { "check" } else { "sculpt" } }.into());
        }
        let shown_by = self.file.state().model.as_ref().map_or(ShownBy::Rig, |model| ShownBy::Model(model.number));
        let (mut offers, mut records) = (Vec::<Offer>::new(), Vec::new());
        let mut runner = WideRunner::new(model.baked());
        for candidate in chosen {
            let frame = &motions[candidate.motion].frames[candidate.frame];
            let pose = pose_name(&motions[candidate.motion], candidate.frame);
            let skin = runner.run(&self.rig.rig.skeleton().bone_transforms(&frame.pose), None)?.to_vec();
            let name = self.offer_name(&pose, shown_by, &offers);
            records.push(record(&name, frame, skin));
            offers.push(Offer { name, pose, shown_by, check: candidate.check, region: candidate.region });
        }
        if let Some(out) = &out {
            step(watch, "write", |_| self.write_offers(&records, out))?;
        }
        for offer in &offers {
            self.file.offers.retain(|known| known.name != offer.name);
            self.file.offers.push(offer.clone());
        }
        self.save()?;
        Ok(Offered { offers, written: out.map(|out| out.path().to_path_buf()) })
    }

    /// The frames that teach most of the motions.
    fn to_sculpt(
        &self,
        model: &ModelFile,
        motions: &[Motion],
        count: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Candidate>, crate::Error> {
        let places: Vec<(usize, usize)> = motions
            .iter()
            .enumerate()
            .flat_map(|(at, motion)| (0..motion.frames.len()).map(move |f| (at, f)))
            .collect();
        let frames = motions.iter().flat_map(|motion| motion.frames.iter().cloned());
        let all = Motion { name: "the session's motions".into(), frames: frames.collect() };
        let (training, touched) = self.training(model)?;
        let study = step(watch, "compare poses", |p| study_touched(model, (&training, &touched), &all, p))?;
        // Frames beside a sculpted one are passed over, and those that check.
        let checked = self.checked();
        let spare = checked.len() + self.file.taught(&self.file.state().active).count();
        let found = step(watch, "suggest", |_| Ok::<_, crate::Error>(study.suggest(count + spare)))?;
        let is_new = |s: &&Suggestion| {
            let (motion, frame) = places[s.frame];
            !checked.contains(&pose_name(&motions[motion], frame)) && !self.is_trained(model, &all.frames[s.frame])
        };
        let candidate = |s: &Suggestion| {
            let (motion, frame) = places[s.frame];
            let region = s.region.clone().unwrap_or_else(|| s.farthest.0.clone());
            Candidate { motion, frame, check: false, region }
        };
        Ok(found.list.iter().filter(is_new).take(count).map(candidate).collect())
    }

    /// The poses that the model learnt from, and the vertices that each shows; after the sculpts their mirror images, where these teach,
    /// too. Before the first sculpt the poses are those of the rig's own weights.
    fn training(&self, model: &ModelFile) -> Result<(TrainingPoses, Vec<Vec<bool>>), crate::Error> {
        let known = || model.training().cloned().ok_or_else(|| crate::Error::Internal("a model without poses".into()));
        let (rig, state) = (&self.rig.rig, self.file.state());
        let (mut poses, mut touched) = (Vec::<BoneTransforms>::new(), Vec::new());
        for step in self.file.taught(&state.active) {
            let example = self.sculpt(step)?;
            let mask = example.local.and_then(|local| local.mask);
            touched.push(mask.unwrap_or_else(|| vec![true; rig.mesh().positions.len()]));
            poses.push(example.transforms);
        }
        if poses.is_empty() || poses.len() > TrainingPoses::MOST / 2 {
            return Ok((known()?, vec![]));
        }
        if let Some(mirror) = mirror(self, &state.method) {
            for at in 0..poses.len() {
                let image = |v: &Option<u32>| v.is_some_and(|v| touched[at][v as usize]);
                let mask = mirror.vertices.iter().map(image).collect();
                poses.push(mirror.pose(&poses[at]));
                touched.push(mask);
            }
        }
        let moving = rig.weights().map(|weights| moves_skin(rig.skeleton(), weights)).unwrap_or_default();
        let all: Vec<&BoneTransforms> = poses.iter().collect();
        Ok((TrainingPoses::new(rig.skeleton(), &moving, &all, rig.mesh().extent()), touched))
    }

    /// The frames in which the model claims most on the skin that was taught, farthest from what it was taught: the largest product
    /// of what it adds to the rig's skin there and of the degrees from training.
    fn to_check(
        &self,
        model: &ModelFile,
        motions: &[Motion],
        count: usize,
        taken: &[(usize, usize)],
    ) -> Result<Vec<Candidate>, crate::Error> {
        let taught = self.taught_skin()?;
        let (own, skeleton) = (self.model(None)?, self.rig.rig.skeleton());
        let checked = self.checked();
        let [mut base, mut now] = [&own, model].map(|model| WideRunner::new(model.baked()));
        let mut found: Vec<(f64, Candidate)> = Vec::new();
        for (at, motion) in motions.iter().enumerate() {
            for (frame, place) in motion.frames.iter().enumerate() {
                if taken.contains(&(at, frame))
                    || checked.contains(&pose_name(motion, frame))
                    || self.is_trained(model, place)
                {
                    continue;
                }
                let pose = skeleton.bone_transforms(&place.pose);
                let far = model.training().map_or(0.0, |training| training.distance(skeleton, &pose).degrees);
                let (base, now) = (base.run(&pose, None)?, now.run(&pose, None)?);
                let added = |v: &usize| base[*v].distance_squared(now[*v]);
                let claim = taught.iter().map(added).sum::<f64>().sqrt();
                let most = taught.iter().max_by(|a, b| added(a).total_cmp(&added(b)));
                let region = most.map_or("", |&v| self.region(v)).to_owned();
                found.push((claim * far, Candidate { motion: at, frame, check: true, region }));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(found.into_iter().take(count).map(|(_, candidate)| candidate).collect())
    }

    /// Poses that check, or were handed out for that.
    fn checked(&self) -> Vec<PoseName> {
        let steps = self.file.steps.iter().filter(|step| step.role == Role::Check).map(|step| &step.pose);
        let offers = self.file.offers.iter().filter(|offer| offer.check).map(|offer| &offer.pose);
        steps.chain(offers).cloned().collect()
    }

    /// Whether a frame is beside a pose that the model learnt from.
    fn is_trained(&self, model: &ModelFile, frame: &Frame) -> bool {
        let skeleton = self.rig.rig.skeleton();
        model.training().is_some_and(|poses| poses.has_beside(skeleton, &skeleton.bone_transforms(&frame.pose)))
    }

    /// A name for an offer, which also names its file. A pose that another model showed before keeps that name for that skin.
    fn offer_name(&self, pose: &PoseName, shown_by: ShownBy, now: &[Offer]) -> String {
        let plain = match (&pose.motion, pose.frame) {
            (Some(motion), Some(frame)) => format!("{motion}_{frame}"),
            _ => pose.label.clone(),
        };
        let numbered = (2..).map(|number| format!("{plain}.{number}"));
        let is_free = |name: &String| {
            let known = self.file.offers.iter().chain(now).find(|offer| offer.name == *name);
            known.is_none_or(|offer| offer.pose == *pose && offer.shown_by == shown_by)
        };
        std::iter::once(plain.clone()).chain(numbered).find(is_free).unwrap_or(plain)
    }

    fn write_offers(&self, records: &[Record], out: &Output) -> Result<(), crate::Error> {
        let (rig, path) = (&self.rig.rig, out.path());
        let contents = Contents {
            name: "offers".into(),
            format: Format::Npz,
            space: self.rig.space.clone(),
            mesh: Some(rig.mesh().clone()),
            records: records.to_vec(),
            ..Contents::default()
        };
        match ending(path).as_str() {
            "npz" => {
                let skeleton = Some(rig.skeleton().clone());
                let contents = Contents { skeleton, weights: rig.weights().cloned(), ..contents };
                out.write_with(|to| write(&contents, StoredFloat::Double, to))?;
            }
            "glb" => {
                let records = records.iter().map(|r| Record { pose: None, local: None, ..r.clone() }).collect();
                let contents = Contents { records, ..contents };
                let source = Source { path: path.into(), part: None };
                write_converted(&contents, &source, &ReadOptions::default(), MorphNormals::LeftOut, out)?;
            }
            _ => {
                let file = out.folder()?;
                for record in records {
                    let Some(skin) = &record.positions else { continue };
                    let shape = |to: &mut dyn std::io::Write| {
                        write_shape(rig.mesh(), skin, Normals::LeftOut, None, &self.rig.space, to)
                    };
                    let bytes = to_bytes(shape).map_err(crate::Error::write(path))?;
                    file(&format!("{}.obj", record.label), &bytes)?;
                }
            }
        }
        Ok(())
    }
}

/// A pose with the skin that is shown there; what differs from it will have been sculpted.
fn record(name: &str, frame: &Frame, skin: Vec<DVec3>) -> Record {
    Record {
        label: name.into(),
        time: None,
        pose: Some(frame.pose.clone()),
        positions: Some(skin.clone()),
        importance: 1.0,
        local: Some(LocalSculpt { mask: None, shown: Some(skin) }),
    }
}
