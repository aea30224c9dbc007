//! Fits from sums over examples that are not held: streamed, or summed in parts.

use super::{BaseChoice, FitOptions, Fitted, MapSource, Method, base_of, has_closed_form, maps_of, model_of, mwe};
use crate::error::Error;
use crate::load::LoadedRig;
use dermis_deform::Base;
use dermis_fit::mwe::{MweSettings, RowChoice, SeenPose, SolvePrecision, Statistics};
use dermis_fit::{Accumulator, FitError, Progress};
use dermis_io::ModelHeader;
use dermis_io::model_file::fingerprint;
use dermis_io::part_file::{PartFile, PartHeader, VERSION};
use dermis_rig::glam::DVec3;
use dermis_rig::skeleton::row;
use dermis_rig::{BoneTransforms, Example, ExampleSet, Influences};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Instant;

/// A fit of multi-weight enveloping whose examples come one after another.
pub struct Summing<'a> {
    loaded: &'a LoadedRig,
    options: &'a FitOptions,
    base: Base,
    sums: Accumulator,
    settings: MweSettings,
    header: PartHeader,
    /// Whether all that was summed are frames of clips.
    is_clip: bool,
    /// Seconds spent summing.
    seconds: f64,
}

impl<'a> Summing<'a> {
    /// Nothing summed yet.
    ///
    /// # Errors
    /// [`Error`]: methods, bases and maps that need all examples at hand, and settings that do not fit the rig.
    pub fn new(loaded: &'a LoadedRig, options: &'a FitOptions) -> Result<Self, Error> {
        let rig = &loaded.rig;
        let refused = |what: String| Err(Error::Option(format!("{what}: examples are not held while streaming")));
        if options.method != Method::Mwe {
            return refused(format!("--method {} cannot be fitted from sums; --method mwe can", options.method));
        }
        if options.base == BaseChoice::Given {
            return refused("--base given needs all of its positions".into());
        }
        if options.maps == MapSource::Examples {
            return refused("--maps examples needs all of them".into());
        }
        let base = base_of(rig, options.base)?;
        let maps = maps_of(rig, &ExampleSet::default(), options, &dermis_fit::silent)?;
        // How many poses there are, and whether of a clip, is known in the end.
        let settings = mwe::settings(options, rig, usize::MAX, false)?;
        let (rest, length) = (&rig.mesh.positions, rig.mesh.diagonal());
        let sums = Accumulator::new(&rig.skeleton, rest, length, &maps, &settings)?;
        let bind = rig.skeleton.bind().iter().flat_map(|m| [0, 1, 2].map(|j| row(m, j))).flatten();
        let row = settings.rows == RowChoice::Row;
        let header = PartHeader {
            format_version: VERSION,
            program: crate::PROGRAM.into(),
            fingerprint: fingerprint(&rig.mesh, &rig.skeleton),
            settings: vec![
                ("rest pose".into(), hash(rest.iter().flat_map(|p| p.to_array()).chain(bind))),
                ("base".into(), format!("{:?}", options.base).to_lowercase()),
                ("weights".into(), rig.weights.as_ref().map_or_else(String::new, hash_of)),
                ("influence maps".into(), hash_of(&maps)),
                ("anchor".into(), format!("{:?}", settings.anchor).to_lowercase()),
                ("rows".into(), if row { "row".into() } else { "full".into() }),
                ("sweep vertices".into(), settings.sweep_vertices.to_string()),
            ],
            row,
            ..PartHeader::default()
        };
        Ok(Self { loaded, options, base, sums, settings, header, is_clip: true, seconds: 0.0 })
    }

    /// Sums more examples.
    ///
    /// # Errors
    /// Those of [`Accumulator::add`].
    pub fn add(&mut self, examples: &[Example]) -> Result<(), Error> {
        let start = Instant::now();
        let rest = &self.loaded.rig.mesh.positions;
        let base = &mut self.base;
        let skin = |example: &Example| {
            let mut skin = vec![DVec3::ZERO; rest.len()];
            base.evaluate(rest, &example.transforms, None, &mut skin);
            skin
        };
        let base: Vec<Vec<DVec3>> = examples.iter().map(skin).collect();
        self.sums.add(examples, &base)?;
        self.seconds += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// Says that what was summed are frames of a clip, or not.
    pub fn of_clip(&mut self, is_clip: bool) {
        self.is_clip &= is_clip;
    }

    /// Examples of positive importance summed so far.
    pub fn poses(&self) -> usize {
        self.sums.poses()
    }

    /// The sums as a file.
    ///
    /// # Errors
    /// [`Error::Fit`] if there are none.
    pub fn part(self) -> Result<PartFile, Error> {
        if self.sums.poses() == 0 {
            return Err(FitError::NoExamples.into());
        }
        let Statistics { moments, squares, largest, grams, stride, poses, .. } = self.sums.into_statistics();
        let header = PartHeader { is_clip: self.is_clip, stride: stride as u64, ..self.header };
        Ok(PartFile {
            header,
            moments,
            squares,
            largest,
            grams,
            transforms: poses.iter().flat_map(|pose| pose.transforms.iter().copied()).collect(),
            importance: poses.iter().map(|pose| pose.importance).collect(),
            residuals: poses.into_iter().flat_map(|pose| pose.residuals).collect(),
        })
    }

    /// Adds the sums of a file, as if its examples followed.
    ///
    /// # Errors
    /// [`Error::Lacks`], naming what differs or does not fit.
    pub fn merge(&mut self, part: PartFile, path: &Path) -> Result<(), Error> {
        let differs = |what: String| {
            Error::lacks(path, what, "parts are merged with the rig and the options they were accumulated with")
        };
        let header = &part.header;
        if header.fingerprint != self.header.fingerprint {
            return Err(differs("it belongs to another rig: vertices, triangles or bones differ".into()));
        }
        for (name, own) in &self.header.settings {
            let found = header.settings.iter().find(|(key, _)| key == name).map_or("nothing", |(_, value)| value);
            if found != own {
                return Err(differs(format!("its {name} differs: {found} there, {own} here")));
            }
        }
        let rig = &self.loaded.rig;
        let (count, bones) = (part.importance.len(), rig.skeleton.len());
        let per_pose = part.residuals.len().checked_div(count).unwrap_or(0);
        if count == 0 || part.transforms.len() != count * bones || part.residuals.len() != count * per_pose {
            return Err(differs(format!("its arrays do not divide among {count} poses")));
        }
        let pose = |s: usize| SeenPose {
            transforms: BoneTransforms::new(part.transforms[s * bones..(s + 1) * bones].to_vec()),
            importance: part.importance[s],
            residuals: part.residuals[s * per_pose..(s + 1) * per_pose].to_vec(),
        };
        let poses = (0..count).map(pose).collect();
        let stride = usize::try_from(header.stride).unwrap_or(usize::MAX);
        let form = self.sums.statistics().form;
        let is_clip = header.is_clip;
        let PartFile { moments, squares, largest, grams, .. } = part;
        let sums = Statistics { form, moments, squares, largest, grams, stride, poses };
        self.sums.add_sums(sums).map_err(|e| differs(e.to_string()))?;
        self.is_clip &= is_clip;
        Ok(())
    }

    /// Fits the model to all that was summed.
    ///
    /// # Errors
    /// As [`fit`](super::fit).
    pub fn finish(mut self, progress: Progress<'_>) -> Result<Fitted, Error> {
        let start = Instant::now();
        let (rig, options) = (&self.loaded.rig, self.options);
        let chosen = mwe::settings(options, rig, self.sums.poses(), self.is_clip)?;
        self.sums.choose(chosen.rows, chosen.strength)?;
        let poses: Vec<BoneTransforms> =
            self.sums.statistics().poses.iter().map(|pose| pose.transforms.clone()).collect();
        let fitted = self.sums.finish(progress)?;
        let settings = MweSettings { rows: chosen.rows, strength: chosen.strength, duplicates: -1.0, ..self.settings };
        let mut lines = vec![("method".to_owned(), options.method.to_string())];
        lines.extend(mwe::lines(&settings, options, &fitted.report));
        let mut warnings = mwe::warnings(&settings, &fitted.report);
        if options.duplicates.is_some_and(|tolerance| tolerance >= 0.0) {
            warnings.push("examples that are not held are not merged as duplicates: each counts".into());
        }
        if settings.solve_in == SolvePrecision::Single {
            warnings.push("examples that are not held are solved in double precision".into());
        }
        let header = ModelHeader {
            method: options.method.to_string(),
            program: crate::PROGRAM.into(),
            settings: lines,
            report: mwe::report(&fitted.report, rig),
        };
        debug_assert!(has_closed_form(&self.base) || matches!(self.base, Base::Dqs(..)), "bases of streams");
        let correction = Some(fitted.correction.into());
        let poses: Vec<_> = poses.iter().collect();
        let precision = self.options.precision;
        let model = model_of(self.loaded, self.base, correction, None, &poses, precision, header);
        Ok(Fitted {
            model,
            seconds: self.seconds + start.elapsed().as_secs_f64(),
            sweep: fitted.report.sweep.iter().map(|p| (p.s, p.train, p.validated)).collect(),
            s: Some(fitted.report.s),
            validated_by: mwe::validated_by(&settings),
            mwe: Some(fitted.report),
            joint: None,
            warnings,
        })
    }
}

/// SHA-256 over numbers, the first 16 hexadecimal digits.
fn hash(numbers: impl Iterator<Item = f64>) -> String {
    let mut hash = Sha256::new();
    numbers.for_each(|x| hash.update(x.to_le_bytes()));
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn hash_of(maps: &Influences) -> String {
    let row = |row: &[(dermis_rig::BoneIndex, f64)]| {
        let entries = row.iter().flat_map(|&(bone, value)| [bone.get() as f64, value]);
        entries.chain([-1.0]).collect::<Vec<_>>()
    };
    hash(maps.rows().flat_map(row))
}
