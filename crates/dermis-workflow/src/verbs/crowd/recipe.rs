//! `crowd`: many instances of a model, each with a clip, a time, a place and a size of its own.

use super::error::Error::NoFarSkinning;
use crate::FileError;
use crate::error::Error;
use crate::load::{ReadOptions, load_model, load_motion};
use crate::output::{Output, ending, reserve_file, reserve_folder};
use crate::recipe::{Existing, Input, Watch, keep, seen, step, within};
use crate::verbs::crowd::{CrowdColours, Scene, Setting, Shown};
use dermis_io::Space;
use dermis_io::npz::{CrowdBundle, write_crowd};
use dermis_measure::ErrorStats;
use dermis_measure::crowd::Level;
use dermis_motion::crowd::{Crowd, CrowdClip, CrowdSettings};
use dermis_report::scene_picture::{Camera, Canvas};
use dermis_rig::glam::DVec3;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A crowd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CrowdRecipe {
    /// The model.
    pub model: Input,
    /// The clips that instances play.
    pub motions: Vec<Input>,
    /// How many instances there are.
    #[serde(default = "CrowdRecipe::default_instances")]
    pub instances: u64,
    /// What clips, times, places, headings and sizes follow from.
    #[serde(default)]
    pub seed: u64,
    /// Metres from an instance to the next; 0.8 times the diagonal of the rest mesh by default.
    #[serde(default)]
    pub spacing: Option<f64>,
    /// How far a heading is from the clip's at most, degrees.
    #[serde(default = "CrowdRecipe::default_spread")]
    pub spread: f64,
    /// The smallest and the largest size.
    #[serde(default = "CrowdRecipe::default_scale")]
    pub scale: [f64; 2],
    /// Metres from the camera up to which the full model is shown; 8 diagonals by default.
    #[serde(default)]
    pub full_within: Option<f64>,
    /// Metres from the camera up to which instances have poses of their own; 30 diagonals by default.
    #[serde(default)]
    pub blended_within: Option<f64>,
    /// Frames for which the farthest instances keep a pose.
    #[serde(default = "CrowdRecipe::default_shared_every")]
    pub shared_every: u32,
    /// Frames.
    #[serde(default = "CrowdRecipe::default_frames")]
    pub frames: u32,
    /// Frames per second.
    #[serde(default = "CrowdRecipe::default_rate")]
    pub rate: f64,
    /// Where the camera stands; before the crowd by default. Metres, Y up.
    #[serde(default)]
    pub camera: Option<[f64; 3]>,
    /// Where it looks.
    #[serde(default)]
    pub look_at: Option<[f64; 3]>,
    /// Instances whose skins are stored.
    #[serde(default)]
    pub skins: Vec<u32>,
    /// A picture of every frame.
    #[serde(default)]
    pub picture: Option<CrowdPicture>,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where the bundle goes.
    pub out: PathBuf,
    /// What happens to outputs that are there already.
    #[serde(default)]
    pub existing: Existing,
}

/// Pictures of a crowd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CrowdPicture {
    /// A PNG, or a folder of PNGs for several frames.
    pub out: PathBuf,
    /// Pixels across and down.
    #[serde(default = "CrowdPicture::default_size")]
    pub size: [u32; 2],
    /// The field of view from top to bottom, degrees.
    #[serde(default = "CrowdPicture::default_field")]
    pub field: f64,
    /// What instances are coloured by.
    #[serde(default)]
    pub colours: CrowdColours,
}

/// What came of it.
#[derive(Debug)]
pub struct CrowdOutcome {
    /// Instances.
    pub instances: usize,
    /// Frames.
    pub frames: usize,
    /// Vertices of a skin.
    pub vertices: usize,
    /// The model's axes and unit.
    pub space: Space,
    /// Clips by name, seconds of a cycle, and instances that play them.
    pub clips: Vec<(String, f64, usize)>,
    /// Clips whose cycle does not close, with the jump of a joint at the seam, metres.
    pub jumps: Vec<(String, f64)>,
    /// Of each level: instances over all frames, skins evaluated for them, and what the level costs against the full model.
    pub levels: Vec<LevelOutcome>,
    /// Seconds in which the skins were evaluated, by this process on all its threads.
    pub posing_seconds: f64,
    /// Skins held at once.
    pub skins_held: usize,
    /// Where the bundle went.
    pub written: PathBuf,
    /// Where the pictures went.
    pub picture: Option<PathBuf>,
}

/// How a level fared.
#[derive(Clone, Debug)]
pub struct LevelOutcome {
    /// The level.
    pub level: Level,
    /// Instances shown at this level, over all frames.
    pub instances: usize,
    /// Skins evaluated for them.
    pub skins: usize,
    /// Instances that were measured.
    pub measured: usize,
    /// Distances from the skins that the full model gives, metres; none of the full level, and of one that nobody is at.
    pub cost: Option<ErrorStats>,
}

impl CrowdPicture {
    /// Pixels.
    pub const SIZE: [u32; 2] = [1280, 720];
    /// Degrees.
    pub const FIELD: f64 = 36.0;

    fn default_size() -> [u32; 2] {
        Self::SIZE
    }

    fn default_field() -> f64 {
        Self::FIELD
    }
}

impl CrowdRecipe {
    /// Instances by default.
    pub const INSTANCES: u64 = 10_000;
    /// Degrees.
    pub const SPREAD: f64 = 10.0;
    /// Times the character's size.
    pub const SCALE: [f64; 2] = [0.92, 1.08];
    /// Frames that share a pose by default, far away.
    pub const SHARED_EVERY: u32 = 4;
    /// Frames per second by default.
    pub const RATE: f64 = 24.0;
    /// Instances times frames at most: their transforms take 1.5 GB.
    pub const MOST: u64 = 10_000_000;

    fn default_instances() -> u64 {
        Self::INSTANCES
    }

    fn default_spread() -> f64 {
        Self::SPREAD
    }

    fn default_scale() -> [f64; 2] {
        Self::SCALE
    }

    fn default_shared_every() -> u32 {
        Self::SHARED_EVERY
    }

    fn default_frames() -> u32 {
        1
    }

    fn default_rate() -> f64 {
        Self::RATE
    }

    /// Lays out the crowd, shows it frame by frame, and writes it.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<CrowdOutcome, Error> {
        self.check()?;
        let out = self.reserve()?;
        let picture_out = self.picture.as_ref().map(|picture| self.reserve_picture(picture)).transpose()?;
        let inputs: Vec<&Input> = [&self.model].into_iter().chain(&self.motions).collect();
        keep(&inputs, [&out].into_iter().chain(&picture_out))?;
        let (model, note) = step(watch, "read model", |_| load_model(&self.model.file.path))?;
        if model.baked().needs_given() {
            let what = "this model corrects given positions, and a crowd has none";
            return Err(Error::lacks(&self.model.file.path, what, "fit one over a base of its own"));
        }
        let mut notes = vec![note];
        let mut clips = Vec::with_capacity(self.motions.len());
        for input in &self.motions {
            let (motion, note) =
                step(watch, "read motion", |_| load_motion(model.rig(), &model.space, &input.file, &self.read))?;
            let hint = "sample the clip, or time its poses, with `fps`";
            let clip = CrowdClip::new(&motion, model.rig().skeleton())
                .map_err(|error| Error::lacks(&input.file.path, error.to_string(), hint))?;
            clips.push(clip);
            notes.push(note);
        }
        self.read.must_act_on(&notes)?;
        seen(watch, inputs, &notes)?;
        let diagonal = model.rig().mesh().diagonal();
        let settings = CrowdSettings {
            instances: self.instances,
            seed: self.seed,
            spacing: self.spacing.unwrap_or(0.8 * diagonal),
            spread: self.spread.to_radians(),
            scale: self.scale,
        };
        let crowd = Crowd::new(clips, &settings)?;
        let setting = Setting {
            full_within: self.full_within.unwrap_or(8.0 * diagonal),
            blended_within: self.blended_within.unwrap_or(30.0 * diagonal),
            shared_seconds: f64::from(self.shared_every) / self.rate,
            camera: self.camera.map(DVec3::from),
            look_at: self.look_at.map(DVec3::from),
            spacing: settings.spacing,
        };
        let scene = Scene::new(&model, &crowd, &setting)?;
        if scene.needs_weights(f64::from(self.frames - 1) / self.rate) && !scene.models().can_blend() {
            return Err(NoFarSkinning { model: self.model.file.path.clone() }.into());
        }
        self.show(watch, &model, &scene, &out, picture_out.as_ref())
    }

    fn check(&self) -> Result<(), Error> {
        let [instances, spacing, spread, scale] = CrowdSettings::RANGES;
        within("instances", self.instances as f64, instances[0], instances[1])?;
        within("frames", f64::from(self.frames), 1.0, 100_000.0)?;
        within("instances", self.instances as f64, 1.0, (Self::MOST / u64::from(self.frames)) as f64)?;
        self.spacing.map_or(Ok(()), |value| within("spacing", value, spacing[0], spacing[1]))?;
        within("spread", self.spread, spread[0].to_degrees(), spread[1].to_degrees())?;
        within("scale", self.scale[0], scale[0], scale[1])?;
        within("scale", self.scale[1], self.scale[0], scale[1])?;
        for (name, value) in [("full-within", self.full_within), ("blended-within", self.blended_within)] {
            value.map_or(Ok(()), |value| within(name, value, 0.0, f64::MAX))?;
        }
        within("shared-every", f64::from(self.shared_every), 1.0, 1e6)?;
        within("rate", self.rate, 1e-3, 1e6)?;
        for instance in &self.skins {
            within("skins", f64::from(*instance), 0.0, (self.instances - 1) as f64)?;
        }
        Ok(())
    }

    fn reserve(&self) -> Result<Output, Error> {
        if ending(&self.out) != "npz" {
            let (what, endings) = ("a crowd is written as a bundle", "name it .npz");
            return Err(FileError::Ending { path: self.out.clone(), what, endings }.into());
        }
        Ok(reserve_file(&self.out, self.existing)?)
    }

    fn reserve_picture(&self, picture: &CrowdPicture) -> Result<Output, Error> {
        match (ending(&picture.out).as_str(), self.frames) {
            ("png", 1) => Ok(reserve_file(&picture.out, self.existing)?),
            ("", _) => Ok(reserve_folder(&picture.out, self.existing)?),
            ("png", _) => {
                let what = "pictures of several frames go into a folder";
                Err(FileError::Ending { path: picture.out.clone(), what, endings: "name it without an ending" }.into())
            }
            _ => {
                let (what, endings) = ("a picture is a PNG", "name it .png, or without an ending for a folder");
                Err(FileError::Ending { path: picture.out.clone(), what, endings }.into())
            }
        }
    }

    fn show(
        &self,
        watch: &dyn Watch,
        model: &dermis_io::ModelFile,
        scene: &Scene<'_>,
        out: &Output,
        picture_out: Option<&Output>,
    ) -> Result<CrowdOutcome, Error> {
        let crowd = scene.crowd();
        let camera = match &self.picture {
            None => None,
            Some(picture) => Some((picture, Camera::new(scene.eye(), scene.looks_at(), picture.field.to_radians())?)),
        };
        let vertices = model.rig().mesh().positions.len();
        let stored = self.skins.len() as u64 * u64::from(self.frames);
        scene.hold(stored)?;
        let mut bundle = CrowdBundle {
            space: model.space.clone(),
            clip_names: crowd.clips().iter().map(|clip| clip.name().to_owned()).collect(),
            level_names: Level::ALL.map(|level| level.name().to_owned()).to_vec(),
            clips: crowd.instances().iter().map(|instance| instance.clip as u32).collect(),
            scales: crowd.instances().iter().map(|instance| instance.scale).collect(),
            skin_instances: self.skins.clone(),
            ..CrowdBundle::default()
        };
        let mut shown: Vec<Vec<Shown>> = Vec::with_capacity(self.frames as usize);
        let (mut skins_of, mut posing) = ([0; 3], 0.0);
        let write_picture = |frame: u32, canvas: &Canvas| -> Result<(), Error> {
            let Some(output) = picture_out else { return Ok(()) };
            let bytes = canvas.png().map_err(Error::Internal)?;
            match self.frames == 1 && ending(output.path()) == "png" {
                true => output.write(&bytes)?,
                false => output.folder()?(&format!("frame_{frame:05}.png"), &bytes)?,
            }
            Ok(())
        };
        step(watch, "show", |progress| {
            for frame in 0..self.frames {
                let time = f64::from(frame) / self.rate;
                let instances = scene.at(time);
                let mut canvas = camera
                    .as_ref()
                    .map(|(picture, camera)| Canvas::new(*camera, picture.size.map(|p| p as usize), scene.haze()))
                    .transpose()?;
                let colours = camera.as_ref().map(|(picture, _)| picture.colours);
                let at = |done: u64, total: u64| {
                    let total = total.max(1);
                    progress(u64::from(frame) * total + done, u64::from(self.frames) * total)
                };
                let colour = |instance| scene.colour(instance, &instances, colours.unwrap_or_default());
                let posed = scene.pose(&instances, &self.skins, canvas.as_mut(), &colour, &at)?;
                for (sum, skins) in skins_of.iter_mut().zip(posed.skins_of) {
                    *sum += skins;
                }
                posing += posed.seconds;
                bundle.skins.extend(posed.chosen);
                if let Some(canvas) = &canvas {
                    write_picture(frame, canvas)?;
                }
                bundle.frame_times.push(time);
                shown.push(instances);
            }
            Ok::<(), Error>(())
        })?;
        for one in shown.iter().flatten() {
            bundle.transforms.push(one.transform);
            bundle.clip_times.push(crowd.clips()[crowd.instances()[one.instance].clip].clip_time(one.phase));
            bundle.levels.push(one.level as u32);
        }
        let levels = step(watch, "measure", |_| {
            Level::ALL
                .into_iter()
                .map(|level| {
                    let instances = shown.iter().flatten().filter(|one| one.level == level).count();
                    let (measured, cost) = match level {
                        Level::Full => (0, None),
                        _ => scene.cost(&shown, level, self.rate)?,
                    };
                    Ok(LevelOutcome { level, instances, skins: skins_of[level as usize], measured, cost })
                })
                .collect::<Result<Vec<_>, Error>>()
        })?;
        step(watch, "write", |_| out.write_with(|writer| write_crowd(&bundle, writer)))?;
        Ok(CrowdOutcome {
            instances: crowd.instances().len(),
            frames: self.frames as usize,
            vertices,
            space: model.space.clone(),
            clips: scene.played(),
            jumps: scene.jumps(),
            levels,
            posing_seconds: posing,
            skins_held: scene.most_held(),
            written: out.path().to_path_buf(),
            picture: picture_out.map(|output| output.path().to_path_buf()),
        })
    }
}

impl CrowdOutcome {
    /// Instances per second, over all frames.
    pub fn rate(&self) -> f64 {
        (self.instances * self.frames) as f64 / self.posing_seconds.max(1e-9)
    }

    /// `crowd --json`. Lengths are metres, or the unit of the model's file where that has none.
    pub fn json(&self) -> Value {
        let clip = |(name, period, instances): &(String, f64, usize)| json!({"name": name, "cycle_seconds": period, "instances": instances});
        let level = |of: &LevelOutcome| {
            json!({
                "level": of.level.name(),
                "instances": of.instances,
                "skins": of.skins,
                "measured": of.measured,
                "from_full_model": of.cost,
            })
        };
        json!({
            "out": self.written,
            "picture": self.picture,
            "instances": self.instances,
            "frames": self.frames,
            "vertices": self.vertices,
            "clips": self.clips.iter().map(clip).collect::<Vec<_>>(),
            "jumps": self.jumps.iter().map(|(name, jump)| json!({"clip": name, "jump": jump})).collect::<Vec<_>>(),
            "levels": self.levels.iter().map(level).collect::<Vec<_>>(),
            "posing_seconds": self.posing_seconds,
            "instances_per_second": self.rate(),
            "skins_held": self.skins_held,
        })
    }
}
