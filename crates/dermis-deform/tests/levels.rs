//! Every way a model runs on the processor gives what the `f64` reference gives: the suite of every model, at every set of
//! vector instructions this machine has, in both precisions, alone and many at once, with any number of threads. A test
//! program of its own: the level is one for the process.

use dermis_deform::baked::{CoefficientPrecision, Normals};
use dermis_deform::{Base, Correction, Deformer, MeshNormals, Scratch};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Skeleton, WorldPose};
use dermis_solve::simd;
use dermis_testkit::conformance::{Case, Path, Skins, Suite, Wanted};
use dermis_testkit::{Random, Tree, models, tree};
use rayon::ThreadPool;
use std::sync::Mutex;

/// One test at a time. The level is one for the process, so two tests would change it under each other; every test of this
/// program therefore runs inside [`at_every_level`], which holds the lock.
static LEVEL: Mutex<()> = Mutex::new(());

/// Runs a check at every level of the machine.
fn at_every_level(mut check: impl FnMut(simd::Level)) {
    let _one = LEVEL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let before = simd::level();
    for level in simd::available() {
        simd::set_level(level).unwrap();
        check(level);
    }
    simd::set_level(before).unwrap();
}

/// Baked models, with several numbers of threads, which must not change a bit.
struct OnProcessor {
    level: simd::Level,
    precision: CoefficientPrecision,
    pools: Vec<ThreadPool>,
    scratch: Scratch,
    many: Vec<Scratch>,
}

impl OnProcessor {
    fn new(level: simd::Level, precision: CoefficientPrecision, threads: &[usize]) -> Self {
        let pool = |&threads: &usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let pools = threads.iter().map(pool).collect();
        Self { level, precision, pools, scratch: Scratch::default(), many: vec![] }
    }
}

impl Path for OnProcessor {
    fn name(&self) -> String {
        format!("{} in {:?}", self.level, self.precision)
    }

    fn tolerance(&self) -> f64 {
        match self.precision {
            // Sums of some 60 products of numbers about 1, of weights that sum to one up to 2⁻²⁴.
            CoefficientPrecision::Single => 1e-6,
            // Coefficients up to 0.08 in units of their 32767th, each half a unit off; three terms of twelve features up to
            // two, of world features up to the distance of three metres.
            CoefficientPrecision::Sixteen => 2e-4,
        }
    }

    fn supports(&self, _: &Deformer, _: Wanted) -> bool {
        true
    }

    fn evaluate(&mut self, case: &Case, wanted: Wanted) -> Option<Skins> {
        let baked = case.deformer.bake().with_precision(self.precision);
        let normals = match wanted {
            Wanted::Positions => None,
            Wanted::SkinnedNormals => Some(Normals::skinned(&case.rest_normals)),
            Wanted::MeshNormals => Some(Normals::Mesh(MeshNormals::new(&case.triangles, case.vertices()).unwrap())),
        };
        let empty = || vec![Vec3::NAN; case.vertices()];
        let (pools, scratch, many) = (&self.pools, &mut self.scratch, &mut self.many);
        let mut first: Option<Skins> = None;
        for pool in pools {
            let skins = pool.install(|| {
                let (mut made, mut held) = (Skins::default(), vec![]);
                for (pose, given) in case.poses.iter().zip(&case.given) {
                    let (mut skin, mut turned) = (empty(), empty());
                    held.push(match &normals {
                        None => baked.evaluate(pose, Some(given), scratch, &mut skin).unwrap().held,
                        Some(n) => {
                            baked
                                .evaluate_with_normals(pose, Some(given), n, scratch, &mut skin, &mut turned)
                                .unwrap()
                                .held
                        }
                    });
                    made.positions.push(skin);
                    made.normals.push(turned);
                }
                if normals.is_none() {
                    let mut skins: Vec<_> = case.poses.iter().map(|_| empty()).collect();
                    let mut lent: Vec<&mut [Vec3]> = skins.iter_mut().map(|skin| &mut skin[..]).collect();
                    let all: Vec<_> = case.poses.iter().zip(&case.given).map(|(p, g)| (p, Some(&g[..]))).collect();
                    let guarded = baked.evaluate_many(&all, many, &mut lent).unwrap();
                    assert!(same(&skins, &made.positions), "{}: many at once have other bits", case.name);
                    assert_eq!(guarded.held, held.iter().sum::<usize>(), "{}: many at once", case.name);
                }
                // Sixteen bits move what is near its ball.
                made.held = Some(held).filter(|_| baked.precision() == CoefficientPrecision::Single);
                made
            });
            let first = first.get_or_insert_with(|| skins.clone());
            let bits = same(&first.positions, &skins.positions) && same(&first.normals, &skins.normals);
            assert!(bits && first.held == skins.held, "{}: {pool:?} has other bits", case.name);
        }
        first
    }
}

/// Whether two lists have the same bits.
fn same(a: &[Vec<Vec3>], b: &[Vec<Vec3>]) -> bool {
    let bits = |list: &[Vec<Vec3>]| -> Vec<[u32; 3]> {
        list.iter().flatten().map(|p| p.to_array().map(f32::to_bits)).collect()
    };
    bits(a) == bits(b)
}

/// Few vertices and many, below the width of vectors and between its multiples; every other rig with up to twelve influences
/// and with vertices that have none.
fn rigs(vertices: &[usize]) -> Vec<Tree> {
    let tree = |(at, &vertices): (usize, &usize)| {
        let tree = Tree::new(13, vertices, 630 + at as u64);
        if at % 2 == 1 { tree.with_many_influences(640 + at as u64) } else { tree }
    };
    vertices.iter().enumerate().map(tree).collect()
}

#[test]
fn every_model_agrees_with_the_reference_at_every_level_in_both_precisions() {
    let suite = Suite::new(&rigs(&[1, 2, 7, 16, 67, 149]));
    at_every_level(|level| {
        for precision in [CoefficientPrecision::Single, CoefficientPrecision::Sixteen] {
            let mut path = OnProcessor::new(level, precision, &[1]);
            let report = suite.check(&mut path, Wanted::Positions);
            assert_eq!((report.models, report.refused), (suite.cases().len(), 0));
            println!(
                "{}: {} models, {:.2} of the bound at {}",
                path.name(),
                report.models,
                report.worst.0,
                report.worst.1
            );
        }
    });
}

/// A table of more bones than eight bits name is read in another way.
#[test]
fn every_base_of_many_bones_agrees_with_the_reference_at_every_level() {
    let many = Tree::new(300, 83, 650);
    let suite = Suite::of_bases(&[many.clone(), many.with_many_influences(651)]);
    at_every_level(|level| {
        for wanted in [Wanted::Positions, Wanted::SkinnedNormals] {
            suite.check(&mut OnProcessor::new(level, CoefficientPrecision::Single, &[1]), wanted);
        }
    });
}

#[test]
fn normals_at_every_level_are_those_of_the_reference() {
    let suite = Suite::new(&rigs(&[7, 83, 150]));
    at_every_level(|level| {
        for wanted in [Wanted::SkinnedNormals, Wanted::MeshNormals] {
            let mut path = OnProcessor::new(level, CoefficientPrecision::Single, &[1]);
            let report = suite.check(&mut path, wanted);
            assert!(report.normals > 400_000, "most normals are defined: {}", report.normals);
            println!(
                "{} {wanted:?}: {} normals, {:.2} of the bound at {}",
                path.name(),
                report.normals,
                report.worst.0,
                report.worst.1
            );
        }
    });
}

/// More blocks than one, so that threads share them.
#[test]
fn threads_and_many_poses_at_once_change_no_bit() {
    let suite = Suite::in_few_poses(&[Tree::new(13, 2100, 641).with_many_influences(642)]);
    at_every_level(|level| {
        for precision in [CoefficientPrecision::Single, CoefficientPrecision::Sixteen] {
            suite.check(&mut OnProcessor::new(level, precision, &[1, 2, 16]), Wanted::Positions);
        }
        // The blocks of normals are the same at every level.
        if level == *simd::available().last().unwrap() {
            for wanted in [Wanted::SkinnedNormals, Wanted::MeshNormals] {
                suite.check(&mut OnProcessor::new(level, CoefficientPrecision::Single, &[1, 2, 16]), wanted);
            }
        }
    });
}

#[test]
fn poses_that_are_not_finite_make_no_panic_and_normals_of_unit_length() {
    at_every_level(|level| {
        let mut random = Random::new(660);
        let tree = Tree::new(13, 67, 661).with_many_influences(662);
        let given: Vec<Vec3> = tree.rig.mesh().positions.iter().map(|p| p.as_vec3()).collect();
        let normals = Normals::skinned(&tree.rig.mesh().positions);
        for (name, deformer) in models::models(&tree, &mut random) {
            // A correction without a guard may overflow, but not panic.
            let baked = deformer.bake();
            for bad in [f64::NAN, f64::INFINITY, 1e300, 1e30, 0.0] {
                let mut maps = tree::wild(tree.rig.skeleton(), &mut random, 1.0).as_slice().to_vec();
                maps[3] = DAffine3::from_scale(DVec3::splat(bad));
                maps[5].translation = DVec3::splat(bad);
                let pose = BoneTransforms::new(maps);
                let (mut out, mut turned) = (vec![Vec3::NAN; 67], vec![Vec3::NAN; 67]);
                let mut scratch = Scratch::default();
                baked.evaluate(&pose, Some(&given), &mut scratch, &mut out).unwrap();
                baked
                    .evaluate_with_normals(&pose, Some(&given), &normals, &mut scratch, &mut out, &mut turned)
                    .unwrap();
                let unit = turned.iter().all(|n| (n.length() - 1.0).abs() < 1e-5);
                assert!(unit, "{level}: {name}, {bad}");
                let guarded = deformer.corrections().iter().all(|c| match c {
                    Correction::Enveloping(c) => !c.radii.is_empty(),
                    Correction::Joints(c) => !c.radii.is_empty(),
                    Correction::PoseSpace(c) => !c.radii.is_empty(),
                    Correction::Shapes(c) => !c.radii.is_empty(),
                });
                if guarded && matches!(deformer.base(), Base::Given | Base::Rest) {
                    assert!(out.iter().all(|p| p.is_finite()), "{level}: {name}, {bad}: the ball keeps what it guards");
                }
            }
        }
    });
}

/// Weights as files hold them, in single precision or in whole numbers: they sum to one up to their rounding, and some are less than the rounding of the others.
fn stored_rows(vertices: usize, bones: usize, seed: u64) -> Vec<Vec<(BoneIndex, f64)>> {
    let mut random = Random::new(seed);
    (0..vertices)
        .map(|v| {
            let count = 1 + v % 11;
            let mut of: Vec<usize> = random.order(bones)[..count].to_vec();
            of.sort_unstable();
            let raw: Vec<f64> =
                of.iter().map(|_| if random.below(9) == 0 { 1e-9 } else { random.between(0.01, 1.0) }).collect();
            let sum: f64 = raw.iter().sum();
            let stored = |w: f64| match v % 3 {
                0 => f64::from((w / sum) as f32),
                1 => f64::from(1.0 / count as f32),
                _ => w / sum,
            };
            of.into_iter().zip(raw).map(|(bone, w)| (BoneIndex::new(bone), stored(w))).collect()
        })
        .collect()
}

/// Linear blending at the bind pose is the rest mesh, to the last bit, at every level and in the `f64` reference: also of bones that stand turned, of
/// vertices far from the origin and beside it, and with more bones than sixteen bits count. Moved as a whole, it stays so along.
#[test]
fn at_the_bind_pose_linear_blending_is_the_rest_mesh_to_the_last_bit() {
    let mut random = Random::new(12);
    let vertices = 3 * 1024 + 5;
    let rest: Vec<DVec3> = (0..vertices)
        .map(|v| {
            let size = [1.0, 1e-12, 300.0, 0.0][v % 4];
            (random.direction() * random.between(0.1, 2.0) * size).as_vec3().as_dvec3()
        })
        .collect();
    let narrow: Vec<Vec3> = rest.iter().map(|p| p.as_vec3()).collect();
    let bind: Vec<DAffine3> = (0..40)
        .map(|_| {
            let place = random.direction() * random.between(0.0, 2.0);
            DAffine3::from_rotation_translation(random.rotation(3.0), place)
        })
        .collect();
    let names = (0..40).map(|k| k.to_string()).collect();
    let skeleton = Skeleton::new(names, vec![None; 40], bind).unwrap();
    // As a file gives it, and as products of local transforms do.
    let given = skeleton.bone_transforms(&WorldPose::new(skeleton.bind().to_vec()));
    let turn = random.rotation(2.0);
    let (there, and_back) = (DAffine3::from_quat(turn), DAffine3::from_quat(turn.conjugate()));
    let product = WorldPose::new(skeleton.bind().iter().map(|b| and_back * (there * *b)).collect());
    assert!(product.bones.iter().zip(skeleton.bind().iter()).any(|(a, b)| a != b));
    for pose in [given, skeleton.bone_transforms(&product)] {
        assert_eq!(pose, BoneTransforms::identity(40));
        for bones in [40, 70_000] {
            let rows = stored_rows(vertices, 40, 3);
            let spread = |row: Vec<(BoneIndex, f64)>| {
                row.into_iter().map(|(b, w)| (BoneIndex::new(b.get() * (bones / 40)), w)).collect()
            };
            let weights = Influences::from_rows(rows.into_iter().map(spread)).unwrap();
            let mut deformer = Deformer::new(rest.clone(), Base::Lbs(weights), None).unwrap();
            let identity = BoneTransforms::identity(bones);
            let mut skin = vec![DVec3::NAN; vertices];
            deformer.evaluate(&identity, None, &mut skin).unwrap();
            assert!(skin == rest, "{bones} bones, the reference");
            let baked = deformer.bake();
            at_every_level(|level| {
                let mut out = vec![Vec3::NAN; vertices];
                baked.evaluate(&identity, None, &mut Scratch::default(), &mut out).unwrap();
                let off = out.iter().zip(&narrow).filter(|(a, b)| a != b).count();
                assert_eq!(off, 0, "{bones} bones, {level}");
                let mut many = vec![Vec3::NAN; vertices];
                baked.evaluate_many(&[(&identity, None)], &mut vec![], &mut [&mut many]).unwrap();
                assert!(many == narrow, "{bones} bones, {level}, many at once");
            });
        }
    }
}
