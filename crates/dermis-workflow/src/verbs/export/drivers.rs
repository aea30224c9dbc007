//! Compiling a model into driven shapes ([`dermis_compile::driven`], [`dermis_compile::pose_space`]) and writing them.
//!
//! The GLB of either holds what drives it, as the glTF extension `DERMIS_joint_drivers` or `DERMIS_pose_space`. An FBX or USD file holds the
//! shapes; what drives them is the table beside it.

pub use dermis_compile::driven::{Cost, DrivenReport, DriverSettings};
pub use dermis_compile::pose_space::{
    Loss, Origin, PoseSpaceReport, PoseSpaceSettings, Refusal, is_pose_space, refusal,
};
pub use dermis_io::gltf::MorphNormals;

use crate::error::Error;
use crate::output::Output;
use crate::skins::{WriteOptions, clip, scene_bytes};
use crate::verbs::export::prune_json;
use dermis_compile::Warning;
use dermis_compile::driven::drive;
use dermis_compile::pose_space::{drive_pose_space, table_driver};
use dermis_deform::tables::JointTable;
use dermis_io::ModelFile;
use dermis_io::driver_table::{self, JOINT_EXTENSION, POSE_SPACE_EXTENSION, PoseSpaceTable, Table};
use dermis_io::gltf::GlbScene;
use dermis_rig::{Motion, Progress};
use serde_json::{Value, json};
use std::ops::Deref;
use std::path::Path;

/// A file with driven shapes, and what they cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Driven<Report> {
    /// Bytes of the file.
    pub bytes: usize,
    /// What the format changed or left out, in words.
    pub changes: Vec<String>,
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
            "sculpts": self.sculpts,
            "coordinates": self.coordinates,
            "joints": self.joints,
            "fitted": self.fitted,
            "samples": self.samples,
            "pruned": self.pruned.as_ref().map(prune_json),
            "training": cost(&self.training),
            "motion": self.motion.as_ref().map(cost),
            "clamped": self.clamped,
            "warnings": warnings(&self.warnings),
        })
    }
}

/// GLBs with driven shapes, or an FBX or USD file, not yet written.
#[derive(Clone, Debug)]
pub struct DrivenGlb<Report, Table> {
    /// The bytes of a GLB for each way to write normals that was asked for.
    pub glbs: Vec<Vec<u8>>,
    /// What the format changed or left out, in words.
    pub changes: Vec<String>,
    /// The same drivers as a table of their own.
    pub table: Table,
    /// The shapes and what they cost.
    pub report: Report,
}

/// Compiles a model into a skinned GLB with driven shapes and the extension that says how they are driven. With a motion, its
/// clip is baked by evaluating the drivers. There is a GLB for each of `normals`, which say whether shapes hold changes of normals.
///
/// # Errors
/// [`Error`]: what [`drive`] refuses, a model whose report lacks its ridge, and what a file cannot hold; `glb` is named for it, and its ending is the format.
pub fn driven_glb(
    model: &ModelFile,
    motion: Option<&Motion>,
    settings: DriverSettings,
    normals: &[MorphNormals],
    (glb, write): (&Path, &WriteOptions),
    progress: Progress<'_>,
) -> Result<DrivenGlb<DrivenReport, JointTable>, Error> {
    let rig = model.rig();
    let lambda = model.header.report["s"].as_f64();
    let made = drive(model, lambda, motion, settings, progress)?;
    let clips: Vec<_> = motion.zip(made.frames).map(|(motion, frames)| clip(motion, frames)).into_iter().collect();
    let extension = driver_table::joint_extension(&made.table, &made.bones).map_err(Error::write(glb))?;
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(rig.mesh()),
        skeleton: Some(rig.skeleton()),
        weights: Some(&made.weights),
        morphs: &made.morphs,
        morph_weights: &made.table.offset,
        clips: &clips,
        springs: &model.header.chains,
        extension: Some((JOINT_EXTENSION, &extension)),
        ..GlbScene::default()
    };
    let (glbs, changes) = written(scene, normals, (glb, write))?;
    Ok(DrivenGlb { glbs, changes, table: made.table, report: made.report })
}

/// A file of the scene for each way to write normals, and what the format changed or left out.
fn written(
    scene: GlbScene<'_>,
    normals: &[MorphNormals],
    (path, write): (&Path, &WriteOptions),
) -> Result<(Vec<Vec<u8>>, Vec<String>), Error> {
    let (mut files, mut all) = (Vec::with_capacity(normals.len()), Vec::new());
    for &morph_normals in normals {
        let (bytes, changes) = scene_bytes(&GlbScene { morph_normals, ..scene }, write, path)?;
        files.push(bytes);
        all = changes;
    }
    Ok((files, all))
}

/// Writes what [`driven_glb`] makes, and with a second output the table that drives it.
///
/// # Errors
/// As [`driven_glb`], and what cannot be written.
pub fn export_driven(
    model: &ModelFile,
    motion: Option<&Motion>,
    settings: DriverSettings,
    normals: MorphNormals,
    (glb, table_file, write): (&Output, Option<&Output>, &WriteOptions),
    progress: Progress<'_>,
) -> Result<Driven<DrivenReport>, Error> {
    let made = driven_glb(model, motion, settings, &[normals], (glb.path(), write), progress)?;
    let bytes = glb.write_glb(&made.glbs.concat())?;
    if let Some(file) = table_file {
        file.write_with(|out| driver_table::write(Table::Joints(&made.table), crate::PROGRAM, out))?;
    }
    Ok(Driven { bytes, changes: made.changes, report: made.report })
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

/// Compiles a pose space over linear blend skinning into a skinned GLB with driven shapes and the extension that says how they
/// are driven. With a motion, its clip is baked. There is a GLB for each of `normals`, as with [`driven_glb`].
///
/// # Errors
/// [`Error`]: what [`drive_pose_space`] refuses, and what a file cannot hold; `glb` is named for it, and its ending is the format.
pub fn pose_space_glb(
    model: &ModelFile,
    motion: Option<&Motion>,
    settings: PoseSpaceSettings,
    normals: &[MorphNormals],
    (glb, write): (&Path, &WriteOptions),
    progress: Progress<'_>,
) -> Result<DrivenGlb<PoseSpaceReport, PoseSpaceTable>, Error> {
    let rig = model.rig();
    let made = drive_pose_space(model, motion, settings, progress)?;
    let clips: Vec<_> = motion.zip(made.frames).map(|(motion, frames)| clip(motion, frames)).into_iter().collect();
    let extension = driver_table::pose_space_extension(&made.driver).map_err(Error::write(glb))?;
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(rig.mesh()),
        skeleton: Some(rig.skeleton()),
        weights: Some(&made.weights),
        morphs: &made.morphs,
        morph_weights: &made.driver.offset,
        clips: &clips,
        springs: &model.header.chains,
        extension: Some((POSE_SPACE_EXTENSION, &extension)),
        ..GlbScene::default()
    };
    let (glbs, changes) = written(scene, normals, (glb, write))?;
    let (bones, driver) = table_driver(&made.driver, rig.skeleton());
    let shapes = made.morphs.iter().map(|m| m.name.clone()).collect();
    let table = PoseSpaceTable { mesh: rig.name().to_owned(), bones, shapes, driver };
    Ok(DrivenGlb { glbs, changes, table, report: made.report })
}

/// Writes what [`pose_space_glb`] makes, and with a second output the table that drives it.
///
/// # Errors
/// As [`pose_space_glb`], and what cannot be written.
pub fn export_pose_space(
    model: &ModelFile,
    motion: Option<&Motion>,
    settings: PoseSpaceSettings,
    normals: MorphNormals,
    (glb, table_file, write): (&Output, Option<&Output>, &WriteOptions),
    progress: Progress<'_>,
) -> Result<Driven<PoseSpaceReport>, Error> {
    let made = pose_space_glb(model, motion, settings, &[normals], (glb.path(), write), progress)?;
    let bytes = glb.write_glb(&made.glbs.concat())?;
    if let Some(file) = table_file {
        file.write_with(|out| driver_table::write(Table::PoseSpace(&made.table), crate::PROGRAM, out))?;
    }
    Ok(Driven { bytes, changes: made.changes, report: made.report })
}
