//! How fast models run on the card, and how much of its memory's bandwidth they use:
//! `cargo run --release -p dermis-gpu --example speed -- [VERTICES] [--software] [--json OUT]`.
//!
//! The character is a tube of 64 bones with four influences a vertex. The bandwidth is that of a triad, a = b + 3 c, measured
//! in the same run. "Used" is what must move at least (the model once per batch, the poses, the results) over the time. On
//! a software adapter all this shows that it runs, not how fast.

mod timer;

use dermis_deform::enveloping::{Enveloping, EnvelopingForm, Pair};
use dermis_deform::joints::{CorrectionFrame, Joint, Joints, SharedTerm, joint_feature};
use dermis_deform::pose_space::{self, Carrier, CompiledShapes, Coordinates, Kernel};
use dermis_deform::{AnimationSpace, Base, Correction, Deformer, DualQuaternions, JointKernel};
use dermis_gpu::{Evaluator, Gpu, Normals, Prefer};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Rows, Skeleton};
use dermis_testkit::{Random, tree};
use std::error::Error;
use std::time::Instant;
use timer::Timer;

const BONES: usize = 64;
/// Vertices around the tube.
const SIDES: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut vertices, mut prefer, mut json) = (200_000, Prefer::Hardware, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--software" => prefer = Prefer::Software,
            "--json" => json = Some(arguments.next().ok_or("--json needs a file")?),
            _ => vertices = argument.parse().map_err(|_| "usage: speed [VERTICES] [--software] [--json OUT]")?,
        }
    }
    let gpu = Gpu::open(prefer)?;
    let timer = Timer::new(&gpu)?;
    let bandwidth = timer.bandwidth(&gpu)?;
    let character = Character::new(vertices);
    println!("adapter: {} ({:?}, {:?})", gpu.info.name, gpu.info.device_type, gpu.info.backend);
    if !gpu.is_hardware() {
        println!("This is a program on the processor: the numbers show that it runs, not how fast a card is.");
    }
    println!("timed by {}; triad {:.1} GB/s", timer.how(), bandwidth / 1e9);
    println!("{vertices} vertices, {BONES} bones\n");
    println!(
        "{:<40} {:>5} {:>12} {:>10} {:>10} {:>6}",
        "form", "poses", "Mvertices/s", "GB/s used", "bytes/v", "ratio"
    );
    let mut results = Vec::new();
    for (name, deformer, normals) in character.cases() {
        let baked = deformer.bake();
        let normals = match normals {
            Wanted::None => Normals::None,
            Wanted::Skinned => Normals::Skinned(&character.normals),
            Wanted::Mesh => Normals::Mesh(&character.triangles),
        };
        let evaluator = Evaluator::new(&gpu.device, &baked, BONES, normals)?;
        for poses in [1, 16] {
            let mut batch = evaluator.batch(poses)?;
            let start = Instant::now();
            batch.upload(&gpu.queue, &character.poses[..poses])?;
            let upload = start.elapsed().as_secs_f64();
            let seconds = timer.seconds(&gpu, |pass| batch.dispatch(pass))?;
            let written = batch.positions().size() + batch.normals().map_or(0, |n| n.size());
            // Face normals are written once and read once, positions read once more.
            let faces = match normals {
                Normals::Mesh(triangles) => 2 * 12 * (triangles.len() * poses) as u64 + batch.positions().size(),
                _ => 0,
            };
            let bytes = evaluator.bytes() + evaluator.bytes_per_pose() * poses as u64 + written + faces;
            let (speed, used) = ((vertices * poses) as f64 / seconds, bytes as f64 / seconds);
            println!(
                "{name:<40} {poses:>5} {:>12.1} {:>10.1} {:>10.1} {:>6.2}",
                speed / 1e6,
                used / 1e9,
                bytes as f64 / (vertices * poses) as f64,
                used / bandwidth
            );
            results.push(serde_json::json!({
                "form": name, "shader": evaluator.shaders().collect::<Vec<_>>().join(", "), "poses": poses, "seconds": seconds,
                "vertices_per_second": speed, "bytes": bytes, "bytes_per_second": used, "ratio": used / bandwidth,
                "upload_seconds": upload, "bytes_per_pose": evaluator.bytes_per_pose(),
            }));
        }
    }
    if let Some(path) = json {
        let all = serde_json::json!({
            "adapter": gpu.info.name, "driver": format!("{} {}", gpu.info.driver, gpu.info.driver_info),
            "backend": format!("{:?}", gpu.info.backend), "hardware": gpu.is_hardware(), "timed_by": timer.how(),
            "triad_bytes_per_second": bandwidth, "vertices": vertices, "bones": BONES, "results": results,
        });
        std::fs::write(&path, serde_json::to_string_pretty(&all)?)?;
        println!("\nwritten to {path}");
    }
    Ok(())
}

enum Wanted {
    None,
    Skinned,
    Mesh,
}

/// A tube along x around a chain of bones.
struct Character {
    skeleton: Skeleton,
    rest: Vec<DVec3>,
    normals: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    weights: Influences,
    /// The bone that lies left of each vertex.
    near: Vec<usize>,
    poses: Vec<BoneTransforms>,
}

impl Character {
    fn new(vertices: usize) -> Self {
        let parents = (0..BONES).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
        let bind = (0..BONES).map(|b| DAffine3::from_translation(DVec3::X * b as f64 / BONES as f64)).collect();
        let skeleton =
            Skeleton::new((0..BONES).map(|b| format!("bone {b}")).collect(), parents, bind).expect("a chain");
        let rings = vertices.div_ceil(SIDES).max(1);
        let place = |v: usize| {
            let angle = std::f64::consts::TAU * (v % SIDES) as f64 / SIDES as f64;
            (DVec3::new(0.0, angle.cos(), angle.sin()), (v / SIDES) as f64 / rings as f64)
        };
        let (mut rest, mut normals, mut near, mut rows) = (vec![], vec![], vec![], vec![]);
        for v in 0..vertices {
            let (out, along) = place(v);
            rest.push(DVec3::X * along + out * 0.1);
            normals.push(out.as_vec3());
            let first = ((along * BONES as f64) as usize).clamp(1, BONES - 3) - 1;
            near.push(first + 1);
            let weight = |b: usize| (-(along * BONES as f64 - b as f64 - 0.5).powi(2)).exp() + 1e-3;
            let sum: f64 = (first..first + 4).map(weight).sum();
            rows.push((first..first + 4).map(|b| (BoneIndex::new(b), weight(b) / sum)).collect());
        }
        let at = |ring: usize, side: usize| (ring * SIDES + side % SIDES) as u32;
        let quads = (0..rings.saturating_sub(1)).flat_map(|r| (0..SIDES).map(move |s| (r, s)));
        let mut triangles: Vec<[u32; 3]> = quads
            .flat_map(|(r, s)| {
                let [a, b, c, d] = [at(r, s), at(r, s + 1), at(r + 1, s), at(r + 1, s + 1)];
                [[a, b, c], [c, b, d]]
            })
            .collect();
        triangles.retain(|t| t.iter().all(|&v| (v as usize) < vertices));
        let mut random = Random::new(1);
        let poses = (0..16).map(|_| tree::wild(&skeleton, &mut random, 0.1)).collect();
        let weights = Influences::from_rows(rows).expect("weights are finite");
        Self { skeleton, rest, normals, triangles, weights, near, poses }
    }

    fn cases(&self) -> Vec<(&'static str, Deformer, Wanted)> {
        let lbs = || Base::Lbs(self.weights.clone());
        let made = |base, correction| Deformer::new(self.rest.clone(), base, correction).unwrap();
        let dqs = Base::Dqs(self.weights.clone(), DualQuaternions::new(&self.skeleton));
        vec![
            ("linear blend skinning", made(lbs(), None), Wanted::None),
            ("linear blend skinning, normals", made(lbs(), None), Wanted::Skinned),
            ("dual quaternion skinning, normals", made(dqs, None), Wanted::Skinned),
            ("animation space", made(self.animation_space(), None), Wanted::None),
            ("enveloping, rows, 8 terms", made(lbs(), Some(self.enveloping(EnvelopingForm::Row).into())), Wanted::None),
            (
                "enveloping, full, 8 terms",
                made(lbs(), Some(self.enveloping(EnvelopingForm::Full).into())),
                Wanted::None,
            ),
            ("joint model, 4 joints of 8, 6 shared", made(lbs(), Some(self.joints().into())), Wanted::None),
            ("the same, normals of the mesh", made(lbs(), Some(self.joints().into())), Wanted::Mesh),
            ("16 shapes", made(lbs(), Some(self.shapes())), Wanted::None),
        ]
    }

    fn animation_space(&self) -> Base {
        let terms = self.weights.rows().enumerate();
        let terms = terms.flat_map(|(v, row)| row.iter().map(move |&(b, w)| (b, (self.rest[v] * w).extend(w))));
        Base::AnimationSpace(AnimationSpace {
            terms: dermis_rig::Rows::new(self.offsets(4), terms.collect()).expect("four terms a vertex"),
        })
    }

    fn offsets(&self, each: u32) -> Vec<u32> {
        (0..=self.rest.len() as u32).map(|v| v * each).collect()
    }

    /// Rows of the bone that each vertex is near.
    fn each<T>(&self, of: impl FnMut(usize) -> Vec<T>) -> Rows<T> {
        let mut rows = Rows::default();
        self.near.iter().copied().map(of).for_each(|row| rows.push(row).expect("few terms a vertex"));
        rows
    }

    /// Eight bones around each vertex, seen from the one beside it.
    fn enveloping(&self, rows: EnvelopingForm) -> Enveloping {
        let mut random = Random::new(2);
        let mut made = Enveloping::empty(rows, 1.0);
        for anchor in 0..BONES {
            let first = anchor.saturating_sub(4).min(BONES - 8);
            let pair = |b: usize| Pair { anchor: Some(BoneIndex::new(anchor)), bone: BoneIndex::new(b), limit: 2.0 };
            made.pairs.extend((first..first + 8).map(pair));
        }
        made.anchors = self.near.iter().map(|&b| Some(BoneIndex::new(b))).collect();
        made.terms = self.each(|near| (8 * near as u32..).take(8).collect());
        made.coefficients =
            (0..made.terms.entries().len() * rows.coefficients()).map(|_| 1e-3 * random.normal()).collect();
        made.radii = vec![0.01; self.rest.len()];
        made
    }

    fn joints(&self) -> Joints {
        let (mut random, kernel) = (Random::new(3), JointKernel::gaussian(1.4));
        let mut joints = Vec::new();
        for b in 1..BONES {
            let (from, to) = (BoneIndex::new(b - 1), BoneIndex::new(b));
            let centre = Some(self.skeleton.bind()[to].translation);
            let seen = (0..8).map(|_| tree::wild(&self.skeleton, &mut random, 1.5));
            let inducing = seen.map(|pose| joint_feature(pose.as_slice(), (from, to), centre, 1.0)).collect();
            joints.push(Joint::new((from, to), centre, 2.0, inducing, kernel).expect("random rotations are apart"));
        }
        let mut made = Joints::empty(1.0, kernel, CorrectionFrame::Blend, joints, Default::default());
        made.weights = self.weights.clone();
        let first = |near: usize| near.saturating_sub(3).min(BONES - 6);
        made.terms = self.each(|near| (first(near) as u32..).take(4).collect());
        made.shared = self.each(|near| {
            let term = |b: usize| SharedTerm {
                bone: BoneIndex::new(b),
                relevance: 0.5,
                offset: random.direction() * 1e-3,
                weight: 1e-3 * random.normal(),
            };
            (first(near)..).take(6).map(term).collect()
        });
        made.coefficients = self.each(|_| (0..96).map(|_| 1e-3 * random.normal()).collect());
        made.shared_limits = vec![4.0; self.rest.len()];
        made.radii = vec![0.01; self.rest.len()];
        made
    }

    /// A region per joint with four shapes; every vertex has those of four joints.
    fn shapes(&self) -> Correction {
        let mut random = Random::new(4);
        let joint = |b: usize| pose_space::Joint {
            parent: BoneIndex::new(b - 1),
            bone: BoneIndex::new(b),
            limit: 2.0,
            axis: DVec3::X,
            part: pose_space::JointPart::Whole,
        };
        let joints: Vec<_> = (1..BONES).map(joint).collect();
        let seen = tree::wild(&self.skeleton, &mut random, 1.5);
        let examples = joints.iter().map(|j| pose_space::unlimited(Coordinates::Chord, seen.as_slice(), j)).collect();
        let mut kernel = Kernel::new(2.0, Default::default(), joints, examples);
        (0..BONES as u32 - 1).for_each(|j| kernel.push(&[(j, 1.0)], &[0]).expect("few"));
        let terms = self.each(|near| (4 * near.saturating_sub(2).min(BONES - 5) as u32..).take(16).collect());
        Correction::Shapes(CompiledShapes {
            regions: (0..BONES as u32).map(|g| 4 * g).collect(),
            coefficients: (0..kernel.values() * 4).map(|_| random.normal()).collect(),
            kernel,
            carrier: Carrier::Base,
            displacements: terms.entries().iter().map(|_| random.direction() * 1e-3).collect(),
            terms,
            radii: vec![0.01; self.rest.len()],
            names: vec![],
            clamp: None,
            windows: vec![],
        })
    }
}
