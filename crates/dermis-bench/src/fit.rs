//! How long multi-weight enveloping takes to fit, and what it holds in memory.

use crate::character::{Creature, Size};
use crate::npy;
use crate::timing::{alternated, best, forget_peak_memory, on_threads, peak_memory, runs, thread_counts};
use dermis_deform::enveloping::PoseFeatures;
use dermis_deform::{Enveloping, EnvelopingForm, blend};
use dermis_fit::mwe::{Resolver, SolvePrecision};
use dermis_fit::{BasePoses, Mwe, MweSettings, Training, fit_mwe, silent};
use dermis_rig::glam::DVec3;
use dermis_rig::skeleton::row;
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// s_f of the published form.
const SCALE: f64 = 1e-3;
/// A form that would take longer than this on all points is measured on one point in [`FEW`].
const PATIENCE: f64 = 120.0;
const FEW: usize = 20;
/// Runs of one kind, at most, and the seconds after which no other starts.
const RUNS: (usize, f64) = (3, 60.0);
/// Poses on which the precisions are compared.
const UNSEEN: usize = 4;
/// Points that are given to other programs, at most, and at most one in so many.
const CHECKED: (usize, usize) = (2000, 10);

/// The creatures of Wang & Phillips 2002: 6 minutes for A and 40 for B then.
pub fn workload(name: &str, quick: bool) -> Option<Size> {
    let size = match name {
        "A" => Size { points: 300_000, bones: 59, poses: 16, most: 6, reach: 2.5 },
        "B" => Size { points: 200_000, bones: 55, poses: 344, most: 12, reach: 3.0 },
        _ => return None,
    };
    Some(if quick { Size { points: 2000, poses: size.poses.min(60), ..size } } else { size })
}

/// The published form: rows, world, three axes apart, over the skin at rest.
fn published(scene: &Scene, solve_in: SolvePrecision) -> Mwe {
    let (base, settings) = (scene.at_rest(), MweSettings { solve_in, ..MweSettings::published(SCALE) });
    fit_mwe(&scene.training(&base), &scene.maps, &settings, &silent).expect("the creature can be fitted")
}

/// The default form: all rows, seen from the dominant bone, over linear blend skinning, its ridge chosen by leaving poses out.
fn full(scene: &Scene, solve_in: SolvePrecision) -> Mwe {
    let default = MweSettings::for_poses(scene.examples.len(), false);
    let (base, settings) = (scene.blended(), MweSettings { solve_in, ..default });
    fit_mwe(&scene.training(&base), &scene.maps, &settings, &silent).expect("the creature can be fitted")
}

/// One of the forms above.
type Form = fn(&Scene, SolvePrecision) -> Mwe;

/// A creature with its examples.
struct Scene {
    creature: Creature,
    maps: Influences,
    poses: Vec<BoneTransforms>,
    weights: Influences,
    examples: Vec<Example>,
}

impl Scene {
    fn new(size: Size) -> Self {
        let creature = Creature::new(size);
        let (maps, poses) = (creature.maps(size.most), creature.poses(size.poses));
        let weights = creature.nearest(4);
        let examples = creature.examples(&weights, &maps, &poses);
        Self { creature, maps, poses, weights, examples }
    }

    /// What is fitted: corrections of a base that is computed where it is read, so that memory holds none.
    fn training<'a>(&'a self, base: &'a (dyn Fn(&BoneTransforms, usize) -> DVec3 + Sync)) -> Training<'a> {
        Training {
            skeleton: &self.creature.skeleton,
            rest: &self.creature.rest,
            length: self.creature.length,
            examples: &self.examples,
            base: BasePoses::Computed(base),
        }
    }

    /// The skin at rest: the published form has nothing below it.
    fn at_rest(&self) -> impl Fn(&BoneTransforms, usize) -> DVec3 + Sync + '_ {
        |_, v| self.creature.rest[v]
    }

    /// Linear blend skinning.
    fn blended(&self) -> impl Fn(&BoneTransforms, usize) -> DVec3 + Sync + '_ {
        |pose, v| blend(self.weights.of(v), pose).transform_point3(self.creature.rest[v])
    }

    fn points(&self) -> usize {
        self.creature.rest.len()
    }
}

/// Fits a workload in both forms. `arrays`: where points for other programs go, a folder for each form.
pub fn measure(name: &str, size: Size, arrays: Option<&Path>) -> std::io::Result<Value> {
    let few = Size { points: size.points / FEW, ..size };
    let fitting = |form: Form| {
        let scene = Scene::new(few);
        let seconds = best(1, || drop(form(&scene, SolvePrecision::Double)));
        if seconds * FEW as f64 <= PATIENCE { size } else { few }
    };
    let (of_published, of_full) = (fitting(published), fitting(full));
    let scene = Scene::new(of_published);
    let mut report = json!({
        "workload": name, "points": size.points, "bones": size.bones, "poses": size.poses,
        "bones_per_point": scene.maps.count() as f64 / scene.points() as f64,
        "most_bones_per_point": scene.maps.largest_count(), "bone_sets": bone_sets(&scene.maps),
        "multiply_adds": multiply_adds(&scene.maps, size.poses) * size.points as f64 / scene.points() as f64,
    });
    report["published"] = time(&scene, published, arrays.map(|folder| folder.join("published")))?;
    let scene = if of_full.points == scene.points() { scene } else { Scene::new(of_full) };
    report["full"] = time(&scene, full, arrays.map(|folder| folder.join("full")))?;
    Ok(report)
}

/// Seconds of a form for every number of threads, solved alternately in double and in single precision; the memory of the
/// former, and what the latter costs in accuracy.
fn time(scene: &Scene, form: Form, arrays: Option<PathBuf>) -> std::io::Result<Value> {
    forget_peak_memory();
    let double = form(scene, SolvePrecision::Double);
    let memory = memory_of(scene, &double.correction);
    let single = form(scene, SolvePrecision::Single);
    let accuracy = json!({
        "points_in_single": single.report.in_single,
        "coefficients_off": coefficients_off(&single.correction, &double.correction),
        "positions_off": positions_off(scene, &single.correction, &double.correction),
    });
    if let Some(folder) = arrays {
        write(&folder, scene, &double)?;
        write_coefficients(&folder, "coefficients_single", scene, &single)?;
    }
    drop((double, single));
    let mut by_threads = Vec::new();
    for threads in thread_counts() {
        let fit = |solve_in| move || form(scene, solve_in);
        let [seconds, single] = on_threads(threads, || {
            alternated(RUNS.0, RUNS.1, [&fit(SolvePrecision::Double), &fit(SolvePrecision::Single)])
        });
        by_threads.push(json!({ "threads": threads, "seconds": seconds, "single_seconds": single }));
    }
    Ok(json!({ "points": scene.points(), "runs": by_threads, "memory": memory, "single": accuracy }))
}

/// Largest difference of coefficients over the largest of the same point, at the worst point.
fn coefficients_off(a: &Enveloping, b: &Enveloping) -> f64 {
    let size = b.rows.coefficients();
    let of = |pair: &[u32]| {
        let own = size * pair[0] as usize..size * pair[1] as usize;
        let largest = b.coefficients[own.clone()].iter().fold(0.0f64, |most, u| most.max(u.abs()));
        let both = a.coefficients[own.clone()].iter().zip(&b.coefficients[own]);
        both.fold(0.0f64, |most, (a, b)| most.max((a - b).abs())) / largest.max(f64::MIN_POSITIVE)
    };
    b.terms.offsets().windows(2).map(of).fold(0.0, f64::max)
}

/// Largest distance of positions over [`UNSEEN`] poses that were not fitted, in lengths of the creature.
fn positions_off(scene: &Scene, a: &Enveloping, b: &Enveloping) -> f64 {
    let poses = scene.creature.poses(scene.poses.len() + UNSEEN);
    let of = |pose: &BoneTransforms| {
        let corrections = |model: &Enveloping| -> Vec<DVec3> {
            let mut features = PoseFeatures::default();
            model.features(pose, &mut features);
            (0..scene.points()).map(|v| model.at(v, &features, pose).0).collect()
        };
        corrections(a).iter().zip(corrections(b)).fold(0.0f64, |most, (a, b)| most.max(a.distance(b)))
    };
    poses[scene.poses.len()..].iter().map(of).fold(0.0, f64::max) / scene.creature.length
}

/// What the process held at most since it was asked to forget, beside what nobody can do without: the examples' positions and the model.
fn memory_of(scene: &Scene, model: &Enveloping) -> Value {
    let examples = size_of::<DVec3>() * scene.points() * scene.poses.len();
    let model = size_of_val(&model.coefficients[..])
        + size_of_val(model.terms.entries())
        + size_of_val(model.terms.offsets())
        + size_of_val(&model.anchors[..])
        + size_of_val(&model.constants[..])
        + size_of_val(&model.radii[..]);
    json!({ "peak_bytes": peak_memory(), "examples_bytes": examples, "model_bytes": model })
}

/// Distinct sets of bones.
fn bone_sets(maps: &Influences) -> usize {
    maps.rows().map(|row| row.iter().map(|(bone, _)| bone.get()).collect::<Vec<_>>()).collect::<BTreeSet<_>>().len()
}

/// Multiply-adds that the published form needs, three axes: the smaller of two ways for every point with n bones, c = 4n, m poses.
///
/// - features: Aᵀb (c m), and the complex symmetric c × c system, factored (c³/6) and solved (c²), four products each;
/// - poses: the m × m matrix from one per bone (n m²/2), factored and solved (4 (m³/6 + m²)), and back (c m).
fn multiply_adds(maps: &Influences, poses: usize) -> f64 {
    let m = poses as f64;
    let of = |bones: f64| {
        let c = 4.0 * bones;
        let features = c * m + 4.0 * (c.powi(3) / 6.0 + c * c);
        let dual = bones * m * m / 2.0 + 4.0 * (m.powi(3) / 6.0 + m * m) + c * m;
        3.0 * features.min(dual)
    };
    maps.rows().map(|row| of(row.len() as f64)).sum()
}

/// What a change costs once a model is fitted: 20,000 points, 60 poses.
pub fn resolve(quick: bool) -> Value {
    let size = Size { points: if quick { 1000 } else { 20_000 }, bones: 55, poses: 60, most: 10, reach: 2.5 };
    let scene = Scene::new(size);
    let forms = [("published", MweSettings::published(SCALE)), ("default", MweSettings::for_poses(size.poses, false))];
    let bone = scene.maps.dominant(0).unwrap_or(BoneIndex::new(0));
    let lighter = |row: &[(BoneIndex, f64)]| -> Vec<(BoneIndex, f64)> {
        row.iter().map(|&(b, mu)| (b, if b == bone { 0.9 * mu } else { mu })).collect()
    };
    let changed = Influences::from_rows(scene.maps.rows().map(lighter)).expect("maps stay finite");
    let mut rows = Vec::new();
    // The residuals are stored, as a session at a screen would have them.
    let base: Vec<Vec<DVec3>> =
        scene.poses.iter().map(|pose| (0..size.points).map(|v| scene.blended()(pose, v)).collect()).collect();
    for (form, settings) in forms {
        let training = Training { base: (&base).into(), ..scene.training(&|_, _| DVec3::ZERO) };
        let mut kept = Resolver::new(&training, &scene.maps, &settings, &silent).expect("the creature can be fitted");
        let s = kept.model().report.s;
        let mut row = |change: &str, points: usize, seconds: Vec<f64>| {
            rows.push(json!({
                "form": form, "change": change, "points": size.points, "solved": points, "poses": size.poses,
                "bones_per_point": scene.maps.count() as f64 / size.points as f64, "seconds": seconds,
            }));
        };
        let mut factor = 1.0;
        let (seconds, _) = runs(15, 10.0, || {
            factor *= 1.1;
            kept.set_ridge(&training, s * factor).expect("it can be solved again");
        });
        row("s", size.points, seconds);
        let mut solved = 0;
        let (seconds, _) = runs(16, 10.0, || {
            // There and back, so that every run changes something.
            let maps = if solved % 2 == 0 { &changed } else { &scene.maps };
            solved += 1;
            kept.set_maps(&training, maps).expect("it can be solved again")
        });
        let differing = (0..size.points).filter(|&v| changed.of(v) != scene.maps.of(v)).count();
        row("one influence map", differing, seconds);
        let fewer = Training {
            examples: &training.examples[..size.poses - 1],
            base: BasePoses::Stored(&base[..size.poses - 1]),
            ..training
        };
        let mut count = 0;
        let (seconds, _) = runs(16, 10.0, || {
            count += 1;
            kept.set_examples(if count % 2 == 0 { &training } else { &fewer }).expect("it can be solved again");
        });
        row("a pose added or removed", size.points, seconds);
    }
    json!(rows)
}

/// The same fit as one number after another changes.
pub fn sweep(quick: bool) -> Value {
    let middle = Size { points: 20_000, bones: 55, poses: 64, most: 8, reach: 4.0 };
    let middle = if quick { Size { points: 1000, poses: 24, ..middle } } else { middle };
    let steps = if quick { vec![1, 2] } else { vec![1, 2, 4, 8] };
    let mut rows = Vec::new();
    for step in steps {
        let points = Size { points: middle.points * step / 2, ..middle };
        let poses = Size { poses: middle.poses * step / 4 + 1, ..middle };
        let skeleton = Size { bones: 15 * step, ..middle };
        // Wide maps, so that every point has as many bones as it may have.
        let per_point = Size { most: 2 * step, reach: 20.0, ..middle };
        for (what, size) in [("points", points), ("poses", poses), ("bones", skeleton), ("bones per point", per_point)]
        {
            let scene = Scene::new(size);
            let (seconds, _) = runs(3, 5.0, || published(&scene, SolvePrecision::Double));
            let seconds = seconds.into_iter().fold(f64::INFINITY, f64::min);
            rows.push(json!({
                "varied": what, "points": size.points, "bones": size.bones, "poses": size.poses,
                "bones_per_point": scene.maps.count() as f64 / size.points as f64, "seconds": seconds,
            }));
        }
    }
    rows.sort_by_key(|row| row["varied"].to_string());
    json!(rows)
}

/// The regression problems of some points and our answers: rows of the bone transforms, maps, what the base misses; coefficients by
/// bone, and anchors (−1 for the world).
fn write(folder: &Path, scene: &Scene, made: &Mwe) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let model = &made.correction;
    let base: Box<dyn Fn(&BoneTransforms, usize) -> DVec3> = match made.report.rows {
        EnvelopingForm::Row => Box::new(scene.at_rest()),
        EnvelopingForm::Full => Box::new(scene.blended()),
    };
    let (poses, bones) = (scene.poses.len(), scene.creature.skeleton.len());
    let points = checked(scene);
    let info = json!({ "length": scene.creature.length, "s": made.report.s });
    std::fs::write(folder.join("info.json"), info.to_string())?;

    let matrices = scene.poses.iter().flat_map(|pose| pose.iter().flat_map(|m| [0, 1, 2].map(|j| row(m, j)))).flatten();
    npy::write(folder, "transforms", &[poses, bones, 3, 4], matrices)?;
    let mut maps = vec![0.0; points.len() * bones];
    for (at, &v) in points.iter().enumerate() {
        scene.maps.of(v).iter().for_each(|&(bone, mu)| maps[at * bones + bone.get()] = mu);
    }
    npy::write(folder, "maps", &[points.len(), bones], maps)?;
    let residuals = scene.examples.iter().flat_map(|example| {
        let of = |&v: &usize| (example.positions[v] - base(&example.transforms, v)).to_array();
        points.iter().flat_map(of).collect::<Vec<_>>()
    });
    npy::write(folder, "residuals", &[poses, points.len(), 3], residuals)?;
    write_coefficients(folder, "coefficients", scene, made)?;
    let anchors = points.iter().map(|&v| model.anchors[v].map_or(-1, |bone| bone.get() as i64));
    npy::write(folder, "anchors", &[points.len()], anchors)
}

/// The points that are given to other programs.
fn checked(scene: &Scene) -> Vec<usize> {
    (0..scene.points()).step_by(scene.points().div_ceil(CHECKED.0).max(CHECKED.1)).collect()
}

/// Coefficients of those points by bone.
fn write_coefficients(folder: &Path, name: &str, scene: &Scene, made: &Mwe) -> std::io::Result<()> {
    let (model, points, bones) = (&made.correction, checked(scene), scene.creature.skeleton.len());
    let size = model.rows.coefficients();
    let mut coefficients = vec![0.0; points.len() * bones * size];
    for (at, &v) in points.iter().enumerate() {
        for term in model.terms.range(v) {
            let bone = model.pairs[model.terms.entries()[term] as usize].bone.get();
            let to = (at * bones + bone) * size;
            coefficients[to..to + size].copy_from_slice(&model.coefficients[term * size..(term + 1) * size]);
        }
    }
    npy::write(folder, name, &[points.len(), bones, size], coefficients)
}
