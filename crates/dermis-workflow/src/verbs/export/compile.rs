//! Compiling a model into linear blend skinning ([`dermis_compile::linear`]) and writing it.

pub use dermis_compile::error::{CompileError, Limited};
pub use dermis_compile::linear::{HeldOut, Helper, LinearSettings, Poses, Step};

use crate::error::Error;
use crate::output::Output;
use crate::skins::{WriteOptions, clip, write_scene_as};
use dermis_compile::linear::{HelperMotion, compile_linear};
use dermis_io::ModelFile;
use dermis_io::driver_table::{self, Table};
use dermis_io::gltf::{GlbClip, GlbScene};
use dermis_rig::{BoneIndex, Progress, Skeleton};
use serde_json::{Value, json};

/// What a compilation made and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// Bytes of the file.
    pub bytes: usize,
    /// What the format changed or left out, in words.
    pub changes: Vec<String>,
    /// Poses it was compiled for.
    pub poses: usize,
    /// The steps in order; the first is the model itself.
    pub steps: Vec<Step>,
    /// The steps in poses that were held out.
    pub held_out: Vec<HeldOut>,
    /// The helper bones.
    pub helpers: Vec<Helper>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Compiled {
    /// The same as JSON; distances in metres, bones by name.
    pub fn json(&self, skeleton: &Skeleton) -> Value {
        let name = |bone: BoneIndex| &skeleton.names()[bone];
        let helper = |helper: &Helper| {
            let joints = helper.joints.iter().map(|&(_, to)| name(to)).collect::<Vec<_>>();
            json!({ "name": helper.name, "parent": name(helper.parent), "joints": joints, "vertices": helper.vertices,
                "explained": helper.explained })
        };
        let held_out = |set: &HeldOut| json!({ "name": set.name, "poses": set.poses, "steps": steps_json(&set.steps) });
        json!({
            "bytes": self.bytes,
            "poses": self.poses,
            "steps": steps_json(&self.steps),
            "held_out": self.held_out.iter().map(held_out).collect::<Vec<_>>(),
            "helpers": self.helpers.iter().map(helper).collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }
}

/// Steps as JSON; distances in metres.
fn steps_json(steps: &[Step]) -> Value {
    let pair = |(rms, max): (f64, f64)| json!({ "rms": rms, "max": max });
    let step = |s: &Step| json!({ "name": s.name, "to_model": pair(s.to_model), "to_truth": s.to_truth.map(pair) });
    steps.iter().map(step).collect()
}

/// Compiles a model for some poses and writes it as a GLB, an FBX or a USD file whose clips play them. With a second output, the joints drive the
/// helpers, and the table that says how is written there.
///
/// # Errors
/// [`Error`]: what [`compile_linear`] refuses, and a file that cannot be written.
pub fn compile(
    model: &ModelFile,
    sets: &[Poses],
    held_out: &[Poses],
    settings: LinearSettings,
    (out, table, write): (&Output, Option<&Output>, &WriteOptions),
    progress: Progress<'_>,
) -> Result<Compiled, Error> {
    let motion = if table.is_some() { HelperMotion::Driven } else { HelperMotion::Baked };
    let made = compile_linear(model, &model.header.method, sets, held_out, settings, motion, progress)?;
    if let (Some(output), Some(table)) = (table, &made.table) {
        output.write_with(|out| driver_table::write(Table::Helpers(table), crate::PROGRAM, out))?;
    }
    let clips: Vec<GlbClip> = made.motions.iter().map(|motion| clip(motion, vec![])).collect();
    let scene = GlbScene {
        name: model.rig().name(),
        mesh: Some(model.rig().mesh()),
        skeleton: Some(&made.skeleton),
        weights: Some(&made.weights),
        clips: &clips,
        springs: &model.header.chains,
        ..GlbScene::default()
    };
    let (bytes, changes) = write_scene_as(&scene, write, out)?;
    Ok(Compiled {
        bytes,
        changes,
        poses: made.poses,
        steps: made.steps,
        held_out: made.held_out,
        helpers: made.helpers,
        warnings: made.warnings.iter().map(ToString::to_string).collect(),
    })
}
