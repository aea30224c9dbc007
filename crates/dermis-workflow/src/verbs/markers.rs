//! `markers`: the motion of a rig from a take of markers.

use crate::convert::{Converted, is_folder, write_converted};
use crate::error::Error;
use crate::load::{FileNote, ReadOptions, load_camera_tracks, load_take, note, read_bytes, read_contents};
use crate::recipe::{Existing, Input, Watch, keep, reserve, seen, step, within};
use dermis_io::camera_tracks::TrackingCamera;
use dermis_io::gltf::MorphNormals;
use dermis_io::marker_take::MarkerTake;
use dermis_io::{Record, Space};
use dermis_motion::cameras::{Camera, CameraReport, Tracks, triangulate_all};
use dermis_motion::markers::{Marker, MarkerSet, MarkerSettings, Solved, Take, TroubleKind, calibrate, solve};
use dermis_rig::glam::{DVec2, DVec3, DVec4};
use dermis_rig::{BoneIndex, Skeleton};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A take of markers to be turned into the motion of a rig.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MarkersRecipe {
    /// The take: C3D or TRC, or what cameras saw (JSON).
    pub take: Input,
    /// The rig that it moves: a file with a skeleton, or a model.
    pub rig: Input,
    /// Which bone carries which marker, and where: JSON.
    pub set: Input,
    /// A take in which the subject stands as the rig does at rest; it says where the markers sit that the set leaves open.
    #[serde(default)]
    pub calibration: Option<Input>,
    /// Noise of a coordinate, millimetres.
    #[serde(default = "MarkersRecipe::default_noise")]
    pub noise: f64,
    /// How far a marker may be from where the others put it, millimetres.
    #[serde(default = "MarkersRecipe::default_wrong")]
    pub wrong: f64,
    /// How far a sight may be from where the other cameras put the marker, pixels.
    #[serde(default = "MarkersRecipe::default_pixels")]
    pub pixels: f64,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where the motion goes; the ending of the name is the format.
    pub out: PathBuf,
    /// What happens to an output that is there already.
    #[serde(default)]
    pub existing: Existing,
}

/// The file of a marker set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetFile {
    markers: Vec<MarkerLine>,
}

/// A marker of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkerLine {
    name: String,
    bone: String,
    /// On the rest pose, metres, Y up.
    #[serde(default)]
    at: Option<[f64; 3]>,
    #[serde(default = "one")]
    weight: f64,
}

fn one() -> f64 {
    1.0
}

/// What came of it.
#[derive(Debug)]
pub struct MarkersOutcome {
    /// The motion, and how well it meets the markers.
    pub solved: Solved,
    /// Frames per second.
    pub rate: f64,
    /// How well cameras agree, if the take is what they saw.
    pub cameras: Option<CameraReport>,
    /// Markers of the set that the take does not have.
    pub missing: Vec<String>,
    /// Markers of the take that the set does not have.
    pub unused: Vec<String>,
    /// What was written, and what was not.
    pub converted: Converted,
    /// The files read.
    pub inputs: Vec<String>,
    /// Where it went.
    pub written: PathBuf,
}

impl MarkersRecipe {
    /// Millimetres of noise by default.
    pub const NOISE: f64 = 1.0;
    /// Millimetres by default: skin slides by 20 over bones, a marker of another limb is 100 away.
    pub const WRONG: f64 = 80.0;

    /// Pixels by default.
    pub const PIXELS: f64 = 4.0;

    fn default_pixels() -> f64 {
        Self::PIXELS
    }

    fn default_noise() -> f64 {
        Self::NOISE
    }

    fn default_wrong() -> f64 {
        Self::WRONG
    }

    /// Reads, solves and writes.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<MarkersOutcome, Error> {
        let out = reserve(&self.out, self.existing, is_folder(&self.out)?)?;
        let inputs: Vec<&Input> = [&self.take, &self.rig, &self.set].into_iter().chain(&self.calibration).collect();
        keep(&inputs, [&out])?;
        let (take, take_note) = step(watch, "read take", |_| self.taken(&self.take))?;
        let (take, cameras) = take;
        let (mut rig, mut rig_note) = step(watch, "read rig", |_| {
            let path = &self.rig.file.path;
            read_contents(path, &self.read.space_of(path, &Space::default()))
        })?;
        rig_note.role = "rig".into();
        let (set, set_note) = set_file(&self.set.file.path)?;
        let mut notes = vec![take_note, rig_note, set_note];
        let still = match &self.calibration {
            None => None,
            Some(input) => {
                let ((still, _), note) = self.taken(input)?;
                notes.push(note);
                Some(still)
            }
        };
        self.read.must_act_on(&notes)?;
        seen(watch, inputs, &notes)?;
        let lacking = "name a rig, a model, or another file with a skeleton";
        let skeleton = rig.skeleton.clone();
        let skeleton = skeleton.ok_or_else(|| Error::lacks(&self.rig.file.path, "there is no skeleton", lacking))?;
        let set = placed(&skeleton, &set, still.as_ref(), &self.set.file.path)?;
        let settings =
            MarkerSettings { noise: 1e-3 * self.noise, wrong: 1e-3 * self.wrong, ..MarkerSettings::default() };
        let solved = step(watch, "solve", |p| solve(&skeleton, &set, &take, &settings, p))?;
        rig.clips.clear();
        rig.frames_per_second = Some(take.rate);
        let name =
            self.take.file.path.file_stem().map_or_else(|| "take".into(), |stem| stem.to_string_lossy().into_owned());
        rig.records = (solved.motion.frames.iter())
            .map(|frame| Record {
                label: format!("{name} {}", frame.label),
                time: frame.time,
                pose: Some(frame.pose.clone()),
                positions: None,
                importance: 1.0,
                local: None,
            })
            .collect();
        rig.name = name;
        let converted =
            step(watch, "write", |_| write_converted(&rig, &self.rig.file, &self.read, MorphNormals::Written, &out))?;
        let known = |name: &&String| set.markers.iter().any(|marker| marker.name == **name);
        Ok(MarkersOutcome {
            rate: take.rate,
            cameras,
            missing: set.markers.iter().map(|m| m.name.clone()).filter(|name| !take.names.contains(name)).collect(),
            unused: take.names.iter().filter(|name| !known(name)).cloned().collect(),
            solved,
            converted,
            inputs: notes.into_iter().map(|note| note.path).collect(),
            written: out.path().to_path_buf(),
        })
    }
}

impl MarkersRecipe {
    /// A take from a file, triangulated if the file holds what cameras saw.
    fn taken(&self, input: &Input) -> Result<((Take, Option<CameraReport>), FileNote), Error> {
        let path = &input.file.path;
        if !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json")) {
            let (MarkerTake { names, rate, frames, .. }, note) = load_take(path, &self.read)?;
            return Ok(((Take { names, rate, frames }, None), note));
        }
        within("pixels", self.pixels, f64::MIN_POSITIVE, f64::MAX)?;
        let (file, note) = load_camera_tracks(path, &self.read)?;
        let camera =
            |camera: &TrackingCamera| Camera { name: camera.name.clone(), rows: camera.matrix.map(DVec4::from_array) };
        let seen = |camera: TrackingCamera| -> Vec<Vec<Option<DVec2>>> {
            let frame = |frame: Vec<Option<[f64; 2]>>| frame.into_iter().map(|at| at.map(DVec2::from_array)).collect();
            camera.frames.into_iter().map(frame).collect()
        };
        let cameras = file.cameras.iter().map(camera).collect();
        let sights = file.cameras.into_iter().map(seen).collect();
        let tracks = Tracks { names: file.markers, rate: file.rate, cameras, sights };
        let (take, report) = triangulate_all(&tracks, self.pixels);
        Ok(((take, Some(report)), note))
    }
}

fn set_file(path: &Path) -> Result<(SetFile, FileNote), Error> {
    let bytes = read_bytes(path)?;
    let set = serde_json::from_slice(&bytes).map_err(|error| {
        let hint = "it is {\"markers\": [{\"name\": \"LKNE\", \"bone\": \"calf_l\", \"at\": [0.1, 0.5, 0.05]}, ...]}; docs/mocap.md has the rest";
        Error::lacks(path, format!("this is no marker set: {error}"), hint)
    })?;
    Ok((set, FileNote { role: "marker set".into(), ..note(path, &bytes, Vec::new()) }))
}

/// The set with bones by index, and places from the file or from the calibration.
fn placed(skeleton: &Skeleton, file: &SetFile, still: Option<&Take>, path: &Path) -> Result<MarkerSet, Error> {
    let bone = |line: &MarkerLine| {
        skeleton.find(&line.bone).ok_or_else(|| {
            let what = format!("marker \"{}\" sits on \"{}\", which the rig does not have", line.name, line.bone);
            Error::lacks(path, what, "`dermis inspect` lists the bones of the rig")
        })
    };
    let bones: Vec<(String, BoneIndex)> =
        file.markers.iter().map(|line| Ok((line.name.clone(), bone(line)?))).collect::<Result<_, Error>>()?;
    let open = file.markers.iter().find(|line| line.at.is_none());
    let found = match (open, still) {
        (None, _) => MarkerSet::default(),
        (Some(_), Some(still)) => calibrate(skeleton, &bones, still)?,
        (Some(line), None) => {
            let what = format!("marker \"{}\" has no place", line.name);
            let hint =
                "give \"at\", where it is on the rest pose; or `calibration`, a take in which the subject stands so";
            return Err(Error::lacks(path, what, hint));
        }
    };
    let mut markers = Vec::new();
    for (line, (name, bone)) in file.markers.iter().zip(bones) {
        let calibrated = found.markers.iter().find(|marker| marker.name == name).map(|marker| marker.at);
        if let Some(at) = line.at.map(DVec3::from_array).or(calibrated) {
            markers.push(Marker { name, bone, at, weight: line.weight });
        }
    }
    Ok(MarkerSet { markers })
}

impl MarkersOutcome {
    /// `markers --json`.
    pub fn json(&self) -> Value {
        let markers: Vec<Value> = (self.solved.markers.iter())
            .map(|marker| {
                json!({"name": marker.name, "used": marker.used, "rms_mm": 1e3 * marker.rms, "largest_mm": 1e3 * marker.most})
            })
            .collect();
        let troubles: Vec<Value> = (self.solved.troubles.iter())
            .map(|trouble| {
                let (kind, names) = words(&trouble.kind);
                json!({"kind": kind, "markers": names, "from": trouble.from, "to": trouble.to})
            })
            .collect();
        let cameras = self.cameras.as_ref().map(|report| {
            let each = |(name, used, outliers): &(String, usize, usize)| json!({"name": name, "used": used, "outliers": outliers});
            json!({
                "rms_pixels": report.rms,
                "lost": report.lost,
                "cameras": report.cameras.iter().map(each).collect::<Vec<_>>(),
            })
        });
        json!({
            "cameras": cameras,
            "out": self.written.display().to_string(),
            "inputs": self.inputs,
            "frames": self.solved.motion.frames.len(),
            "rate": self.rate,
            "rms_mm": 1e3 * self.solved.rms,
            "markers": markers,
            "troubles": troubles,
            "missing": self.missing,
            "unused": self.unused,
            "written": self.converted.json(),
        })
    }
}

/// A trouble as a word, and the markers that it is about.
pub fn words(kind: &TroubleKind) -> (&'static str, Vec<&str>) {
    match kind {
        TroubleKind::Gap(name) => ("gap", vec![name]),
        TroubleKind::LongGap(name) => ("long gap", vec![name]),
        TroubleKind::Wrong(name) => ("wrong place", vec![name]),
        TroubleKind::Swapped(a, b) => ("swapped", vec![a, b]),
        TroubleKind::Blind => ("fewer than three markers", vec![]),
    }
}
