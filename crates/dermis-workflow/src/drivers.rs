//! Compiling a model into driven shapes ([`dermis_compile::driven`], [`dermis_compile::pose_space`]) and writing them.

pub use dermis_compile::driven::{Cost, DrivenReport, DriverSettings};
pub use dermis_compile::pose_space::{
    Loss, Origin, PoseSpaceReport, PoseSpaceSettings, Refusal, is_pose_space, refusal,
};
pub use dermis_io::gltf::MorphNormals;

use crate::error::{Error, ExportError};
use crate::export::prune_json;
use crate::output::Output;
use crate::skins::{clip, write_scene};
use dermis_compile::driven::drive_joints;
use dermis_compile::pose_space::{drive_pose_space, table_driver};
use dermis_compile::{CompileError, Warning};
use dermis_io::ModelFile;
use dermis_io::driver_table::{self, EXTENSION, PoseSpaceTable, Table};
use dermis_io::gltf::GlbScene;
use dermis_rig::{Motion, Progress};
use serde_json::{Value, json};
use std::ops::Deref;

/// A GLB with driven shapes, and what they cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Driven<Report> {
    /// Bytes of the GLB.
    pub bytes: usize,
    /// The shapes and what they cost.
    pub report: Report,
}

impl<Report> Deref for Driven<Report> {
    type Target = Report;
    fn deref(&self) -> &Report {
        &self.report
    }
}

impl Driven<DrivenReport> {
    /// The same as JSON; distances in metres.
    pub fn json(&self) -> Value {
        let cost = |cost: &Cost| {
            json!({
                "poses": cost.poses,
                "weights_alone": pair(cost.weights_alone),
                "shapes": pair(cost.shapes),
                "all_shapes": pair(cost.all_shapes),
            })
        };
        json!({
            "bytes": self.bytes,
            "shapes": self.shapes,
            "coordinates": self.coordinates,
            "joints": self.joints,
            "samples": self.samples,
            "pruned": self.pruned.as_ref().map(prune_json),
            "training": cost(&self.training),
            "motion": self.motion.as_ref().map(cost),
            "clamped": self.clamped,
            "warnings": warnings(&self.warnings),
        })
    }
}

/// Writes a joint model as a skinned GLB with driven shapes, and the table that drives them. With a motion, its clip is
/// baked by evaluating that table. `normals` says whether shapes hold changes of normals.
///
/// # Errors
/// [`Error`]: what [`drive_joints`] refuses, a model whose report lacks its ridge, and what cannot be written.
pub fn export_driven(
    model: &ModelFile,
    motion: Option<&Motion>,
    settings: DriverSettings,
    normals: MorphNormals,
    (glb, table_file): (&Output, &Output),
    progress: Progress<'_>,
) -> Result<Driven<DrivenReport>, Error> {
    let rig = model.rig();
    // A model of another method has no such ridge, and is refused for what it is.
    let lambda = model.header.report["s"].as_f64().unwrap_or(f64::NAN);
    let made = drive_joints(model, lambda, motion, settings, progress).map_err(|error| match error {
        CompileError::NoJointModel => ExportError::NotDriven { method: model.header.method.clone() }.into(),
        other => Error::from(other),
    })?;
    let clips: Vec<_> = motion.zip(made.frames).map(|(motion, frames)| clip(motion, frames)).into_iter().collect();
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(rig.mesh()),
        skeleton: Some(rig.skeleton()),
        weights: Some(&made.weights),
        morphs: &made.morphs,
        morph_normals: normals,
        morph_weights: &made.table.offset,
        clips: &clips,
        ..GlbScene::default()
    };
    let bytes = write_scene(&scene, glb)?;
    table_file.write_with(|out| driver_table::write(Table::Joints(&made.table), crate::PROGRAM, out))?;
    Ok(Driven { bytes, report: made.report })
}

impl Driven<PoseSpaceReport> {
    /// The same as JSON; distances in metres.
    pub fn json(&self) -> Value {
        let loss = |loss: &Loss| {
            json!({
                "poses": loss.poses,
                "weights_alone": pair(loss.weights_alone),
                "shapes": pair(loss.shapes),
                "clamped": loss.clamped,
            })
        };
        json!({
            "bytes": self.bytes,
            "shapes": self.shapes,
            "regions": self.regions,
            "values": self.values,
            "coordinates": self.coordinates,
            "origin": self.origin.to_string(),
            "pruned": self.pruned.as_ref().map(prune_json),
            "training": self.training.as_ref().map(loss),
            "motion": self.motion.as_ref().map(loss),
            "warnings": warnings(&self.warnings),
        })
    }
}

/// An rms and a largest distance as JSON.
fn pair((rms, max): (f64, f64)) -> Value {
    json!({ "rms": rms, "max": max })
}

/// Warnings as JSON.
fn warnings(warnings: &[Warning]) -> Value {
    warnings.iter().map(ToString::to_string).collect()
}

/// Writes a pose space over linear blend skinning as a skinned GLB with driven shapes and the extension that says how they
/// are driven. With a second output, the same is written as a table; with a motion, its clip is baked. `normals` says whether
/// shapes hold changes of normals.
///
/// # Errors
/// [`Error`]: what [`drive_pose_space`] refuses, and what cannot be written.
pub fn export_pose_space(
    model: &ModelFile,
    motion: Option<&Motion>,
    settings: PoseSpaceSettings,
    normals: MorphNormals,
    (glb, table_file): (&Output, Option<&Output>),
    progress: Progress<'_>,
) -> Result<Driven<PoseSpaceReport>, Error> {
    let rig = model.rig();
    let made = drive_pose_space(model, motion, settings, progress)?;
    let clips: Vec<_> = motion.zip(made.frames).map(|(motion, frames)| clip(motion, frames)).into_iter().collect();
    let extension = driver_table::extension(&made.driver).map_err(Error::write(glb.path()))?;
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(rig.mesh()),
        skeleton: Some(rig.skeleton()),
        weights: Some(&made.weights),
        morphs: &made.morphs,
        morph_normals: normals,
        morph_weights: &made.driver.offset,
        clips: &clips,
        extension: Some((EXTENSION, &extension)),
        ..GlbScene::default()
    };
    let bytes = write_scene(&scene, glb)?;
    if let Some(file) = table_file {
        let (bones, driver) = table_driver(&made.driver, rig.skeleton());
        let shapes = made.morphs.iter().map(|m| m.name.clone()).collect();
        let table = PoseSpaceTable { mesh: rig.name().to_owned(), bones, shapes, driver };
        file.write_with(|out| driver_table::write(Table::PoseSpace(&table), crate::PROGRAM, out))?;
    }
    Ok(Driven { bytes, report: made.report })
}
