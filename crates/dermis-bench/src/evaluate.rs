//! How fast models run: vertices per second in `f32`, beside what memory allows.

use crate::character::{Creature, Size};
use crate::npy;
use crate::timing::{on_threads, runs, thread_counts};
use dermis_deform::baked::{BakedBase, CoefficientPrecision, Normals};
use dermis_deform::enveloping::Pair;
use dermis_deform::{
    AnimationSpace, Baked, Base, Correction, CorrectiveSmooth, Deformer, DirectDeltaMush, DualQuaternions, Enveloping,
    EnvelopingForm, Scratch, blend,
};
use dermis_fit::psd::compile::{Budget, Compiler};
use dermis_fit::{BasePoses, JointSettings, PsdSettings, Training, fit_joints, fit_psd, silent};
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::skeleton::row;
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;

const BONES: usize = 60;
/// Largest distance from the same model in `f64`, in rest diagonals: a few roundings of 6e-8.
const OFF: f64 = 1e-6;
/// Poses that are shown in turn.
const POSES: usize = 16;
/// Bytes of a vertex that every model reads and writes: its rest position and its position.
const POSITION_BYTES: usize = 2 * size_of::<Vec3>();

/// A model by name.
struct Case {
    name: String,
    make: fn(&Creature, usize) -> Deformer,
    /// Influences, or bones per vertex.
    count: usize,
    /// Whether it also runs where nothing fits into caches.
    large: bool,
}

fn case(name: &str, count: usize, large: bool, make: fn(&Creature, usize) -> Deformer) -> Case {
    Case { name: name.replace('#', &count.to_string()), make, count, large }
}

/// What is measured.
fn cases() -> Vec<Case> {
    let mut cases = vec![case("LBS, # influence", 1, false, linear)];
    cases.extend([2, 3, 4, 8].map(|count| case("LBS, # influences", count, count == 4, linear)));
    cases.push(case("DQS, # influences", 4, true, dual_quaternions));
    cases.extend([2, 4].map(|count| case("direct delta mush, # influences", count, false, delta_mush)));
    cases.extend([2, 4].map(|count| case("corrective smoothing, # influences", count, false, corrective_smooth)));
    cases.push(case("animation space, # bones", 4, false, animation_space));
    cases.extend([4, 6, 12].map(|count| case("MWE row over LBS, # bones", count, true, row_form)));
    cases.push(case("MWE full over LBS, # bones", 6, false, full_form));
    cases.push(case("compiled pose space over LBS, # shapes", 48, false, compiled_pose_space));
    cases.push(case("joint model over LBS", 0, false, joint_model));
    cases
}

/// Every model on a creature of so many vertices; `large`: those alone that memory bounds.
///
/// # Panics
/// If a model is farther than [`OFF`] from itself in `f64`.
pub fn measure(vertices: usize, large: bool, quick: bool, arrays: Option<&Path>) -> std::io::Result<Value> {
    let size = Size { points: vertices, bones: BONES, poses: POSES, most: 6, reach: 2.5 };
    let creature = Creature::new(size);
    let poses = creature.poses(POSES);
    if let Some(folder) = arrays {
        std::fs::create_dir_all(folder)?;
        write(folder, &creature, &poses)?;
    }
    let mut rows = Vec::new();
    for Case { name, make, count, .. } in cases().into_iter().filter(|case| case.large || !large) {
        let mut deformer = make(&creature, count);
        let baked = deformer.bake();
        let mut out = vec![Vec3::ZERO; vertices];
        baked.evaluate(&poses[1], None, &mut Scratch::default(), &mut out).expect("the poses are of one creature");
        let off = (!large).then(|| difference(&mut deformer, &poses[1], &out) / creature.length);
        assert!(off.is_none_or(|off| off < OFF), "{name}: {off:?} of the diagonal from double precision");
        drop(deformer);
        let sixteen = baked.clone().with_precision(CoefficientPrecision::Sixteen);
        let budget = if quick { 0.02 } else { 1.0 };
        for threads in thread_counts().into_iter().filter(|threads| *threads <= 2) {
            let mut row = |what: &str, of: &Baked, more: usize, seconds: f64| {
                let bytes = of.bytes() as f64 / vertices as f64 + (POSITION_BYTES + more) as f64;
                rows.push(json!({
                    "model": name, "vertices": vertices, "threads": threads, "what": what,
                    "vertices_per_s": vertices as f64 / seconds, "bytes_per_vertex": bytes, "off_of_diagonal": off,
                }));
            };
            row("positions", &baked, 0, on_threads(threads, || positions(&baked, &poses, budget, &mut out)));
            if sixteen.precision() == CoefficientPrecision::Sixteen {
                let seconds = on_threads(threads, || positions(&sixteen, &poses, budget, &mut out));
                row("positions, 16-bit coefficients", &sixteen, 0, seconds);
            }
            if baked.corrections().is_empty() && !large {
                let mut normals = |what: &str, normals: Normals| {
                    let seconds = on_threads(threads, || with_normals(&baked, &poses, &normals, budget, &mut out));
                    row(what, &baked, POSITION_BYTES, seconds);
                };
                normals("positions and normals", Normals::skinned(&creature.rest));
                if matches!(baked.base(), BakedBase::Lbs(_)) {
                    normals("positions and normals by the blended matrix", Normals::blended(&creature.rest));
                }
            }
            if large {
                let seconds = on_threads(threads, || many(&baked, &poses, budget));
                row("positions, four poses at once", &baked, 0, seconds);
            }
        }
    }
    Ok(json!(rows))
}

/// Seconds of one pose, the best within a budget of seconds.
fn positions(baked: &Baked, poses: &[BoneTransforms], budget: f64, out: &mut [Vec3]) -> f64 {
    let (mut scratch, mut turn) = (Scratch::default(), 0);
    let (seconds, ()) = runs(usize::MAX, budget, || {
        turn = (turn + 1) % poses.len();
        baked.evaluate(&poses[turn], None, &mut scratch, out).expect("the poses are of one creature");
        black_box(&mut *out);
    });
    seconds.into_iter().fold(f64::INFINITY, f64::min)
}

/// Seconds of one pose with normals.
fn with_normals(baked: &Baked, poses: &[BoneTransforms], normals: &Normals, budget: f64, out: &mut [Vec3]) -> f64 {
    let (mut scratch, mut turn, mut made) = (Scratch::default(), 0, vec![Vec3::ZERO; out.len()]);
    let (seconds, _) = runs(usize::MAX, budget, || {
        turn = (turn + 1) % poses.len();
        baked
            .evaluate_with_normals(&poses[turn], None, normals, &mut scratch, out, &mut made)
            .expect("the poses are of one creature");
        black_box(&mut made);
    });
    seconds.into_iter().fold(f64::INFINITY, f64::min)
}

/// Seconds of one pose of four that are evaluated together.
fn many(baked: &Baked, poses: &[BoneTransforms], budget: f64) -> f64 {
    let mut skins = vec![vec![Vec3::ZERO; baked.vertices()]; 4];
    let mut scratch = Vec::new();
    let four: Vec<_> = poses.iter().take(4).map(|pose| (pose, None)).collect();
    let (seconds, _) = runs(usize::MAX, budget, || {
        let mut out: Vec<&mut [Vec3]> = skins.iter_mut().take(four.len()).map(Vec::as_mut_slice).collect();
        baked.evaluate_many(&four, &mut scratch, &mut out).expect("the poses are of one creature");
        black_box(&mut out);
    });
    seconds.into_iter().fold(f64::INFINITY, f64::min) / four.len() as f64
}

/// The largest distance from the same model in `f64`.
fn difference(deformer: &mut Deformer, pose: &BoneTransforms, out: &[Vec3]) -> f64 {
    let mut exact = vec![DVec3::ZERO; out.len()];
    deformer.evaluate(pose, None, &mut exact).expect("the poses are of one creature");
    let rounded: Vec<DVec3> = out.iter().map(|p| p.as_dvec3()).collect();
    dermis_testkit::largest_distance(&exact, &rounded)
}

fn linear(creature: &Creature, count: usize) -> Deformer {
    Deformer::new(creature.rest.clone(), Base::Lbs(creature.nearest(count)), None).expect("the parts are of one rig")
}

fn dual_quaternions(creature: &Creature, count: usize) -> Deformer {
    let base = Base::Dqs(creature.nearest(count), DualQuaternions::new(&creature.skeleton));
    Deformer::new(creature.rest.clone(), base, None).expect("the parts are of one rig")
}

/// Five steps over the surface.
fn delta_mush(creature: &Creature, count: usize) -> Deformer {
    let base = Base::DirectDeltaMush(DirectDeltaMush::new(&creature.mesh(), &creature.nearest(count), 5));
    Deformer::new(creature.rest.clone(), base, None).expect("the parts are of one rig")
}

/// The same steps.
fn corrective_smooth(creature: &Creature, count: usize) -> Deformer {
    let base = Base::CorrectiveSmooth(CorrectiveSmooth::new(&creature.mesh(), &creature.nearest(count), 5, 0.5));
    Deformer::new(creature.rest.clone(), base, None).expect("the parts are of one rig")
}

/// Linear blend skinning with every bone seeing the point somewhere else.
fn animation_space(creature: &Creature, count: usize) -> Deformer {
    let weights = creature.nearest(count);
    let mut terms = dermis_rig::Rows::default();
    for (v, row) in weights.rows().enumerate() {
        let own = row.iter().map(|&(bone, w)| {
            let shift = DVec3::Y * (0.001 * bone.get() as f64);
            (bone, (w * (creature.rest[v] + shift)).extend(w))
        });
        terms.push(own).expect("a few terms a vertex");
    }
    let base = Base::AnimationSpace(AnimationSpace { terms });
    Deformer::new(creature.rest.clone(), base, None).expect("the parts are of one rig")
}

/// The published form: the world's rows, no guard.
fn row_form(creature: &Creature, count: usize) -> Deformer {
    enveloped(creature, count, EnvelopingForm::Row)
}

/// The default form: all rows seen from the dominant bone, guarded.
fn full_form(creature: &Creature, count: usize) -> Deformer {
    enveloped(creature, count, EnvelopingForm::Full)
}

/// A correction with coefficients of about a millimetre over linear blend skinning with four influences.
fn enveloped(creature: &Creature, count: usize, rows: EnvelopingForm) -> Deformer {
    let maps = creature.nearest(count);
    let mut model = Enveloping::empty(rows, creature.length);
    let mut pairs: BTreeMap<(Option<BoneIndex>, BoneIndex), u32> = BTreeMap::new();
    for v in 0..maps.vertices() {
        let anchor = maps.dominant(v).filter(|_| rows == EnvelopingForm::Full);
        let mut terms = Vec::new();
        for &(bone, _) in maps.of(v).iter().filter(|(bone, _)| Some(*bone) != anchor) {
            let next = pairs.len() as u32;
            terms.push(*pairs.entry((anchor, bone)).or_insert(next));
        }
        model.anchors.push(anchor);
        model.terms.push(terms).expect("few terms a vertex");
    }
    let mut ordered: Vec<_> = pairs.into_iter().collect();
    ordered.sort_by_key(|(_, at)| *at);
    let limit = if rows == EnvelopingForm::Full { 4.0 } else { f64::INFINITY };
    model.pairs = ordered.into_iter().map(|((anchor, bone), _)| Pair { anchor, bone, limit }).collect();
    let numbers = model.terms.entries().len() * rows.coefficients();
    model.coefficients = (0..numbers).map(|at| 1e-3 * (at as f64 * 0.618).fract()).collect();
    match rows {
        EnvelopingForm::Row => model.constants = vec![DVec3::splat(1e-3); maps.vertices()],
        EnvelopingForm::Full => model.radii = vec![0.05; maps.vertices()],
    }
    let base = Base::Lbs(creature.nearest(4));
    Deformer::new(creature.rest.clone(), base, Some(Correction::Enveloping(model))).expect("the parts are of one rig")
}

/// Fitted to planted examples, compiled to so many shapes of twelve kernels each.
fn compiled_pose_space(creature: &Creature, count: usize) -> Deformer {
    fitted(creature, |training, weights, maps| {
        let base = Base::Lbs(weights.clone());
        let settings = PsdSettings { sigma: Some(1.5), smoothing: Some(1e-3), ..PsdSettings::new(false) };
        let psd = fit_psd(training, &base, std::slice::from_ref(maps), &settings, &silent).expect("it can be fitted");
        let budget = Budget { shapes: count, centres: 12, per_vertex: None };
        let compiled = Compiler::new(&psd.correction).and_then(|compiler| compiler.compile(budget));
        Correction::Shapes(compiled.expect("it can be compiled").0)
    })
}

/// Fitted to planted examples.
fn joint_model(creature: &Creature, _: usize) -> Deformer {
    fitted(creature, |training, weights, _| {
        let settings = JointSettings { lambda: Some(0.01), ..JointSettings::new(false) };
        fit_joints(training, weights, &settings, &silent).expect("it can be fitted").correction.into()
    })
}

/// A correction learnt over linear blend skinning with four influences.
fn fitted(creature: &Creature, fit: impl Fn(&Training<'_>, &Influences, &Influences) -> Correction) -> Deformer {
    let (weights, maps, poses) = (creature.nearest(4), creature.maps(4), creature.poses(POSES));
    let examples = creature.examples(&weights, &maps, &poses);
    let base = |pose: &BoneTransforms, v: usize| blend(weights.of(v), pose).transform_point3(creature.rest[v]);
    let training = Training {
        skeleton: &creature.skeleton,
        rest: &creature.rest,
        length: creature.length,
        examples: &examples,
        base: BasePoses::Computed(&base),
    };
    let correction = Some(fit(&training, &weights, &maps));
    Deformer::new(creature.rest.clone(), Base::Lbs(weights), correction).expect("the parts are of one rig")
}

/// Rest positions and matrices of the poses; for every number of influences bones and weights of linear blend skinning, and our skin of
/// pose 1 with normals by the blended matrix.
fn write(folder: &Path, creature: &Creature, poses: &[BoneTransforms]) -> std::io::Result<()> {
    let vertices = creature.rest.len();
    let flat = |points: &[Vec3]| points.iter().flat_map(|p| p.to_array()).collect::<Vec<_>>();
    let rest: Vec<Vec3> = creature.rest.iter().map(|p| p.as_vec3()).collect();
    npy::write(folder, "rest", &[vertices, 3], flat(&rest))?;
    let matrices = poses.iter().flat_map(|pose| pose.iter().flat_map(|m| [0, 1, 2].map(|j| row(m, j)))).flatten();
    npy::write(folder, "transforms", &[poses.len(), BONES, 3, 4], matrices.map(|x| x as f32))?;
    let blended = Normals::blended(&creature.rest);
    for count in [1, 2, 3, 4, 8] {
        let baked = linear(creature, count).bake();
        let (mut skin, mut normals) = (vec![Vec3::ZERO; vertices], vec![Vec3::ZERO; vertices]);
        baked
            .evaluate_with_normals(&poses[1], None, &blended, &mut Scratch::default(), &mut skin, &mut normals)
            .expect("the poses are of one creature");
        let weights = creature.nearest(count);
        let entries = || weights.rows().flatten();
        let name = |of: &str| format!("{of}-{count}");
        npy::write(folder, &name("skin"), &[vertices, 3], flat(&skin))?;
        npy::write(folder, &name("normals"), &[vertices, 3], flat(&normals))?;
        npy::write(folder, &name("bones"), &[vertices, count], entries().map(|(bone, _)| bone.get() as i64))?;
        npy::write(folder, &name("weights"), &[vertices, count], entries().map(|(_, w)| *w as f32))?;
    }
    Ok(())
}
