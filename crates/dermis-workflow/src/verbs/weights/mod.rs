//! New skinning weights for a rig: without examples, from poses of single joints, or from scans.

pub mod error;
pub mod held_scans;
mod page;
pub(crate) mod recipe;
pub mod scan_poses;
pub mod scans;

use crate::error::Error;
use crate::load::{FileNote, LoadedRig, ReadOptions, Source, load_examples, read_contents};
use crate::output::{Output, ending};
use dermis_deform::lbs;
use dermis_fit::heat::{HeatReport, HeatSettings, bone_segments, heat_weights};
use dermis_fit::influence::{self, Found, InfluenceSettings, PlanSettings, Rule};
use dermis_fit::scans::{
    Scan, ScanReport, ScanSettings, Template, TemplateSettings, fit_scans_among, fit_templates, learn_templates,
};
use dermis_fit::weights::{WeightReport, WeightSettings};
use dermis_fit::{BasePoses, Progress, Training, fit_weights};
use dermis_io::gltf::{GlbClip, GlbScene};
use dermis_io::npz::StoredFloat;
use dermis_io::to_bytes;
use dermis_io::{Clip, Contents, Format, Record, Space};
use dermis_measure::{ErrorAccumulator, ErrorReport};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Example, ExampleSet, Frame, Influences, Mirror, MorphTarget, Motion, Rig};
use serde_json::{Value, json};
use std::path::Path;

/// Weights by bone heat. No skin follows the bones whose names match one of `skip` (`*` stands for any text).
///
/// # Errors
/// [`Error::Weights`] for a pattern that no bone matches, and where heat fails.
pub fn heat(
    rig: &Rig,
    skip: &[String],
    settings: &HeatSettings,
    progress: Progress<'_>,
) -> Result<(Influences, HeatReport), Error> {
    let names = rig.skeleton().names();
    for pattern in skip {
        if !names.iter().any(|name| crate::load::matches(pattern, name)) {
            return Err(error::Error::NoSuchBone { pattern: pattern.clone(), bones: names.len() }.into());
        }
    }
    let skipped = |bone: BoneIndex| skip.iter().any(|pattern| crate::load::matches(pattern, &names[bone]));
    let segments = bone_segments(rig.skeleton(), skipped);
    Ok(heat_weights(rig.mesh(), &segments, settings, progress)?)
}

/// Weights whose posed skin lies on the scans, beginning with `start`, of the bones in `candidates` if there are some.
///
/// # Errors
/// [`error::Error::Scans`].
pub fn from_scans(
    rig: &Rig,
    start: &Influences,
    candidates: Option<&Influences>,
    scans: &[Scan],
    settings: &ScanSettings,
    progress: Progress<'_>,
) -> Result<(Influences, ScanReport), Error> {
    fit_scans_among(rig.mesh(), rig.skeleton(), start, candidates, scans, settings, progress).map_err(Error::from)
}

/// The mesh on every scan: examples, with what each scan shows of them. In holes they show what the other scans teach.
///
/// # Errors
/// [`error::Error::Scans`].
pub fn learnt_templates(
    rig: &Rig,
    weights: &Influences,
    scans: &[Scan],
    progress: Progress<'_>,
) -> Result<Vec<Template>, Error> {
    let (mesh, skeleton) = (rig.mesh(), rig.skeleton());
    let mirror = Mirror::find(&mesh.positions, skeleton, weights);
    let settings = TemplateSettings::default();
    learn_templates(mesh, skeleton, weights, scans, mirror.as_ref(), &settings, progress).map_err(Error::from)
}

/// The mesh on every scan, each for itself.
///
/// # Errors
/// [`error::Error::Scans`].
pub fn templates(
    rig: &Rig,
    weights: &Influences,
    scans: &[Scan],
    progress: Progress<'_>,
) -> Result<Vec<Template>, Error> {
    fit_templates(rig.mesh(), weights, scans, &TemplateSettings::default(), progress).map_err(Error::from)
}

/// The bones that move each vertex, by a rule, seen in the mesh on every scan. A joint of a scan counts as moved if it turns by more than
/// `turned` radians: poses that were found are not exact.
///
/// # Errors
/// [`Error::Fit`].
pub fn bones_of_templates(
    rig: &Rig,
    templates: &[Template],
    rule: Rule,
    turned: f64,
    progress: Progress<'_>,
) -> Result<Influences, Error> {
    let examples: Vec<Example> = templates.iter().map(|template| template.example.clone()).collect();
    let training = Training {
        skeleton: rig.skeleton(),
        rest: &rig.mesh().positions,
        length: rig.mesh().extent(),
        examples: &examples,
        base: BasePoses::NONE,
    };
    let settings = InfluenceSettings { rule, turned, ..InfluenceSettings::default() };
    Ok(influence::from_examples(&training, &rig.mesh().neighbours(), &settings, progress)?.candidates)
}

/// Writes examples from scans as a bundle with the rig.
///
/// # Errors
/// [`Error`].
pub fn write_templates(
    loaded: &LoadedRig,
    weights: &Influences,
    templates: &[Template],
    output: &Output,
) -> Result<usize, Error> {
    let rig = &loaded.rig;
    let record = |template: &Template| Record {
        label: template.example.label.clone(),
        time: None,
        pose: Some(rig.skeleton().world_pose(&template.example.transforms)),
        positions: Some(template.example.positions.clone()),
        importance: 1.0,
        local: None,
    };
    let contents = Contents {
        name: rig.name().to_owned(),
        format: Format::Npz,
        space: loaded.space.clone(),
        mesh: Some(rig.mesh().clone()),
        skeleton: Some(rig.skeleton().clone()),
        weights: Some(weights.clone()),
        records: templates.iter().map(record).collect(),
        ..Contents::default()
    };
    let bytes = to_bytes(|out| dermis_io::npz::write(&contents, StoredFloat::Single, out));
    let bytes = bytes.map_err(Error::write(output.path()))?;
    output.write(&bytes)?;
    Ok(bytes.len())
}

/// What examples from scans are like, as JSON; lengths in metres.
pub fn templates_json(templates: &[Template]) -> Value {
    let shown = |template: &Template| {
        let seen = template.seen.iter().filter(|seen| **seen).count();
        json!({
            "label": template.example.label,
            "vertices_seen": seen,
            "vertices_guessed": template.seen.len() - seen,
            "distance_before": template.distance.0,
            "distance": template.distance.1,
        })
    };
    templates.iter().map(shown).collect()
}

/// Weights from poses of one joint each: bones are found first, by a rule, then their weights. Other poses serve as well, but
/// tell less clearly which bones matter.
///
/// # Errors
/// [`Error::Fit`].
pub fn from_single_bones(
    rig: &Rig,
    examples: &ExampleSet,
    influences: usize,
    rule: Rule,
    progress: Progress<'_>,
) -> Result<(Influences, Found, WeightReport), Error> {
    let training = Training {
        skeleton: rig.skeleton(),
        rest: &rig.mesh().positions,
        length: rig.mesh().extent(),
        examples: examples.examples(),
        base: BasePoses::NONE,
    };
    let neighbours = rig.mesh().neighbours();
    let found = influence::from_examples(
        &training,
        &neighbours,
        &InfluenceSettings { rule, ..InfluenceSettings::default() },
        progress,
    )?;
    let candidates = Some(found.candidates.clone());
    let settings = WeightSettings { influences: Some(influences), candidates, ..WeightSettings::default() };
    let (made, report) = fit_weights(&training, &neighbours, &settings, progress)?;
    Ok((made, found, report))
}

/// The poses to make examples of: each turns one joint by so many degrees.
pub fn plan(rig: &Rig, degrees: f64) -> Motion {
    influence::plan(rig.skeleton(), &PlanSettings { degrees, ..PlanSettings::default() })
}

/// The rig a skin is to be made for: a mesh with a skeleton, or a mesh file and a skeleton file. With it, the clips that move the
/// skeleton.
///
/// # Errors
/// [`Error`], naming what a file lacks.
pub fn load_unskinned(
    mesh: &Path,
    skeleton: Option<&Path>,
    options: &ReadOptions,
) -> Result<(LoadedRig, Vec<GlbClip>), Error> {
    let Some(bones) = skeleton else {
        let (rig, clips) = crate::load::load_rig_with_clips(mesh)?;
        let clips = clips.iter().map(|clip| at_its_keys(clip, &rig.rig, rig.rig.mesh().morph_targets())).collect();
        return Ok((rig, clips));
    };
    let (theirs, mut bones_note) = read_contents(bones, &Space::default())?;
    let skeleton = theirs.skeleton.ok_or_else(|| {
        let what = format!("there is no skeleton in this {} file", theirs.format);
        Error::lacks(
            bones,
            what,
            "a skeleton is a skinned or animated .glb, or a bundle with bone_names and bind_matrices",
        )
    })?;
    let (contents, mut note) = read_contents(mesh, &options.space_of(mesh, &theirs.space))?;
    (note.role, bones_note.role) = ("mesh".into(), "skeleton".into());
    let body =
        contents.mesh.ok_or_else(|| Error::lacks(mesh, "there is no mesh in this file", "use .obj, .glb or .npz"))?;
    let name = mesh.file_stem().map_or_else(|| "rig".into(), |n| n.to_string_lossy().into_owned());
    let rig = Rig::new(body, skeleton, None).map_err(|e| Error::lacks(mesh, e.to_string(), ""))?;
    // Their weights of morph targets are of another mesh.
    let clips = theirs.clips.iter().map(|clip| at_its_keys(clip, &rig, &[])).collect();
    Ok((LoadedRig { rig: rig.named(name), space: contents.space, notes: vec![note, bones_note] }, clips))
}

/// A clip at its own keys, with its weights of these morph targets.
fn at_its_keys(clip: &Clip, rig: &Rig, morphs: &[MorphTarget]) -> GlbClip {
    let scene = GlbScene { mesh: Some(rig.mesh()), skeleton: Some(rig.skeleton()), morphs, ..GlbScene::default() };
    GlbClip::of(clip, &scene, 1e-4 * rig.mesh().diagonal()).clip
}

/// Whether a rig can be written there.
///
/// # Errors
/// [`FileError::Lacks`](crate::FileError::Lacks) for another ending than .glb and .npz.
pub fn check_ending(path: &Path) -> Result<(), Error> {
    match ending(path).as_str() {
        "glb" | "npz" => Ok(()),
        other => Err(Error::lacks(path, format!("a rig cannot be written as \".{other}\""), "use .glb or .npz")),
    }
}

/// Writes the rig with these weights, as a skinned GLB or a bundle, and a motion with it: as a clip, or as poses. A GLB holds the
/// rig's own clips, too. Result: the bytes, and what of the rig's extensions a GLB has no longer, in words.
///
/// # Errors
/// [`Error`].
pub fn write_rig(
    loaded: &LoadedRig,
    weights: &Influences,
    motion: Option<&Motion>,
    own_clips: Vec<GlbClip>,
    output: &Output,
) -> Result<(usize, Vec<String>), Error> {
    let rig = &loaded.rig;
    if ending(output.path()) == "npz" {
        let contents = Contents {
            name: rig.name().to_owned(),
            format: Format::Npz,
            space: loaded.space.clone(),
            mesh: Some(rig.mesh().clone()),
            skeleton: Some(rig.skeleton().clone()),
            weights: Some(weights.clone()),
            influence_maps: rig.influence_maps().cloned(),
            records: motion.iter().flat_map(|m| &m.frames).map(record).collect(),
            ..Contents::default()
        };
        let bytes = to_bytes(|out| dermis_io::npz::write(&contents, StoredFloat::Double, out));
        let bytes = bytes.map_err(Error::write(output.path()))?;
        output.write(&bytes)?;
        return Ok((bytes.len(), Vec::new()));
    }
    let clips: Vec<_> = motion.iter().map(|motion| crate::skins::clip(motion, vec![])).chain(own_clips).collect();
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(rig.mesh()),
        skeleton: Some(rig.skeleton()),
        weights: Some(weights),
        morphs: rig.mesh().morph_targets(),
        morph_weights: rig.mesh().morph_weights(),
        clips: &clips,
        ..GlbScene::default()
    };
    Ok(crate::skins::write_scene(&scene, output)?)
}

fn record(frame: &Frame) -> Record {
    let pose = Some(frame.pose.clone());
    Record { label: frame.label.clone(), time: frame.time, pose, positions: None, importance: 1.0, local: None }
}

/// How far linear blend skinning with some weights is from examples, and with the rig's own weights if it has any.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What the examples are called.
    pub set: String,
    /// With the new weights.
    pub made: ErrorReport,
    /// With the rig's own.
    pub own: Option<ErrorReport>,
    /// Skins made with the new weights against skins made with the rig's own.
    pub apart: Option<ErrorReport>,
}

/// Measures weights on examples.
///
/// # Errors
/// [`Error`].
pub fn check(rig: &Rig, weights: &Influences, examples: &ExampleSet) -> Result<Checked, Error> {
    let new = || ErrorAccumulator::new(rig.mesh().positions.len(), rig.mesh().diagonal());
    let (mut made, mut own, mut apart) = (new(), new(), new());
    let mut skin = vec![DVec3::ZERO; rig.mesh().positions.len()];
    let mut theirs = skin.clone();
    for example in examples.examples() {
        lbs(&rig.mesh().positions, weights, &example.transforms, &mut skin);
        made.add_frame(&example.label, &example.positions, &skin)?;
        if let Some(weights) = rig.weights() {
            lbs(&rig.mesh().positions, weights, &example.transforms, &mut theirs);
            own.add_frame(&example.label, &example.positions, &theirs)?;
            apart.add_frame(&example.label, &theirs, &skin)?;
        }
    }
    let made = made.finish().ok_or_else(|| error::Error::NoExamples { set: examples.name.clone() })?;
    Ok(Checked { set: examples.name.clone(), made, own: own.finish(), apart: apart.finish() })
}

/// Reads examples and measures weights on them.
///
/// # Errors
/// [`Error`].
pub fn check_files(
    loaded: &LoadedRig,
    weights: &Influences,
    sources: &[Source],
    options: &ReadOptions,
) -> Result<(Checked, Vec<FileNote>), Error> {
    let (examples, notes) = load_examples(&loaded.rig, &loaded.space, sources, options, "check")?;
    Ok((check(&loaded.rig, weights, &examples)?, notes))
}

/// What bone heat reports, as JSON.
pub fn heat_json(rig: &Rig, report: &HeatReport) -> Value {
    json!({
        "shells": report.shells,
        "blind_shells": report.blind_shells.0,
        "nearest_bone_vertices": report.blind_shells.1,
        "vertices_seeing_no_bone": report.blind_vertices,
        "welded": report.welded,
        "clamped_edges": report.clamped_edges,
        "idle_bones": names(rig, &report.idle),
        "pruned": { "influences": report.pruned.dropped, "vertices": report.pruned.vertices, "largest": report.pruned.largest_loss },
    })
}

/// What a fit to poses of single joints reports, as JSON; lengths in metres.
pub fn single_bones_json(rig: &Rig, found: &Found, report: &WeightReport) -> Value {
    json!({
        "bones_by": match found.source {
            influence::Source::SingleJoints => "shares",
            influence::Source::Motion => "motion",
            influence::Source::Published => "published",
            influence::Source::Nearest => "nearest",
        },
        "joints_not_moved": names(rig, &found.unmoved),
        "candidates": { "mean": report.candidates.0, "most": report.candidates.1 },
        "rms": report.result.rms,
        "max": report.result.max,
        "undetermined_vertices": report.undetermined,
    })
}

/// What a fit to scans reports, as JSON; lengths in metres.
pub fn scans_json(rig: &Rig, report: &ScanReport) -> Value {
    let scan = |s: &dermis_fit::scans::ScanUse| {
        json!({
            "label": s.label, "pairs": s.pairs, "too_far": s.too_far, "turned_away": s.turned_away,
            "on_border": s.on_border, "distance": s.distance,
        })
    };
    json!({
        "rounds": report.rounds,
        "change": report.change,
        "distance_before": report.distance.0,
        "distance": report.distance.1,
        "vertices_by_scans": report.coverage,
        "still_joints": names(rig, &report.still),
        "scans": report.scans.iter().map(scan).collect::<Vec<_>>(),
    })
}

/// Errors against examples, as JSON; lengths in metres.
pub fn check_json(checked: &Checked) -> Value {
    let error = |report: &ErrorReport| json!(report.error);
    json!({
        "set": checked.set,
        "poses": checked.made.per_pose.len(),
        "error": error(&checked.made),
        "own_weights": checked.own.as_ref().map(error),
        "apart": checked.apart.as_ref().map(error),
    })
}

/// Names of bones.
pub fn names(rig: &Rig, bones: &[BoneIndex]) -> Vec<String> {
    bones.iter().map(|&bone| rig.skeleton().names()[bone].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_fit::heat::faded;
    use dermis_fit::silent;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    /// Parts of an edge.
    const PARTS: usize = 16;

    /// Oracle: the weights of all bones, which no limit tears. On the bundled body in its exercise, four bones that fade stretch edges less than four
    /// that are cut off, and lie nearer to the examples. Between the ends of an edge, where temperatures are linear, the cut jumps; what fades goes there
    /// in small steps.
    ///
    /// `cargo nextest run --workspace --lib -E 'test(do_not_tear)' --no-capture` prints the table.
    #[test]
    fn four_bones_that_fade_do_not_tear_the_body() {
        let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body_exercise.npz"));
        let loaded = crate::load::load_rig(&path).unwrap();
        let (rig, source) = (&loaded.rig, Source { path, part: None });
        let (poses, _) = load_examples(rig, &loaded.space, &[source], &ReadOptions::default(), "examples").unwrap();
        let rest = &rig.mesh().positions;
        let sides = |t: &[u32; 3]| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])];
        let edges: BTreeSet<(usize, usize)> =
            rig.mesh().triangles.iter().flat_map(sides).map(|(a, b)| (a.min(b) as usize, a.max(b) as usize)).collect();
        let run = |influences: Option<usize>| {
            let settings = HeatSettings { influences, ..HeatSettings::default() };
            heat(rig, &[], &settings, &silent).unwrap().0
        };
        let all = run(None);
        // The largest difference of a weight between neighbours of a chain.
        let step = |weights: &Influences, a: usize, b: usize| {
            let bones = weights.of(a).iter().chain(weights.of(b)).map(|e| e.0);
            bones.map(|bone| (weights.value(a, bone) - weights.value(b, bone)).abs()).fold(0.0, f64::max)
        };
        let between = |a: usize, b: usize| {
            let share = |v: usize, s: f64| all.of(v).iter().map(move |&(bone, w)| (bone, s * w));
            let rows =
                (0..=PARTS).map(|i| i as f64 / PARTS as f64).map(|t| share(a, 1.0 - t).chain(share(b, t)).collect());
            Influences::from_rows(rows).unwrap()
        };
        let measured = |weights: &Influences, limit: &dyn Fn(&Influences) -> Influences| {
            let whole = edges.iter().map(|&(a, b)| step(weights, a, b)).fold(0.0, f64::max);
            let part = |(a, b): (usize, usize)| {
                let chain = limit(&between(a, b));
                (0..PARTS).map(|i| step(&chain, i, i + 1)).fold(0.0, f64::max)
            };
            let part = edges.iter().map(|edge| part(*edge)).fold(0.0, f64::max);
            let (mut skin, mut stretch) = (rest.clone(), 0.0f64);
            for pose in poses.examples() {
                lbs(rest, weights, &pose.transforms, &mut skin);
                let of = |&(a, b): &(usize, usize)| skin[a].distance(skin[b]) / rest[a].distance(rest[b]);
                stretch = edges.iter().map(of).fold(stretch, f64::max);
            }
            let rms = 1e3 * check(rig, weights, &poses).unwrap().made.error.rms;
            [whole, part, stretch, rms]
        };
        let fading = run(Some(4));
        assert_eq!(fading.largest_count(), 4);
        let cut = |weights: &Influences| weights.pruned(4, 0.0).0;
        let of_all = measured(&all, &Influences::clone);
        let of_cut = measured(&cut(&all), &cut);
        let of_faded = measured(&fading, &|weights| faded(weights, 4).unwrap().0);
        println!("weights | largest step along an edge | along a part of it | largest stretch of an edge | rms, mm");
        for (what, row) in [("all bones", of_all), ("four, cut off", of_cut), ("four, faded", of_faded)] {
            println!("{what} | {:.3} | {:.3} | {:.2} | {:.2}", row[0], row[1], row[2], row[3]);
        }
        assert!(of_all[2] < 2.5 && of_faded[2] < 4.5 && of_cut[2] > 6.0);
        assert!(of_faded[1] < 0.75 * of_cut[1] && of_faded[3] < of_cut[3]);
    }
}
