//! How fast models run: million vertices per second of random rigs, beside the memory bandwidth of the same run.
//!
//! ```text
//! cargo run --release -p dermis-deform --example evaluate_speed -- [vertices] [bones] [influences] [threads]
//! ```
//!
//! Best of many repetitions, because a shared machine has bad moments.

use dermis_deform::baked::{CoefficientPrecision, Normals};
use dermis_deform::enveloping::{EnvelopingForm, Pair};
use dermis_deform::{AnimationSpace, Base, Deformer, DualQuaternions, Enveloping, Scratch};
use dermis_rig::glam::{DAffine3, DQuat, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, BoneVec, Influences};
use std::time::Instant;

/// Numbers that look random: splitmix64.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    fn below(&mut self, count: usize) -> usize {
        (self.unit() * count as f64) as usize
    }
    fn point(&mut self) -> DVec3 {
        DVec3::new(self.unit(), self.unit(), self.unit()) - 0.5
    }
}

/// Seconds of the fastest of many repetitions, over about a second.
fn fastest(mut work: impl FnMut()) -> f64 {
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    for at in 0.. {
        let begin = Instant::now();
        work();
        best = best.min(begin.elapsed().as_secs_f64());
        if at >= 5 && start.elapsed().as_secs_f64() > 1.0 {
            break;
        }
    }
    best
}

/// a = b + s c over arrays that no cache holds: bytes per second, the line of a that is read before it is written counted.
fn triad() -> f64 {
    let count = 16 << 20;
    let (mut a, b, c) = (vec![0.0f32; count], vec![1.0f32; count], vec![2.0f32; count]);
    let seconds = fastest(|| {
        use rayon::prelude::*;
        let pieces = a.par_chunks_mut(1 << 16).zip(b.par_chunks(1 << 16)).zip(c.par_chunks(1 << 16));
        pieces.for_each(|((a, b), c)| a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = b + 3.0 * c));
    });
    16.0 * count as f64 / seconds
}

fn influences(vertices: usize, bones: usize, count: usize, random: &mut Random) -> Influences {
    let rows = (0..vertices).map(|_| {
        let mut row: Vec<(BoneIndex, f64)> = Vec::new();
        while row.len() < count {
            let bone = BoneIndex::new(random.below(bones));
            if row.iter().all(|(b, _)| *b != bone) {
                row.push((bone, 0.05 + random.unit()));
            }
        }
        row.sort_by_key(|(b, _)| b.get());
        let sum: f64 = row.iter().map(|e| e.1).sum();
        row.into_iter().map(|(b, w)| (b, w / sum)).collect()
    });
    Influences::from_rows(rows).expect("finite weights")
}

/// Multi-weight enveloping of the vertices' own influences, with a ball that acts nowhere.
fn enveloping(rows: EnvelopingForm, weights: &Influences, bones: usize, random: &mut Random) -> Enveloping {
    let mut made = Enveloping::empty(rows, 1.0);
    let each = |anchor: usize| (0..bones).map(move |bone| (BoneIndex::new(anchor), BoneIndex::new(bone)));
    let pairs = (0..bones).flat_map(each);
    made.pairs = pairs.map(|(anchor, bone)| Pair { anchor: Some(anchor), bone, limit: f64::INFINITY }).collect();
    for v in 0..weights.vertices() {
        let anchor = weights.dominant(v);
        made.anchors.push(anchor);
        let mut terms = Vec::new();
        for (bone, _) in weights.of(v) {
            terms.push((anchor.map_or(0, |a| a.get()) * bones + bone.get()) as u32);
            made.coefficients.extend((0..rows.coefficients()).map(|_| 0.01 * (random.unit() - 0.5)));
        }
        made.terms.push(terms).expect("few terms a vertex");
        made.radii.push(10.0);
    }
    made
}

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let at = |i: usize, otherwise| arguments.get(i).copied().unwrap_or(otherwise);
    let (vertices, bones, count, threads) = (at(0, 100_000), at(1, 60).max(1), at(2, 4), at(3, 1));
    if let Ok(level) = std::env::var("DERMIS_SIMD") {
        dermis_solve::simd::set_level(level.parse().expect("a level")).expect("a level of this machine");
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| run(vertices, bones, count.min(bones)));
}

fn run(vertices: usize, bones: usize, count: usize) {
    let mut random = Random(1);
    let rest: Vec<DVec3> = (0..vertices).map(|_| random.point()).collect();
    let weights = influences(vertices, bones, count, &mut random);
    let pose = BoneTransforms::new(
        (0..bones)
            .map(|_| DAffine3::from_rotation_translation(DQuat::from_rotation_y(random.unit()), random.point() * 0.1))
            .collect(),
    );
    let dqs = DualQuaternions::with_pivots(BoneVec::new(vec![DVec3::ZERO; bones]));
    let terms = |v: usize| weights.of(v).iter().map(move |&(bone, w)| (bone, v, w));
    let mut offsets = vec![0];
    offsets.extend((0..vertices).map(|v| ((v + 1) * count) as u32));
    let terms = (0..vertices).flat_map(terms).map(|(bone, v, w)| (bone, (rest[v] * w).extend(w))).collect();
    let row = enveloping(EnvelopingForm::Row, &weights, bones, &mut random);
    let full = enveloping(EnvelopingForm::Full, &weights, bones, &mut random);
    let cases: Vec<(&str, Base, Option<Enveloping>, usize)> = vec![
        ("rigid", Base::Rigid(weights.clone()), None, 28),
        ("LBS", Base::Lbs(weights.clone()), None, 24 + 6 * count),
        ("DQS", Base::Dqs(weights.clone(), dqs), None, 24 + 6 * count),
        (
            "animation space",
            Base::AnimationSpace(AnimationSpace {
                terms: dermis_rig::Rows::new(offsets, terms).expect("as many a vertex"),
            }),
            None,
            16 + 20 * count,
        ),
        ("MWE row over rest", Base::Rest, Some(row.clone()), 36 + 52 * count),
        ("MWE row over LBS", Base::Lbs(weights.clone()), Some(row), 36 + 58 * count),
        ("MWE full over LBS", Base::Lbs(weights.clone()), Some(full), 36 + 150 * count),
    ];
    let bandwidth = triad();
    let normals: Vec<DVec3> = (0..vertices).map(|_| random.point()).collect();
    let normals = Normals::skinned(&normals);
    println!(
        "{vertices} vertices, {bones} bones, {count} influences, {}, {} threads, triad {:.1} GB/s",
        dermis_solve::simd::level(),
        rayon::current_num_threads(),
        bandwidth * 1e-9
    );
    let only = std::env::var("ONLY").unwrap_or_default();
    let sixteen = |(name, base, correction, bytes): &(&'static str, Base, Option<Enveloping>, usize)| {
        let size = correction.as_ref()?.rows.coefficients();
        Some((*name, base.clone(), correction.clone(), bytes - 2 * size * count + 4, CoefficientPrecision::Sixteen))
    };
    let sixteen: Vec<_> = cases.iter().filter_map(sixteen).collect();
    let single = cases
        .into_iter()
        .map(|(name, base, correction, bytes)| (name, base, correction, bytes, CoefficientPrecision::Single));
    for (name, base, correction, bytes, precision) in single
        .chain(sixteen)
        .filter(|c| only.is_empty() || c.0 == only.trim_end_matches(" 16"))
        .filter(|c| !only.ends_with(" 16") || c.4 == CoefficientPrecision::Sixteen)
    {
        let baked = Deformer::new(rest.clone(), base, correction.map(Into::into)).unwrap().bake();
        let baked = baked.with_precision(precision);
        let (mut scratch, mut out) = (Scratch::default(), vec![Vec3::ZERO; vertices]);
        let seconds = fastest(|| {
            baked.evaluate(&pose, None, &mut scratch, &mut out).unwrap();
        });
        let limit = bandwidth / bytes as f64;
        let mut turned = vec![Vec3::ZERO; vertices];
        let with_normals = (baked.corrections().is_empty()).then(|| {
            fastest(|| {
                baked.evaluate_with_normals(&pose, None, &normals, &mut scratch, &mut out, &mut turned).unwrap();
            })
        });
        let (mut many, mut skins) = (Vec::new(), vec![vec![Vec3::ZERO; vertices]; 8]);
        let of_eight = fastest(|| {
            let mut skins: Vec<&mut [Vec3]> = skins.iter_mut().map(|s| &mut s[..]).collect();
            baked.evaluate_many(&[(&pose, None); 8], &mut many, &mut skins).unwrap();
        });
        let rate = |seconds: f64| vertices as f64 / seconds * 1e-6;
        let beside = with_normals.map_or(String::new(), |s| format!("; with normals {:.0} M/s", rate(s)));
        let beside = format!("{beside}; of eight poses at once {:.0} M/s", 8.0 * rate(of_eight));
        println!(
            "{name:17} {:2} {:7.0} M/s; {bytes:4} bytes: {:7.0} M/s by bandwidth{beside}",
            if precision == CoefficientPrecision::Single { "" } else { "16" },
            vertices as f64 / seconds * 1e-6,
            limit * 1e-6
        );
    }
}
